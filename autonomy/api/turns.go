package api

import (
	"context"
	"encoding/json"
	"time"

	"hob/platform/provenance"
)

// Turns gives access to messages on their way through the inbox.
type Turns interface {
	// Event returns the state of an inbox event, with its answer once done.
	Event(ctx context.Context, id string) (EventStatus, error)
	// Wait returns when the event is done or dead, or as soon as it waits for the user
	// (Approvals then lists the requests).
	Wait(ctx context.Context, id string) (EventStatus, error)
	// Inbox lists the events, of the session Query.Of if it is set.
	Inbox(ctx context.Context, q Query) ([]Event, error)
	// Stop ends the running turn of a session.
	Stop(ctx context.Context, session string) (Stopped, error)
}

// EventStatus is one inbox event with its answer.
type EventStatus struct {
	ID        string          `json:"id"`
	Session   string          `json:"session"`
	State     string          `json:"state" schema:"enum=pending|claimed|done|dead"`
	Attempts  int             `json:"attempts"`
	Answer    string          `json:"answer"`
	Error     string          `json:"error,omitempty"`
	Position  int             `json:"position,omitempty"` // events before it in its queue
	Tools     []ToolUse       `json:"tools" schema:"notnull"`
	Usage     json.RawMessage `json:"usage" schema:"type=object,null"` // a TokenUsage, or null
	Approvals []Approval      `json:"approvals,omitempty"`
}

// ToolUse is one tool call of a turn.
type ToolUse struct {
	ID    string          `json:"id"`
	Name  string          `json:"name"`
	Args  json.RawMessage `json:"arguments"`
	State string          `json:"state"` // done, failed, denied, unknown, waiting
	Text  string          `json:"text,omitempty"`
	Data  json.RawMessage `json:"data,omitempty"`
}

// Answered is the answer to one message.
type Answered struct {
	Answer  string          `json:"answer"`
	Session string          `json:"session"`
	Event   string          `json:"event"`
	Tools   []ToolUse       `json:"tools" schema:"notnull"`
	Usage   json.RawMessage `json:"usage" schema:"type=object,null"` // a TokenUsage, or null
}

// Stopped is the result of Stop.
type Stopped struct {
	Stopped bool `json:"stopped"` // false: no turn was running
}

// Event is one event of the inbox.
type Event struct {
	ID         string            `json:"id"` // UUIDv7
	Kind       string            `json:"kind"`
	Source     string            `json:"source"` // channel name, watcher id, "goal", ...
	Session    string            `json:"session"`
	Channel    string            `json:"channel,omitempty"`
	Chat       string            `json:"chat,omitempty"`
	Sender     string            `json:"sender,omitempty"`
	Text       string            `json:"text"`
	Payload    json.RawMessage   `json:"payload,omitempty"`
	Provenance provenance.Source `json:"provenance"`
	ReceivedAt time.Time         `json:"received_at"`
	// Key is unique together with Source; a repeat returns the first id.
	Key       string    `json:"dedupe_key,omitempty"`
	State     string    `json:"state"`
	Attempts  int       `json:"attempts"`
	Crashes   int       `json:"crashes"`
	NotBefore time.Time `json:"not_before,omitzero"`
	Error     string    `json:"error,omitempty"`
	Answer    string    `json:"answer,omitempty"`
	DoneAt    time.Time `json:"done_at,omitzero"`
}
