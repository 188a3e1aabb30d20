package api

import (
	"context"
	"encoding/json"
	"time"

	"hob/platform/provenance"
)

// Explanations explains why something happened or did not happen.
type Explanations interface {
	// Why explains an event, a delivery, a watcher or the latest turn (kind "" or "event"), a tick
	// ("tick"), a notification ("notification"), or why no notification was sent ("silence"). about
	// is an id; "" means the last item of that kind.
	Why(ctx context.Context, kind, about string) (Explanation, error)
}

// WhyDetails separates the answer from its details in Explanation.Text.
const WhyDetails = "\n\nDetails:\n"

// Explanation is the answer to one question. One of Why, Tick and Silence is set, and Text
// formats it for users. Its JSON is the object that is set, with the additional field "text".
type Explanation struct {
	Why     *Why
	Tick    *Tick
	Silence *Silence
	Text    string
}

// MarshalJSON implements json.Marshaler.
func (x Explanation) MarshalJSON() ([]byte, error) {
	switch {
	case x.Tick != nil:
		return json.Marshal(struct {
			*Tick
			Text string `json:"text"`
		}{x.Tick, x.Text})
	case x.Silence != nil:
		return json.Marshal(struct {
			*Silence
			Text string `json:"text"`
		}{x.Silence, x.Text})
	}
	return json.Marshal(struct {
		*Why
		Text string `json:"text"`
	}{x.Why, x.Text})
}

// UnmarshalJSON implements json.Unmarshaler. It sets the variant that has the decoded fields.
func (x *Explanation) UnmarshalJSON(b []byte) error {
	var kind struct {
		Text   string
		Woke   *string         // only a Tick has this field
		Passed json.RawMessage // only a Silence has this field
	}
	if err := json.Unmarshal(b, &kind); err != nil {
		return err
	}
	*x = Explanation{Text: kind.Text}
	switch {
	case kind.Woke != nil:
		return json.Unmarshal(b, &x.Tick)
	case kind.Passed != nil:
		return json.Unmarshal(b, &x.Silence)
	}
	return json.Unmarshal(b, &x.Why)
}

// Why holds everything known about one event: its content, the decisions and their authority, the
// actions and the answers.
type Why struct {
	Event Event  `json:"event,omitzero"`
	Trace *Trace `json:"trace,omitempty"`
	// Nothing reports whether there is nothing to explain yet.
	Nothing bool `json:"nothing,omitempty"`
	// Origins lists the sources of the event's untrusted text. Thing is the item that the question
	// names, if any.
	Origins    []provenance.Origin `json:"origins,omitempty"`
	Thing      *ItemOrigin         `json:"thing,omitempty"`
	Calls      []LedgerEntry       `json:"calls"`
	Approvals  []Approval          `json:"approvals"`
	Audit      []AuditRecord       `json:"audit"`
	Deliveries []Delivery          `json:"deliveries"`
	Spent      *Spent              `json:"spent,omitempty"`
	// Ticks lists the ticks that claimed the event, oldest first.
	Ticks []TickOfEvent `json:"ticks,omitempty"`
	// Notices lists the outcomes of notices about the event.
	Notices []Notice `json:"notices,omitempty"`
	// Goal is the result of the event if the event belongs to a goal.
	Goal *Review `json:"goal,omitempty"`
}

// Trace records how an event was handled.
type Trace struct {
	How       string     `json:"how"` // turn, notice, command, call or error
	Model     string     `json:"model,omitempty"`
	Rounds    int        `json:"rounds"`
	Usage     TokenUsage `json:"usage"`
	Tainted   bool       `json:"tainted"`
	StartedAt time.Time  `json:"started_at"`
	EndedAt   time.Time  `json:"ended_at"`
}

// Spent holds the model chosen for a turn, the reason for the choice, and the usage.
type Spent struct {
	Model   string   `json:"model"`
	Reason  string   `json:"reason"`
	Calls   int      `json:"model_calls"`
	CostUSD *float64 `json:"cost_usd"` // null means that no price is known
}

// ItemOrigin is an item in Hob with its origins, for example a fact, a task, a reminder or a
// watcher.
type ItemOrigin struct {
	ID   string    `json:"id"`
	Call string    `json:"call,omitempty"` // the call that created the item
	Tool string    `json:"tool,omitempty"`
	At   time.Time `json:"at,omitzero"`
	// Origins lists the sources of the untrusted text in context when the item was created or
	// changed. It is empty if there was none.
	Origins []provenance.Origin `json:"origins,omitempty"`
}

// Tick is one iteration of the loop that had an input.
type Tick struct {
	ID     string    `json:"id"`
	At     time.Time `json:"at"`
	Woke   string    `json:"woke"`
	Events []Why     `json:"events"`
	// Nothing reports whether no tick has had an input yet.
	Nothing bool `json:"nothing,omitempty"`
}

// TickOfEvent describes how one tick handled one event.
type TickOfEvent struct {
	Tick  string `json:"tick"`
	Event string `json:"event"`
	Woke  string `json:"woke"`
	// Rule names the rule that decided how the event was handled. It contains no untrusted
	// text.
	Rule    string    `json:"rule"`
	State   string    `json:"state"`
	At      time.Time `json:"at"`
	EndedAt time.Time `json:"ended_at"`
}

// Silence explains why the owner was not notified.
type Silence struct {
	About string    `json:"about,omitempty"`
	Since time.Time `json:"since"`
	// Watchers holds the watcher that the question names, or all failing watchers.
	Watchers []SilentWatcher `json:"watchers"`
	// Passed lists the signals that watchers detected but did not report.
	Passed []SuppressedSignal `json:"passed"`
	Goals  []GoalSilence      `json:"goals"`
	// Events lists the events without a notice.
	Events []SuppressedEvent `json:"events"`
	// Deliveries lists messages that have not reached the owner yet, and Told the messages that
	// have.
	Deliveries []Delivery `json:"deliveries"`
	Told       []Delivery `json:"told"`
	// Notices lists the deferred or dropped notices.
	Notices []Notice `json:"notices"`
	// Denied lists the calls that the guard denied without an approval request.
	Denied []AuditRecord `json:"denied"`
}

// SilentWatcher explains why a watcher sends no notices.
type SilentWatcher struct {
	Watcher     WatcherSpec `json:"watcher"`
	Description string      `json:"description"`
	// Holds lists the rules that currently silence the watcher, most important first.
	Holds []Hold `json:"holds"`
	// Counts holds the number of items that each rule suppressed. Passed lists the newest of them.
	Counts []SignalCount      `json:"counts"`
	Passed []SuppressedSignal `json:"passed"`
}

// Hold is a rule that currently silences a whole watcher.
type Hold struct {
	Rule string `json:"rule"`
	// Text explains the rule. Error is the error of the rule's source or configuration; it is
	// untrusted text.
	Text  string    `json:"text"`
	Error string    `json:"error,omitempty"`
	Until time.Time `json:"until,omitzero"`
}

// SignalCount is the number of a watcher's items that a rule suppressed.
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
	// Text is the untrusted text of the item. Why explains in the user's terms why the item did not
	// match.
	Text string    `json:"text"`
	Why  string    `json:"why,omitempty"`
	At   time.Time `json:"at"` // when the item was detected
}

// GoalSilence explains why a goal sends no notices.
type GoalSilence struct {
	Goal Goal    `json:"goal"`
	Rule string  `json:"rule"`
	Last *Review `json:"last,omitempty"`
}

// SuppressedEvent is an event without a notice, and the rule that suppressed it.
type SuppressedEvent struct {
	Event Event  `json:"event"`
	Rule  string `json:"rule"`
}
