package api

import (
	"context"
	"time"

	"hob/platform/provenance"
)

// Timeline gives access to what Hob did, sent and held back, in one list.
type Timeline interface {
	// Timeline lists entries, newest first. It returns ErrInvalid for an unknown kind or cursor.
	Timeline(ctx context.Context, q TimelineQuery) ([]TimelineEntry, error)
}

// The kinds of timeline entries.
const (
	TimelineAction  = "action"  // a tool call that may have changed something
	TimelineLookup  = "lookup"  // a tool call that only reads
	TimelineDenied  = "denied"  // a tool call that was not allowed
	TimelineMessage = "message" // a message that Hob sent
	TimelineNotice  = "notice"  // a notification that Hob deferred or did not send
)

// TimelineQuery filters the timeline.
type TimelineQuery struct {
	Kind         string // "" means all kinds except lookup
	Since, Until time.Time
	Before       string // ID of an entry: only entries that follow it in the list
	Limit        int
}

// TimelineEntry is one line of the timeline.
type TimelineEntry struct {
	ID      string    `json:"id"` // also the cursor for older entries
	Kind    string    `json:"kind" schema:"enum=action|lookup|denied|message|notice"`
	At      time.Time `json:"at"`
	Event   string    `json:"event"` // for Explanations.Why
	Session string    `json:"session"`
	Text    string    `json:"text"`
	// State is the state of the call, the delivery or the notice; "undone" for an undone call.
	State string `json:"state"`
	// Reason says why a call failed or was denied, or why a notification was not sent.
	Reason string `json:"reason,omitempty"`
	// Undo is the id for the tool "undo" while the call can be undone.
	Undo       string            `json:"undo,omitempty"`
	Channel    string            `json:"channel,omitempty"` // for a message
	Provenance provenance.Source `json:"provenance,omitempty"`
}
