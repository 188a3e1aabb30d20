package api

import (
	"context"
	"encoding/json"
	"io"
	"time"

	"hob/platform/provenance"
)

// Sessions are the conversations.
type Sessions interface {
	Sessions(ctx context.Context, q Query) ([]Session, error)
	// Messages lists what was received and sent in the session Query.Of.
	Messages(ctx context.Context, q Query) ([]ChatLine, error)
	// Search finds messages of all sessions by their words, best match first.
	Search(ctx context.Context, q SearchQuery) ([]FoundMessage, error)
	// Export writes all messages of a session as "markdown" or "jsonl". Errors of the request are
	// returned before anything is written.
	Export(ctx context.Context, session, format string, w io.Writer) error
	// Fork creates a session (to, "" for a generated name) with the messages of another session, up
	// to a message or turn ("" for the end).
	Fork(ctx context.Context, session, to, at string) (Session, error)
	// Replay runs a recorded turn ("" for the last one) again without effects and returns the
	// differences.
	Replay(ctx context.Context, session, turn string) (Replay, error)
	// Reset begins a fresh conversation in a session.
	Reset(ctx context.Context, session string) (ResetSession, error)
}

// ResetSession is the result of Reset.
type ResetSession struct {
	Session string `json:"session"`
}

// SearchQuery is a search over all messages.
type SearchQuery struct {
	Text, Session, Who string
	Since, Until       time.Time
	Limit              int
}

// Session describes a conversation.
type Session struct {
	ID        string    `json:"id"`
	Channel   string    `json:"channel"`
	Chat      string    `json:"chat,omitempty"`
	Turns     int       `json:"turns"`
	CreatedAt time.Time `json:"created_at"`
	UpdatedAt time.Time `json:"updated_at"`
}

// ChatLine is one line of a conversation as people see it.
type ChatLine struct {
	ID    string    `json:"id"`
	Event string    `json:"event"`
	From  string    `json:"from"` // "owner", "hob", or the sender
	Kind  string    `json:"kind" schema:"enum=message|reply|notice|question|status"`
	Text  string    `json:"text"`
	State string    `json:"state"`
	At    time.Time `json:"at"`
	// Attached names the untrusted texts that came with a message of the user.
	Attached []string `json:"attached,omitempty"`
}

// FoundMessage is one match, best first.
type FoundMessage struct {
	Message int64             `json:"message"` // 0 if it is not a message of this store
	Ref     string            `json:"ref"`
	Session string            `json:"session"`
	Turn    string            `json:"turn"`
	Who     string            `json:"who"`
	Speaker string            `json:"speaker,omitempty"` // name of the speaker, unless it was the owner
	At      time.Time         `json:"at"`
	Snippet string            `json:"snippet"` // matches are in [brackets]
	Source  provenance.Source `json:"source"`
	// Withheld: the message looks like a credential, and the query did not name it. Snippet says
	// so.
	Withheld bool `json:"withheld,omitempty"`
	// Origins are the origins of its untrusted text.
	Origins []provenance.Origin `json:"origins,omitempty"`
}

// Replay is the result that a recorded turn would have today.
type Replay struct {
	Session     string       `json:"session"`
	Turn        string       `json:"turn"`
	Same        bool         `json:"same"`
	ModelCalls  int          `json:"model_calls"` // answers that were played
	Calls       int          `json:"calls"`       // tool calls that were answered from the ledger
	Differences []Difference `json:"differences"`
	Text        string       `json:"text"` // all of it as text
}

// Difference is one changed value between the recording and the replay.
type Difference struct {
	What  string `json:"what"`            // system, tools, model, verdict, result, provenance, answer, end
	Where string `json:"where,omitempty"` // a call, a tool
	Was   string `json:"was"`
	Now   string `json:"now"`
}

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
