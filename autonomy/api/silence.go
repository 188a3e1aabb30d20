package api

import (
	"time"
)

// Silence explains why the owner was not notified.
type Silence struct {
	About string    `json:"about,omitempty"`
	Since time.Time `json:"since"`
	// Watchers is the watcher in question, or all that fail.
	Watchers []SilentWatcher `json:"watchers"`
	// Passed lists the signals that watchers saw and did not report.
	Passed []SuppressedSignal `json:"passed"`
	Goals  []GoalSilence      `json:"goals"`
	// Events lists events without a notice.
	Events []SuppressedEvent `json:"events"`
	// Deliveries lists messages that have not reached the owner yet; Told those that have.
	Deliveries []Delivery `json:"deliveries"`
	Told       []Delivery `json:"told"`
	// Notices are deferred or dropped notices.
	Notices []Notice `json:"notices"`
	// Denied lists calls that the guard denied without a question.
	Denied []AuditRecord `json:"denied"`
}

// SilentWatcher explains why a watcher sends no notices.
type SilentWatcher struct {
	Watcher     WatcherSpec `json:"watcher"`
	Description string      `json:"description"`
	// Holds lists the rules that silence the watcher now, most important first.
	Holds []Hold `json:"holds"`
	// Counts is the number of items each rule suppressed. Passed lists the newest of them.
	Counts []SignalCount      `json:"counts"`
	Passed []SuppressedSignal `json:"passed"`
}

// Hold is a rule that silences a whole watcher now.
type Hold struct {
	Rule string `json:"rule"`
	// Text explains the rule. Error is the error of its source or configuration, as untrusted
	// text.
	Text  string    `json:"text"`
	Error string    `json:"error,omitempty"`
	Until time.Time `json:"until,omitzero"`
}

// SignalCount is the number of items of a watcher that a rule suppressed.
type SignalCount struct {
	Rule  string    `json:"rule"`
	Count int       `json:"count"`
	First time.Time `json:"first"`
	Last  time.Time `json:"last"`
}

// SuppressedSignal is an item that a watcher found and suppressed.
type SuppressedSignal struct {
	Watcher string `json:"watcher"`
	Rule    string `json:"rule"`
	// Text is the untrusted text of the item. Why explains the mismatch in the user's terms.
	Text string    `json:"text"`
	Why  string    `json:"why,omitempty"`
	At   time.Time `json:"at"` // when it was seen
}

// GoalSilence explains why a goal is silent.
type GoalSilence struct {
	Goal Goal    `json:"goal"`
	Rule string  `json:"rule"`
	Last *Review `json:"last,omitempty"`
}

// SuppressedEvent is an event without a notice, and the rule.
type SuppressedEvent struct {
	Event Event  `json:"event"`
	Rule  string `json:"rule"`
}
