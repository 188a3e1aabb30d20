package api

import (
	"context"
	"time"

	"hob/platform/provenance"
)

// Notices are the texts that Hob sends on its own, and the rules about when.
type Notices interface {
	// Notices lists the notices in Query.State; Query.Of selects a notice, an event or a
	// delivery.
	Notices(ctx context.Context, q Query) ([]Notice, error)
	// ReleaseNotices sends one deferred notice, or all ("").
	ReleaseNotices(ctx context.Context, id string) (Released, error)
	// SnoozeNotice sends a notice ("" for the last one) again after a duration or at a time.
	SnoozeNotice(ctx context.Context, id, until string) (Notice, error)
	// SetQuiet mutes notices for a duration or until a time, or ends that ("off"); "" only
	// returns the state.
	SetQuiet(ctx context.Context, until string) (Quiet, error)
	// SetPause stops background work for a duration, until it is resumed ("on"), or resumes it
	// ("off"); "" only returns the state.
	SetPause(ctx context.Context, until string) (Pause, error)
}

// Released is the result of ReleaseNotices.
type Released struct {
	Released int `json:"released"`
}

// Notice is the record of one text that Hob wanted to send on its own, sent or not.
type Notice struct {
	ID         string            `json:"id"`
	Event      string            `json:"event"`
	Kind       string            `json:"kind"`
	Cause      string            `json:"cause"`
	Subject    string            `json:"subject,omitempty"` // title of the watcher, schedule or goal
	Watcher    string            `json:"watcher,omitempty"` // its id
	Session    string            `json:"session"`
	Channel    string            `json:"channel"` // intended channel
	Chat       string            `json:"chat,omitempty"`
	Text       string            `json:"text,omitempty"`
	Provenance provenance.Source `json:"provenance"`
	Urgency    string            `json:"urgency"`
	Rule       string            `json:"rule"`              // source of the urgency
	Weighed    bool              `json:"weighed,omitempty"` // a model determined it
	State      string            `json:"state"`
	Why        string            `json:"why"` // reason why it was deferred or not
	HeldBy     string            `json:"held_by,omitempty"`
	Until      time.Time         `json:"until,omitzero"`
	Of         string            `json:"of,omitempty"`       // event of the digest that sent it, or the notice it repeats
	Delivery   string            `json:"delivery,omitempty"` // its row in the outbox
	Again      int               `json:"again,omitempty"`    // number of suppressed repetitions since
	CreatedAt  time.Time         `json:"created_at"`
	ToldAt     time.Time         `json:"told_at,omitzero"`
	// Place explains the choice of Channel. Tried lists channels on which delivery failed.
	Place string `json:"place,omitempty"`
	Tried string `json:"tried,omitempty"`
	Stuck bool   `json:"stuck,omitempty"` // it waits for its channel, and there is no other
}

// Quiet is the state of the quiet mode.
type Quiet struct {
	Quiet bool      `json:"quiet"`
	Until time.Time `json:"until,omitzero"`
	Why   string    `json:"why,omitempty"`
}

// Pause is the state of the pause.
type Pause struct {
	Paused bool      `json:"paused"`
	Until  time.Time `json:"until,omitzero"` // zero: until it is resumed
	Text   string    `json:"text"`
}
