package api

import (
	"context"
	"encoding/json"
	"time"

	"hob/platform/provenance"
)

// Channels manages the channels that reach the user, and the user's accounts on them.
type Channels interface {
	Channels(ctx context.Context) ([]Channel, error)
	// Pair creates a code with which the user pairs an account on a channel. Unpair removes a
	// pairing. by is the auth method.
	Pair(ctx context.Context, channel, by string) (PairingCode, error)
	Unpair(ctx context.Context, pairing, by string) (Pairing, error)
	// TestChannel signs in to a channel with the current configuration and optionally sends a
	// message to the user. Problems are part of the result, not an error.
	TestChannel(ctx context.Context, channel string, send bool) (ChannelTest, error)
}

// Channel describes a channel in a list.
type Channel struct {
	Name string `json:"name"`
	// State is starting, running, waiting (failed, will be retried), stopped (the user must act) or
	// failed (could not be created).
	State string    `json:"state"`
	Error string    `json:"error,omitempty"`
	Pull  bool      `json:"pull"`
	Deaf  bool      `json:"deaf,omitempty"` // whether the channel only sends
	Sent  int       `json:"sent"`
	Since time.Time `json:"since,omitzero"`
	// Describe is the channel's own description.
	Describe string `json:"describe,omitempty"`
	// Heard is the number of messages accepted since the start. Refused is the number of messages
	// from unknown senders, plus group messages that were not addressed to Hob.
	Heard       int       `json:"heard"`
	HeardAt     time.Time `json:"heard_at,omitzero"`
	SentAt      time.Time `json:"sent_at,omitzero"`
	Refused     int       `json:"refused,omitempty"`
	Unmentioned int       `json:"unmentioned,omitempty"`
	// Queued is the number of messages waiting for the channel. Next is the time at which the first
	// of them will be sent. It is zero if no message is waiting or the channel sends the next one
	// immediately.
	Queued     int       `json:"queued"`
	Next       time.Time `json:"next,omitzero"`
	About      string    `json:"about"`
	Configured bool      `json:"configured"` // whether the channel has a section in the configuration or needs none
	Enabled    bool      `json:"enabled"`
	Available  bool      `json:"available"` // whether the channel works on this machine
	Cause      string    `json:"cause,omitempty"`
	Remedy     string    `json:"remedy,omitempty"`
	Pairings   []Pairing `json:"pairings"`
}

// Pairing is one paired account of the owner.
type Pairing struct {
	ID        string    `json:"id"`
	Channel   string    `json:"channel"`
	Sender    string    `json:"sender"`
	Name      string    `json:"name,omitempty"` // name reported by the platform; proves nothing
	Chat      string    `json:"chat,omitempty"`
	By        string    `json:"by"` // where the user requested the code
	CreatedAt time.Time `json:"created_at"`
}

// PairingCode is the code that the owner sends on the channel.
type PairingCode struct {
	Channel   string    `json:"channel"`
	Code      string    `json:"code"`
	ExpiresAt time.Time `json:"expires_at"`
}

// ChannelTest is the result of a channel test.
type ChannelTest struct {
	Channel string `json:"channel"`
	OK      bool   `json:"ok"`
	// Tried is true if the test signed in to an account or sent a message.
	Tried  bool   `json:"tried"`
	Said   string `json:"said,omitempty"`
	Cause  string `json:"cause,omitempty"`
	Remedy string `json:"remedy,omitempty"`
}

// Deliveries gives access to the messages that Hob sends.
type Deliveries interface {
	// Deliveries lists the outbox. Query.Of filters by session, Query.State by state.
	Deliveries(ctx context.Context, q Query) ([]Delivery, error)
	// Shown records that a client has displayed a question, or withdraws that record. After it is
	// recorded, a bare yes from that client may answer the question.
	Shown(ctx context.Context, client string, d Display) error
}

// Display describes what a client has shown to its user: the messages that match one of the fields.
type Display struct {
	Delivery  string   // id of a shown delivery
	Event     string   // id of an event whose messages were shown
	Approvals []string // ids of shown approval requests
	// Withdrawn reports that the display did not reach the client, so that its record is removed.
	Withdrawn bool
}

// Delivery is an outbox row in a list.
type Delivery struct {
	ID            string    `json:"id"`
	Event         string    `json:"event"`
	Kind          string    `json:"kind" schema:"enum=reply|notice|question|status|send"`
	Session       string    `json:"session"`
	Channel       string    `json:"channel"`
	Chat          string    `json:"chat,omitempty"` // target on the channel; for a send, the recipient
	Text          string    `json:"text"`
	State         string    `json:"state" schema:"enum=queued|sending|sent|failed|dead|cancelled|held"`
	Attempts      int       `json:"attempts"`
	Error         string    `json:"error,omitempty"`
	MaybeRepeated bool      `json:"maybe_repeated,omitempty"`
	CreatedAt     time.Time `json:"created_at"`
	NotBefore     time.Time `json:"not_before,omitzero"` // a send can be canceled by the user before this time
	SentAt        time.Time `json:"sent_at,omitzero"`
}

// Notices manages the messages that Hob sends unprompted, and when they are sent.
type Notices interface {
	// Notices lists the notices with the state Query.State. Query.Of selects a notice, an event or
	// a delivery.
	Notices(ctx context.Context, q Query) ([]Notice, error)
	// ReleaseNotices sends one deferred notice, or all of them if id is "".
	ReleaseNotices(ctx context.Context, id string) (Released, error)
	// SnoozeNotice sends a notice again after a duration or at a time. An empty id means the last
	// notice.
	SnoozeNotice(ctx context.Context, id, until string) (Notice, error)
	// SetQuiet mutes notices for a duration or until a time; "off" unmutes them, and "" only
	// returns the state.
	SetQuiet(ctx context.Context, until string) (Quiet, error)
	// SetPause stops background work for a duration or, with "on", until it is resumed; "off"
	// resumes it, and "" only returns the state.
	SetPause(ctx context.Context, until string) (Pause, error)
}

// Released is the result of ReleaseNotices.
type Released struct {
	Released int `json:"released"`
}

// Notice is the record of a message that Hob generated unprompted, whether it was sent or not.
type Notice struct {
	ID         string            `json:"id"`
	Event      string            `json:"event"`
	Kind       string            `json:"kind"`
	Cause      string            `json:"cause"`
	Subject    string            `json:"subject,omitempty"` // title of the watcher, schedule or goal
	Watcher    string            `json:"watcher,omitempty"` // id of that watcher, schedule or goal
	Session    string            `json:"session"`
	Channel    string            `json:"channel"` // channel that was intended
	Chat       string            `json:"chat,omitempty"`
	Text       string            `json:"text,omitempty"`
	Provenance provenance.Source `json:"provenance"`
	Urgency    string            `json:"urgency"`
	Rule       string            `json:"rule"`              // what determined the urgency
	Weighed    bool              `json:"weighed,omitempty"` // whether a model determined the urgency
	State      string            `json:"state"`
	Why        string            `json:"why"` // reason why the notice was deferred or not
	HeldBy     string            `json:"held_by,omitempty"`
	Until      time.Time         `json:"until,omitzero"`
	Of         string            `json:"of,omitempty"`       // event of the digest that sent this notice, or id of the notice that this one repeats
	Delivery   string            `json:"delivery,omitempty"` // id of the notice's row in the outbox
	Again      int               `json:"again,omitempty"`    // number of repetitions suppressed since
	CreatedAt  time.Time         `json:"created_at"`
	ToldAt     time.Time         `json:"told_at,omitzero"`
	// Place explains why Channel was chosen. Tried lists channels on which delivery failed.
	Place string `json:"place,omitempty"`
	Tried string `json:"tried,omitempty"`
	Stuck bool   `json:"stuck,omitempty"` // whether the notice is waiting for its channel and no other channel can send it
}

// Quiet is the state of quiet mode.
type Quiet struct {
	Quiet bool      `json:"quiet"`
	Until time.Time `json:"until,omitzero"`
	Why   string    `json:"why,omitempty"`
}

// Pause is the state of the pause.
type Pause struct {
	Paused bool      `json:"paused"`
	Until  time.Time `json:"until,omitzero"` // zero means until resumed
	Text   string    `json:"text"`
}

// Feed is the stream of live events.
type Feed interface {
	// Subscribe opens the feed after the given id (0 means from now on). The feed may drop events
	// for slow readers and reports this with a "dropped" event.
	Subscribe(after uint64) Subscription
}

// Subscription is one reader of the live feed.
type Subscription interface {
	// C delivers events in order. Close closes the channel.
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
