package web

import (
	"encoding/json"
	"time"

	"hob/autonomy/api"
	"hob/channels"
)

// The request and response bodies that exist only in the HTTP API; all others are types in package
// api. A field with omitempty is optional.

// Message is a message from the user.
type Message struct {
	// Text is the text that the user typed, at most 10 MB. Send either text or parts.
	Text string `json:"text,omitempty"`
	// Parts is the text in at most 20 parts, together at most 10 MB. Only typed parts are the
	// user's own words. The others are untrusted text, which makes Hob request approval before it
	// acts. Send a command or the answer to a question as a single typed part.
	Parts []channels.TextPart `json:"parts,omitempty" schema:"maxItems=20"`
	// DedupeKey is the client's own id for the message. The server accepts each key once per
	// session. The header Idempotency-Key has the same effect.
	DedupeKey string `json:"dedupe_key,omitempty"`
	// Async makes the server respond as soon as the message is durable.
	Async       bool         `json:"async,omitempty"`
	Attachments []Attachment `json:"attachments,omitempty"` // at most 20 attachments
}

// Attachment is an image in a message.
type Attachment struct {
	MIME string `json:"mime" schema:"enum=image/png|image/jpeg|image/gif|image/webp"`
	Data []byte `json:"data" schema:"notnull"`
}

// Accepted is the response to a message that is stored but not answered yet.
type Accepted struct {
	Event    string `json:"event"`
	Session  string `json:"session"`
	Position int    `json:"position"` // number of messages ahead of this one
	Repeated bool   `json:"repeated,omitempty"`
}

// Waiting is the response to a message whose turn is waiting for the user.
type Waiting struct {
	Event     string         `json:"event"`
	Session   string         `json:"session"`
	Approvals []api.Approval `json:"approvals" schema:"notnull"`
}

// DecisionRequest is the user's decision on an approval request.
type DecisionRequest struct {
	Approved *bool  `json:"approved" schema:"notnull"`
	Scope    string `json:"scope,omitempty" schema:"enum=once|session|task|pattern"`
	Expires  string `json:"expires,omitempty"` // a duration such as "1h"; not allowed for the scope once
	Uses     int    `json:"uses,omitempty"`    // maximum number of uses; 0 means no limit
	Note     string `json:"note,omitempty"`
	// Beforehand is the event of the turn for which the user approved everything before it began
	// (hob ask --yes). The response is 403, and nothing is decided, in these cases: the approval
	// request belongs to another turn, the conversation contains untrusted text, the user is away,
	// or the call destroys data or reveals a credential.
	Beforehand string `json:"beforehand,omitempty"`
}

// ToolRequest is a tool call.
type ToolRequest struct {
	Arguments json.RawMessage `json:"arguments,omitempty" schema:"type=object"`
	Session   string          `json:"session,omitempty" schema:"default=api"`
}

// GoalRequest describes a new goal. It contains the arguments of the tool create_goal.
type GoalRequest struct {
	Description string `json:"description"`
	Success     string `json:"success,omitempty"`
	Priority    int    `json:"priority,omitempty" schema:"minimum=1,maximum=5"`
	CheckEvery  string `json:"check_every,omitempty"`
	NextReview  string `json:"next_review,omitempty"`
	ReportTo    string `json:"report_to,omitempty"`
}

// ChannelTestRequest selects what a channel test does.
type ChannelTestRequest struct {
	Send bool `json:"send,omitempty"` // also send a test message to the user
}

// SessionRequest names a session.
type SessionRequest struct {
	Session string `json:"session"`
}

// OptionalSession is the body for administrative actions that do not require a session.
type OptionalSession struct {
	Session string `json:"session,omitempty"`
}

// ForkRequest describes a new session that starts with a copy of another session.
type ForkRequest struct {
	Session string `json:"session,omitempty"` // name of the new session; generated if empty
	// At is the id of the last message or turn to copy. If it is empty, all of them are copied.
	At string `json:"at,omitempty"`
}

// ReplayRequest selects the turn to replay.
type ReplayRequest struct {
	Turn string `json:"turn,omitempty"` // id of the turn; empty means the last one
}

// NoticeRequest selects notices and a time.
type NoticeRequest struct {
	ID  string `json:"id,omitempty"`  // id of the notice; empty means all notices, or the last one
	For string `json:"for,omitempty"` // for example: 1h, 2d, tomorrow at 9, off
}

// PauseRequest starts or ends the pause.
type PauseRequest struct {
	For string `json:"for,omitempty"` // for example: 1h, until tomorrow, on, off; empty only returns the state
}

// HoldRequest decides about held items.
type HoldRequest struct {
	ID      string `json:"id"`      // id of the item; "all" decides every item and ends the hold
	Release bool   `json:"release"` // false: drop
}

// FileRequest names a file or folder.
type FileRequest struct {
	Path string `json:"path"`
}

// Pin sets whether tidying the memory may change a fact.
type Pin struct {
	Pinned bool `json:"pinned"`
}

// ExamineRequest selects the checks of the doctor.
type ExamineRequest struct {
	Names []string `json:"names,omitempty"` // empty means all checks
	Fix   bool     `json:"fix,omitempty"`   // whether to repair problems
}

// Journalled is the result of journaling a configuration change.
type Journalled struct {
	Journalled bool `json:"journalled"`
}

// Shown is the result of recording that a client displays something.
type Shown struct {
	Shown bool `json:"shown"`
}

// LinkRequest describes a login link.
type LinkRequest struct {
	Here bool `json:"here,omitempty"` // valid only for a browser on this machine
}

// LoginLink is a link that logs in a browser once.
type LoginLink struct {
	URL       string    `json:"url"`
	ExpiresAt time.Time `json:"expires_at"`
}

// PasswordRequest is a login with the password.
type PasswordRequest struct {
	Password string `json:"password"`
}

// Health is the state of the process.
type Health struct {
	Status  string `json:"status"`
	Version string `json:"version"`
}

// Readiness reports whether the daemon accepts messages.
type Readiness struct {
	Status string `json:"status"`
}

// HookMessage is the body that the webhook channel accepts. Other channels accept the bodies of
// their platforms.
type HookMessage struct {
	ID         string    `json:"id,omitempty"` // the server accepts each id once
	Text       string    `json:"text,omitempty"`
	Sender     string    `json:"sender,omitempty"`
	SenderName string    `json:"sender_name,omitempty"`
	Chat       string    `json:"chat,omitempty"` // returned together with the answer
	Session    string    `json:"session,omitempty"`
	At         time.Time `json:"at,omitzero"`
	Wait       bool      `json:"wait,omitempty"` // respond with the answer instead of immediately
}

// HookResponse is the response of the webhook channel.
type HookResponse struct {
	Event    string `json:"event"`
	Repeated bool   `json:"repeated,omitempty"`
	Answer   string `json:"answer,omitempty"`
	Question string `json:"question,omitempty"` // the approval request that the turn is waiting for
}
