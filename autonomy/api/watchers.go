package api

import (
	"context"
	"encoding/json"
	"time"

	"hob/platform/provenance"
)

// Watchers lists the watchers of sources, the schedules and the reminders. The lists omit finished
// ones, unless Query.All is set.
type Watchers interface {
	Watchers(ctx context.Context, q Query) ([]Watcher, error)
	Schedules(ctx context.Context, q Query) ([]Watcher, error)
	Reminders(ctx context.Context, q Query) ([]Watcher, error)
}

// Watcher is a watcher as lists show it.
type Watcher struct {
	WatcherSpec

	Describe string `json:"description"`
	// When is only the time, for time-based items.
	When string `json:"when,omitempty"`
	// Coming are the next three times of it, in the owner's zone.
	Coming []time.Time `json:"coming,omitempty"`
	// Path is set for file watchers, Cron or Every for schedules.
	Path  string `json:"path,omitempty"`
	Cron  string `json:"cron,omitempty"`
	Every string `json:"every,omitempty"`
}

// WatcherSpec is a stored watcher.
type WatcherSpec struct {
	ID     string          `json:"id"`
	Kind   string          `json:"kind"` // file, cron, oneshot, ...
	Title  string          `json:"title"`
	Config json.RawMessage `json:"config"` // defined by the kind, see its package
	Mode   string          `json:"mode"`
	// Action is the task (Do) or the text (Remind) in the user's words.
	Action string `json:"action,omitempty"`
	// Report is the session that receives the notices.
	Report string `json:"report"`
	// Agent is the agent that set it up and runs it, "" for the default one.
	Agent string `json:"agent,omitempty"`
	// Source is the origin of a watcher that the user did not request directly, such as
	// "template:housekeeper".
	Source string `json:"source,omitempty"`
	Missed string `json:"missed,omitempty"`
	// Provenance is Outside if untrusted text influenced its creation.
	Provenance provenance.Source `json:"provenance"`
	State      string            `json:"state"`
	// Every is the poll interval, such as "30m"; for polled kinds.
	Every string `json:"every,omitempty"`
	// Hours are the active hours in the user's zone: "08:00-18:00", "mon-fri 08:00-18:00",
	// "22:00-06:00"; not for timed kinds. Polled kinds find earlier events when the hours
	// begin. Signals of event-driven kinds are deferred until then, or dropped with the policy
	// Skip.
	Hours string `json:"active_hours,omitempty"`
	// PerDay limits the firings per calendar day in the user's zone. Signals above the limit
	// are dropped and the user is notified once a day; not for timed kinds.
	PerDay    int       `json:"per_day,omitempty"`
	CreatedAt time.Time `json:"created_at"`
	FiredAt   time.Time `json:"fired_at,omitzero"` // last time
	Fired     int       `json:"fired"`
	NextAt    time.Time `json:"next_at,omitzero"` // timed kinds only
	// Zone is the user's zone in which NextAt was computed; "" means the current zone.
	Zone      string `json:"zone,omitempty"`
	LastError string `json:"last_error,omitempty"`
}
