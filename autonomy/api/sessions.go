package api

import (
	"context"
	"encoding/json"
	"io"
	"time"

	"hob/platform/provenance"
)

// Sessions gives access to the conversations.
type Sessions interface {
	Sessions(ctx context.Context, q Query) ([]Session, error)
	// Messages lists the messages received and sent in the session Query.Of.
	Messages(ctx context.Context, q Query) ([]ChatLine, error)
	// Search searches the messages in all sessions for words and returns the best match first.
	Search(ctx context.Context, q SearchQuery) ([]FoundMessage, error)
	// Export writes all messages of a session as "markdown" or "jsonl". If the request is invalid,
	// it returns an error before it writes anything.
	Export(ctx context.Context, session, format string, w io.Writer) error
	// Fork creates a session called to ("" means a generated name) with the messages of another
	// session, up to the message or turn at ("" means the end).
	Fork(ctx context.Context, session, to, at string) (Session, error)
	// Replay replays a recorded turn without effects ("" means the last one) and returns the
	// differences.
	Replay(ctx context.Context, session, turn string) (Replay, error)
	// Reset starts a new conversation in a session.
	Reset(ctx context.Context, session string) (ResetSession, error)
	// Compact replaces the older part of a conversation's context by a summary now. It first saves
	// the facts that Hob has not extracted yet. The messages stay. It returns ErrConflict if the
	// context cannot become shorter.
	Compact(ctx context.Context, session string) (Compaction, error)
}

// Compaction describes how the context of a session was shortened.
type Compaction struct {
	Session string `json:"session"`
	// How is "summary" or, if no model could write one, "digest", which consists of the first lines
	// of the messages.
	How    string `json:"how"`
	Model  string `json:"model,omitempty"`
	Before int    `json:"before"` // size of the context in bytes
	After  int    `json:"after"`
	Facts  int    `json:"facts"` // number of facts that were saved
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

// ChatLine is one line of a conversation in the form shown to users.
type ChatLine struct {
	ID    string    `json:"id"`
	Event string    `json:"event"`
	From  string    `json:"from"` // "owner", "hob" or the sender
	Kind  string    `json:"kind" schema:"enum=message|reply|notice|question|status"`
	Text  string    `json:"text"`
	State string    `json:"state"`
	At    time.Time `json:"at"`
	// Attached describes the untrusted text attached to a message from the user.
	Attached []string `json:"attached,omitempty"`
}

// FoundMessage is one search result.
type FoundMessage struct {
	Message int64             `json:"message"` // 0 if the result is not a message in this store
	Ref     string            `json:"ref"`
	Session string            `json:"session"`
	Turn    string            `json:"turn"`
	Who     string            `json:"who"`
	Speaker string            `json:"speaker,omitempty"` // name of the speaker, unless the owner is the speaker
	At      time.Time         `json:"at"`
	Snippet string            `json:"snippet"` // text in which matches are in [brackets]
	Source  provenance.Source `json:"source"`
	// Withheld reports whether Snippet omits the text because it looks like a credential that the
	// query did not name.
	Withheld bool `json:"withheld,omitempty"`
	// Origins lists the origins of the untrusted text in the message.
	Origins []provenance.Origin `json:"origins,omitempty"`
}

// Replay is the result that a recorded turn would have now.
type Replay struct {
	Session     string       `json:"session"`
	Turn        string       `json:"turn"`
	Same        bool         `json:"same"`
	ModelCalls  int          `json:"model_calls"` // number of recorded answers that were replayed
	Calls       int          `json:"calls"`       // number of tool calls answered from the ledger
	Differences []Difference `json:"differences"`
	Text        string       `json:"text"` // the complete result as text
}

// Difference is one value that differs between the recording and the replay.
type Difference struct {
	What  string `json:"what"`            // system, tools, model, verdict, result, provenance, answer or end
	Where string `json:"where,omitempty"` // the call or tool that differs
	Was   string `json:"was"`
	Now   string `json:"now"`
}

// Turns gives access to the inbox events and the turns that process them.
type Turns interface {
	// Event returns the state of an inbox event, including the answer when it is done.
	Event(ctx context.Context, id string) (EventStatus, error)
	// Wait returns when the event is done or dead, or as soon as it is waiting for the user. In the
	// latter case, Approvals lists the requests.
	Wait(ctx context.Context, id string) (EventStatus, error)
	// Inbox lists the events, or only the events of the session Query.Of if it is set.
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
	Position  int             `json:"position,omitempty"` // number of events ahead of it in its queue
	Tools     []ToolUse       `json:"tools" schema:"notnull"`
	Usage     json.RawMessage `json:"usage" schema:"type=object,null"` // a TokenUsage, or null
	Approvals []Approval      `json:"approvals,omitempty"`
}

// ToolUse is one tool call in a turn.
type ToolUse struct {
	ID    string          `json:"id"`
	Name  string          `json:"name"`
	Args  json.RawMessage `json:"arguments"`
	State string          `json:"state"` // done, failed, denied, unknown or waiting
	Text  string          `json:"text,omitempty"`
	Data  json.RawMessage `json:"data,omitempty"`
	// Undoable is true if the tool "undo" can undo the call.
	Undoable bool `json:"undoable,omitempty"`
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
	Stopped bool `json:"stopped"` // false if no turn was running
}

// Event is one event of the inbox.
type Event struct {
	ID         string            `json:"id"` // a UUIDv7
	Kind       string            `json:"kind"`
	Source     string            `json:"source"` // channel name, watcher id, "goal" and so on
	Session    string            `json:"session"`
	Channel    string            `json:"channel,omitempty"`
	Chat       string            `json:"chat,omitempty"`
	Sender     string            `json:"sender,omitempty"`
	Text       string            `json:"text"`
	Payload    json.RawMessage   `json:"payload,omitempty"`
	Provenance provenance.Source `json:"provenance"`
	ReceivedAt time.Time         `json:"received_at"`
	// Source and Key together identify an event. If a key is repeated, the id of the first event is
	// returned.
	Key       string    `json:"dedupe_key,omitempty"`
	State     string    `json:"state"`
	Attempts  int       `json:"attempts"`
	Crashes   int       `json:"crashes"`
	NotBefore time.Time `json:"not_before,omitzero"`
	Error     string    `json:"error,omitempty"`
	Answer    string    `json:"answer,omitempty"`
	DoneAt    time.Time `json:"done_at,omitzero"`
}
