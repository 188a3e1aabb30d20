package api

import (
	"context"
	"encoding/json"
	"time"

	"hob/platform/provenance"
)

// Channels are the ways to reach the user, and the user's accounts on them.
type Channels interface {
	Channels(ctx context.Context) ([]Channel, error)
	// Pair creates a code with which the user pairs an account on a channel; Unpair removes a
	// pairing. by is the auth method.
	Pair(ctx context.Context, channel, by string) (PairingCode, error)
	Unpair(ctx context.Context, pairing, by string) (Pairing, error)
	// TestChannel signs in to a channel as it is configured now and optionally sends the user
	// one text. Problems are part of the result, not an error.
	TestChannel(ctx context.Context, channel string, send bool) (ChannelTest, error)
}

// Channel is a channel as lists show it.
type Channel struct {
	Name string `json:"name"`
	// State is starting, running, waiting (failed, will be retried), stopped (needs an action of
	// the user) or failed (could not be created).
	State string    `json:"state"`
	Error string    `json:"error,omitempty"`
	Pull  bool      `json:"pull"`
	Deaf  bool      `json:"deaf,omitempty"` // send only: accepts no messages
	Sent  int       `json:"sent"`
	Since time.Time `json:"since,omitzero"`
	// Describe is the channel's own description.
	Describe string `json:"describe,omitempty"`
	// Heard counts the messages accepted since the start. Refused counts messages of unknown
	// senders, and group messages that were not addressed to Hob.
	Heard       int       `json:"heard"`
	HeardAt     time.Time `json:"heard_at,omitzero"`
	SentAt      time.Time `json:"sent_at,omitzero"`
	Refused     int       `json:"refused,omitempty"`
	Unmentioned int       `json:"unmentioned,omitempty"`
	// Queued counts the texts waiting for the channel. Next is the time at which the first of
	// them is sent. It is zero if no text waits or if the channel sends the next one immediately.
	Queued     int       `json:"queued"`
	Next       time.Time `json:"next,omitzero"`
	About      string    `json:"about"`
	Configured bool      `json:"configured"` // it needs no section in the configuration, or has one
	Enabled    bool      `json:"enabled"`
	Available  bool      `json:"available"` // the channel works on this machine
	Cause      string    `json:"cause,omitempty"`
	Remedy     string    `json:"remedy,omitempty"`
	Pairings   []Pairing `json:"pairings"`
}

// Pairing is one account of the owner.
type Pairing struct {
	ID        string    `json:"id"`
	Channel   string    `json:"channel"`
	Sender    string    `json:"sender"`
	Name      string    `json:"name,omitempty"` // as the platform reports it; proves nothing
	Chat      string    `json:"chat,omitempty"`
	By        string    `json:"by"` // where the user requested the code
	CreatedAt time.Time `json:"created_at"`
}

// PairingCode is the code that the owner types on the channel.
type PairingCode struct {
	Channel   string    `json:"channel"`
	Code      string    `json:"code"`
	ExpiresAt time.Time `json:"expires_at"`
}

// ChannelTest is the result of a channel test.
type ChannelTest struct {
	Channel string `json:"channel"`
	OK      bool   `json:"ok"`
	// Tried is true if the test signed in to an account or sent a text.
	Tried  bool   `json:"tried"`
	Said   string `json:"said,omitempty"`
	Cause  string `json:"cause,omitempty"`
	Remedy string `json:"remedy,omitempty"`
}

// Deliveries are the texts that Hob sends.
type Deliveries interface {
	// Deliveries lists the outbox. Query.Of is a session, Query.State a state.
	Deliveries(ctx context.Context, q Query) ([]Delivery, error)
	// Shown records that a client has displayed a question, or withdraws that record. After that,
	// a bare yes from that client may answer the question.
	Shown(ctx context.Context, client string, d Display) error
}

// Display describes what a client has shown to its user: the texts that match one of the fields.
type Display struct {
	Delivery  string   // id of a shown delivery
	Event     string   // id of an event whose texts were shown
	Approvals []string // ids of shown approval requests
	// Withdrawn: the display did not reach the client, so that its record is removed.
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
	NotBefore     time.Time `json:"not_before,omitzero"` // until then the user can cancel a send
	SentAt        time.Time `json:"sent_at,omitzero"`
}

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
	Stuck bool   `json:"stuck,omitempty"` // the notice waits for its channel, and no other channel can send it
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

// Feed is the stream of live events.
type Feed interface {
	// Subscribe opens the feed after the given id (0: from now). The feed may drop events for
	// slow readers and reports that with an event "dropped".
	Subscribe(after uint64) Subscription
}

// Subscription is one reader of the live feed.
type Subscription interface {
	// C delivers events in order; Close closes it.
	C() <-chan FeedEvent
	Close()
}

// FeedEvent is one live event. Type is one of message_start, content_delta, tool_call_start,
// tool_call_delta, approval_required, tool_start, tool_progress, tool_result, message_end, error
// (these belong to Event), delivery, watcher, status, dropped. Data is an object: content_delta
// {text}, tool_call_start {id, name}, tool_call_delta {id, arguments}, tool_start {id, name} when
// the tool begins to run, tool_progress {id, name, seconds, percent?, note?} when the tool
// reports progress and every 15 s while it runs, tool_result {id, name, ok, text, code},
// approval_required and delivery as in the lists of approvals and deliveries, message_end
// {answer, usage, interrupted, model}, error {message, kind}, dropped {dropped}.
type FeedEvent struct {
	ID      uint64          `json:"id"`
	Type    string          `json:"type" schema:"enum=message_start|content_delta|tool_call_start|tool_call_delta|approval_required|tool_start|tool_progress|tool_result|message_end|error|delivery|watcher|status|dropped"`
	Event   string          `json:"event,omitempty"`
	Session string          `json:"session,omitempty"`
	At      time.Time       `json:"at"`
	Data    json.RawMessage `json:"data"`
}
