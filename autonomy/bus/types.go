package bus

import (
	"encoding/json"
	"time"

	"hob/platform/provenance"
)

// Kind is the kind of an event.
type Kind string

// The kinds of events.
const (
	Message  Kind = "message"
	Watcher  Kind = "watcher"
	Goal     Kind = "goal"
	Schedule Kind = "schedule"
	Webhook  Kind = "webhook"
	Task     Kind = "task"
	Approval Kind = "approval"
	System   Kind = "system"
)

// State is the state of an event.
type State string

// The states of an event.
const (
	Pending State = "pending"
	Claimed State = "claimed"
	Done    State = "done"
	Dead    State = "dead"
)

// Event is one event of the inbox.
type Event struct {
	ID         string            `json:"id"` // UUIDv7
	Kind       Kind              `json:"kind"`
	Source     string            `json:"source"` // channel name, watcher id, "goal", ...
	Session    string            `json:"session"`
	Lane       string            `json:"-"` // queue it waits in; Session unless it is a command
	Channel    string            `json:"channel,omitempty"`
	Chat       string            `json:"chat,omitempty"`
	Sender     string            `json:"sender,omitempty"`
	Text       string            `json:"text"`
	Payload    json.RawMessage   `json:"payload,omitempty"`
	Provenance provenance.Source `json:"provenance"`
	ReceivedAt time.Time         `json:"received_at"`
	// Key is unique together with Source; a repeat returns the first id.
	Key       string    `json:"dedupe_key,omitempty"`
	State     State     `json:"state"`
	Attempts  int       `json:"attempts"`
	Crashes   int       `json:"crashes"`
	NotBefore time.Time `json:"not_before,omitzero"`
	Error     string    `json:"error,omitempty"`
	Answer    string    `json:"answer,omitempty"`
	DoneAt    time.Time `json:"done_at,omitzero"`
}

// CommandLane returns the queue of a session's commands. They overtake all other events.
func CommandLane(session string) string { return session + "\x1fcommands" }
