package web

import (
	"encoding/json"
	"time"

	"hob/autonomy/api"
	"hob/channels"
)

// The bodies of requests and answers that only HTTP has; all others are types of package api. A
// field with omitempty is optional.

// Message is a message of the user.
type Message struct {
	// Text is the text that the user typed, at most 10 MB. Send text or parts, not both.
	Text string `json:"text,omitempty"`
	// Parts is the text in at most 20 parts, together at most 10 MB. Only typed parts are the
	// user's own words. The others are untrusted text, with which Hob asks before it acts. Send a
	// command or the answer to a question as one typed part alone.
	Parts []channels.TextPart `json:"parts,omitempty" schema:"maxItems=20"`
	// DedupeKey is the client's own id of the message: the server accepts each key once per
	// session. The header Idempotency-Key does the same.
	DedupeKey string `json:"dedupe_key,omitempty"`
	// Async: respond as soon as the message is durable.
	Async       bool         `json:"async,omitempty"`
	Attachments []Attachment `json:"attachments,omitempty"` // at most 20
}

// Attachment is an image of a message.
type Attachment struct {
	MIME string `json:"mime" schema:"enum=image/png|image/jpeg|image/gif|image/webp"`
	Data []byte `json:"data" schema:"notnull"`
}

// Accepted is the response to a message that is stored and not answered yet.
type Accepted struct {
	Event    string `json:"event"`
	Session  string `json:"session"`
	Position int    `json:"position"` // number of messages before it
	Repeated bool   `json:"repeated,omitempty"`
}

// Waiting is the response to a message whose turn waits for the user.
type Waiting struct {
	Event     string         `json:"event"`
	Session   string         `json:"session"`
	Approvals []api.Approval `json:"approvals" schema:"notnull"`
}

// DecisionRequest is the user's decision on an approval request.
type DecisionRequest struct {
	Approved *bool  `json:"approved" schema:"notnull"`
	Scope    string `json:"scope,omitempty" schema:"enum=once|session|task|pattern"`
	Expires  string `json:"expires,omitempty"` // a duration such as "1h"; not for the scope once
	Uses     int    `json:"uses,omitempty"`    // maximum number of uses; 0 means no limit
	Note     string `json:"note,omitempty"`
	// Beforehand is the event of the turn for which the user approved everything before it began
	// (hob ask --yes). The response is 403, and nothing is decided, if the approval request
	// belongs to another turn, untrusted text is in the conversation, the user is away, or the
	// call destroys data or reveals a credential.
	Beforehand string `json:"beforehand,omitempty"`
}

// ToolRequest is a call of a tool.
type ToolRequest struct {
	Arguments json.RawMessage `json:"arguments,omitempty" schema:"type=object"`
	Session   string          `json:"session,omitempty" schema:"default=api"`
}

// GoalRequest describes a new goal: the arguments of the tool create_goal.
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
	Send bool `json:"send,omitempty"` // also send the user one text
}

// SessionRequest names a session.
type SessionRequest struct {
	Session string `json:"session"`
}

// OptionalSession is the body of administrative actions that need no session.
type OptionalSession struct {
	Session string `json:"session,omitempty"`
}

// ForkRequest describes a new session that begins like another one.
type ForkRequest struct {
	Session string `json:"session,omitempty"` // name of the new session; default: a generated name
	// At is the id of the last message or turn that is copied; empty: all of them.
	At string `json:"at,omitempty"`
}

// ReplayRequest selects the turn to replay.
type ReplayRequest struct {
	Turn string `json:"turn,omitempty"` // id of the turn; empty: the last one
}

// NoticeRequest selects notices and a time.
type NoticeRequest struct {
	ID  string `json:"id,omitempty"`  // of the notice; empty: all, or the last one
	For string `json:"for,omitempty"` // 1h, 2d, tomorrow at 9, off
}

// PauseRequest sets the pause.
type PauseRequest struct {
	For string `json:"for,omitempty"` // 1h, until tomorrow, on, off; empty: only return the state
}

// FileRequest names a file or folder.
type FileRequest struct {
	Path string `json:"path"`
}

// ExamineRequest selects the checks of the doctor.
type ExamineRequest struct {
	Names []string `json:"names,omitempty"` // empty: all checks
	Fix   bool     `json:"fix,omitempty"`   // also repair problems
}

// Journalled is the result of recording a configuration change.
type Journalled struct {
	Journalled bool `json:"journalled"`
}

// Shown is the result of recording a display.
type Shown struct {
	Shown bool `json:"shown"`
}

// LinkRequest describes a login link.
type LinkRequest struct {
	Here bool `json:"here,omitempty"` // valid for a browser of this machine only
}

// LoginLink is a link that logs a browser in once.
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

// Readiness reports that the daemon accepts messages.
type Readiness struct {
	Status string `json:"status"`
}

// HookMessage is the body that the channel webhook accepts; other channels accept the bodies of
// their platforms.
type HookMessage struct {
	ID         string    `json:"id,omitempty"` // the server accepts each id once
	Text       string    `json:"text,omitempty"`
	Sender     string    `json:"sender,omitempty"`
	SenderName string    `json:"sender_name,omitempty"`
	Chat       string    `json:"chat,omitempty"` // returned with the answer
	Session    string    `json:"session,omitempty"`
	At         time.Time `json:"at,omitzero"`
	Wait       bool      `json:"wait,omitempty"` // respond with the answer
}

// HookResponse is the response of the channel webhook.
type HookResponse struct {
	Event    string `json:"event"`
	Repeated bool   `json:"repeated,omitempty"`
	Answer   string `json:"answer,omitempty"`
	Question string `json:"question,omitempty"` // the approval request that the turn waits for
}
