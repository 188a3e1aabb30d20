package api

import (
	"context"
	"time"
)

// Deliveries are the texts that Hob sends.
type Deliveries interface {
	// Deliveries lists the outbox. Query.Of is a session, Query.State a state.
	Deliveries(ctx context.Context, q Query) ([]Delivery, error)
	// Shown records that a client has displayed a question, or withdraws that record. A bare
	// yes of that client may answer it then.
	Shown(ctx context.Context, client string, d Display) error
}

// Display records what a client has shown to its user.
type Display struct {
	Delivery  string   // one delivery, or
	Event     string   // the answer to an event, and
	Approvals []string // the requests with these ids
	// Withdrawn: it did not reach the client.
	Withdrawn bool
}

// Delivery is an outbox row in the form for lists.
type Delivery struct {
	ID            string    `json:"id"`
	Event         string    `json:"event"`
	Kind          string    `json:"kind" schema:"enum=reply|notice|question|status|send"`
	Session       string    `json:"session"`
	Channel       string    `json:"channel"`
	Chat          string    `json:"chat,omitempty"` // target in the channel: the recipient of a send
	Text          string    `json:"text"`
	State         string    `json:"state" schema:"enum=queued|sending|sent|failed|dead|cancelled"`
	Attempts      int       `json:"attempts"`
	Error         string    `json:"error,omitempty"`
	MaybeRepeated bool      `json:"maybe_repeated,omitempty"`
	CreatedAt     time.Time `json:"created_at"`
	NotBefore     time.Time `json:"not_before,omitzero"` // until then a send can be called back
	SentAt        time.Time `json:"sent_at,omitzero"`
}
