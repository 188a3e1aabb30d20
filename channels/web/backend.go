package web

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"time"

	"hob/channels"
	"hob/platform/net/hooksig"
	"hob/templates"
)

// Backend is the engine as the HTTP API uses it; the composition root provides it. Every
// method may be called concurrently. Errors are classified by ErrNotFound, ErrConflict,
// ErrDenied, ErrInvalid and ErrFull; others are failures. A remedy follows the last "; " of
// their text.
type Backend interface {
	channels.Receiver
	Memory
	Doctor

	// Event returns the state of an inbox event, with its answer once done.
	Event(ctx context.Context, id string) (EventStatus, error)
	// Wait returns when the event is done or dead, or as soon as it waits for the owner
	// (Approvals then lists the questions).
	Wait(ctx context.Context, id string) (EventStatus, error)

	// Answer decides an approval; the first answer wins, a second one is ErrConflict. The id
	// of a batch decides all its open approvals and returns a list.
	Answer(ctx context.Context, session, approval string, a Answer) (any, error)

	// Shown records that a client has displayed a question, or withdraws that record. A bare
	// yes of that client may answer it then.
	Shown(ctx context.Context, client string, d Display) error

	// Grant creates a grant without a pending question; Revoke ends one.
	Grant(ctx context.Context, g NewGrant) (any, error)
	Revoke(ctx context.Context, grant, by string) (any, error)

	// Pair creates a code with which the owner pairs an account on a channel; Unpair removes a
	// pairing.
	Pair(ctx context.Context, channel, by string) (any, error)
	Unpair(ctx context.Context, pairing, by string) (any, error)
	// TestChannel signs in to a channel as it is configured now and optionally sends the owner
	// one text. Problems are part of the result, not an error.
	TestChannel(ctx context.Context, channel string, send bool, by string) (any, error)

	// Fire accepts a trigger's payload as untrusted text; key deduplicates.
	Fire(ctx context.Context, trigger, key string, payload []byte) (channels.Accepted, error)
	// TriggerSecret returns the HMAC secret of a trigger and its signature scheme, or
	// ErrNotFound if the trigger does not exist.
	TriggerSecret(trigger string) (hooksig.Secret, error)

	// List answers a read-only question by name: "sessions", "messages"
	// (Query.Of = session), "deliveries", "approvals", "grants", "channels", "watchers",
	// "schedules", "triggers", "tasks", "reminders", "notes", "goals" (Query.Of = id),
	// "memory/lessons", "memory/user", "tools", "usage", "budget",
	// "notices" (Query.Of = of one of them, an event or a delivery), "undo", "inbox", "permissions" (those of the system), "agents", "delegations" (Query.Of = id), "memory/forget"
	// (what forgetting the row Query.Of, the words Query.Text or what came from
	// Query.State would take), "memory/erasures" (Query.Of = id waits until that
	// one is done). Newest first. The
	// lines of "messages" are {id, event, from, kind, text, state, at}: all that
	// was heard and said.
	List(ctx context.Context, name string, q Query) (any, error)
	// Why explains one event, delivery, watcher or the latest turn (""), a tick, a
	// notification, or ("silence") why no notification was sent.
	Why(ctx context.Context, kind, about string) (any, error)
	// Call runs one tool through the guard, as the owner, in a session.
	Call(ctx context.Context, session, tool string, args json.RawMessage) (ToolOutcome, error)
	// Manage does an owner's administrative act by name: "backup", "stop"
	// (Query.Of = session), "shutdown", "new" (a fresh conversation),
	// "token" (a new one; Server.Rotate takes it),
	// "cancel" (Query.Of = a task that was handed on), "notices/release" (Query.Of
	// = one of them, or ""), "notices/snooze" and "notices/quiet" (Query.Text = for
	// how long, or "off"), "pause" (Query.Text = for how long, "on", "off" or "", which
	// only asks);
	// "memory/lessons" and "memory/user" change the entry Query.Of: it gets the
	// wording Query.Text, or is retired or deleted (Query.State).
	Manage(ctx context.Context, name string, q Query) (any, error)

	// TrustFile records that the owner trusts the current content of a file, or of the files
	// below a folder, as own words.
	TrustFile(ctx context.Context, path string) (any, error)
	// ConfigChanged journals a change of the configuration, so that it can be undone.
	ConfigChanged(ctx context.Context, ch ConfigChange) error
	// Template applies templates: it creates their schedules, watchers and goals.
	Template(ctx context.Context, w templates.DesiredState) (templates.ApplyResult, error)

	// Audit lists lines of the audit log, newest first; AuditLine returns the details of one;
	// AuditVerify checks the whole log (ErrConflict: it was altered); AuditExport writes a
	// time range as "jsonl" or "csv". If it returns an error of its own, it has written
	// nothing.
	Audit(ctx context.Context, q AuditQuery) (any, error)
	AuditLine(ctx context.Context, seq int64) (any, error)
	AuditVerify(ctx context.Context) (any, error)
	AuditExport(ctx context.Context, w io.Writer, format string, since, until time.Time) error

	// Search finds messages of all sessions by their words, best match first.
	Search(ctx context.Context, q SearchQuery) (any, error)
	// Export writes all messages of a session as "markdown" or "jsonl". If it returns an error
	// of its own, it has written nothing.
	Export(ctx context.Context, session, format string, w io.Writer) error
	// Fork creates a session (to, "" for a generated name) with the messages of another one up
	// to a message or turn ("" for the end).
	Fork(ctx context.Context, session, to, at string) (any, error)
	// Replay runs a recorded turn ("" for the last one) again without effects and returns the
	// differences.
	Replay(ctx context.Context, session, turn string) (any, error)

	// Subscribe opens the live feed after the given id (0: from now). The feed may drop events
	// for slow readers and reports that with an event "dropped".
	Subscribe(after uint64) Subscription
	// Ready returns nil while the daemon accepts messages, else the reason.
	Ready() error
	// Metrics returns Prometheus text (exposition format 0.0.4).
	Metrics() []byte
	Version() string
}

// The classes of backend errors.
var (
	ErrNotFound = errors.New("not found")
	ErrConflict = errors.New("conflict")
	ErrDenied   = errors.New("denied")
	ErrInvalid  = errors.New("invalid")
	ErrFull     = errors.New("the disk is full") // nothing was accepted or
)

// EventStatus is one inbox event as the API shows it.
type EventStatus struct {
	ID        string          `json:"id"`
	Session   string          `json:"session"`
	State     string          `json:"state"` // pending, claimed, done, dead
	Attempts  int             `json:"attempts"`
	Answer    string          `json:"answer"`
	Error     string          `json:"error,omitempty"`
	Position  int             `json:"position,omitempty"`
	Tools     []ToolUse       `json:"tools"`
	Usage     json.RawMessage `json:"usage"`
	Approvals []any           `json:"approvals,omitempty"`
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

// ToolOutcome is the result of one tool call.
type ToolOutcome struct {
	Text      string `json:"text"`
	Data      any    `json:"data,omitempty"`
	Call      string `json:"call"`
	Event     string `json:"event,omitempty"` // the turn of the call
	Undo      string `json:"undo,omitempty"`  // id for `hob undo`
	Approvals []any  `json:"approvals,omitempty"`
	// Code and Error are set when the call failed: a typed tool error.
	Code  string `json:"code,omitempty"`
	Error string `json:"error,omitempty"`
}

// Answer to an approval.
type Answer struct {
	Approved bool   `json:"approved"`
	Scope    string `json:"scope,omitempty"`   // "once" (default), "session", "task", "pattern"
	Expires  string `json:"expires,omitempty"` // a duration such as "1h", unless once
	Uses     int    `json:"uses,omitempty"`    // maximum number of uses; 0 = no limit
	Note     string `json:"note,omitempty"`
	// Beforehand names the turn (its event) for which the user approved everything in advance.
	// Such an answer is ErrDenied if it does not cover the question.
	Beforehand string `json:"beforehand,omitempty"`
	By         string `json:"-"` // the auth method that answered
}

// NewGrant is a grant that the owner creates without a pending question.
type NewGrant struct {
	Tool      string          `json:"tool"`
	Pattern   string          `json:"pattern"`   // the pattern it covers, or
	Arguments json.RawMessage `json:"arguments"` // the same arguments
	Session   string          `json:"session"`   // the session it applies to
	Name      string          `json:"name"`
	Outside   bool            `json:"outside"` // also with untrusted text in context
	Expires   string          `json:"expires"` // a duration: "1h" (default), "30d"
	Uses      int             `json:"uses"`
	By        string          `json:"-"`
}

// ConfigChange is a change of the configuration, by the names of the stored revisions.
type ConfigChange struct {
	What   string `json:"what"`
	Before string `json:"before"`
	After  string `json:"after"`
}

// AuditQuery filters the audit log; the zero value selects all of it.
type AuditQuery struct {
	Event, Session, Tool, Actor, Action, Verdict, Outcome, Call string
	Since, Until                                                time.Time
	Before                                                      int64
	Tainted                                                     bool
	Limit                                                       int
}

// Query filters a list.
type Query struct {
	Of     string // session, id, ...
	Limit  int    // default 1,000
	Before string // only rows older than this id
	State  string
	Text   string
	All    bool
}

// SearchQuery is a search over all messages.
type SearchQuery struct {
	Text, Session, Who string
	Since, Until       time.Time
	Limit              int
}

// Subscription is one reader of the live feed.
type Subscription interface {
	// C delivers events in order; Close closes it.
	C() <-chan FeedEvent
	Close()
}

// FeedEvent is one live event. Type is one of message_start, content_delta,
// tool_call_start, tool_call_delta, approval_required, tool_start,
// tool_progress, tool_result,
// message_end, error (these belong to Event), delivery, watcher, status,
// dropped. Data is an object: content_delta {text}, tool_call_start {id, name},
// tool_call_delta {id, arguments}, tool_start {id, name} when it really begins,
// tool_progress {id, name, seconds, percent?, note?} when it says how far it is
// and every 15 s while it runs, tool_result {id, name, ok, text, code},
// approval_required and delivery as in the lists of these names, message_end
// {answer, usage, interrupted, model}, error {message, kind}, dropped {dropped}.
type FeedEvent struct {
	ID      uint64          `json:"id"`
	Type    string          `json:"type"`
	Event   string          `json:"event,omitempty"`
	Session string          `json:"session,omitempty"`
	At      time.Time       `json:"at"`
	Data    json.RawMessage `json:"data"`
}
