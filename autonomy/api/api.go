// Package api defines Hob's operations for its user as types: small interfaces by topic, the
// structs that they accept and return, and the classes of errors. The JSON of the structs is the
// wire format of the HTTP API. A field without omitempty or omitzero is always present, in requests
// and in responses. The tag "schema" holds the parts of openapi.json that a Go type cannot express.
// autonomy/service implements the interfaces, channels/web serves them over HTTP, and the commands
// decode the structs. The only behavior in this package is the text of an approval request, which is
// the same in every channel.
//
// Every method may be called concurrently and returns when ctx ends. Errors are classified by
// ErrNotFound, ErrConflict, ErrDenied, ErrInvalid, ErrFull and ErrAway; other errors are failures. An
// error's text contains a remedy after the last "; ". Lists are newest first unless their method
// says otherwise.
package api

import "errors"

// The classes of errors.
var (
	ErrNotFound = errors.New("not found")
	ErrConflict = errors.New("conflict")
	ErrDenied   = errors.New("denied")
	ErrInvalid  = errors.New("invalid")
	ErrFull     = errors.New("the disk is full")        // nothing was accepted or changed
	ErrAway     = errors.New("temporarily unavailable") // nothing was accepted; repeat the request later
)

// The codes of errors on the wire, in ErrorBody. Requests that fail a check in the HTTP layer have
// additional codes; see openapi.json.
const (
	CodeNotFound = "not_found"
	CodeConflict = "conflict"
	CodeDenied   = "denied"
	CodeInvalid  = "invalid"
	CodeFull     = "disk_full"
	CodeAway     = "database_away"
)

// ErrorBody is the body of every failed request.
type ErrorBody struct {
	Error Error `json:"error"`
	// Event is the inbox event of a message that failed after it was accepted.
	Event string `json:"event,omitempty"`
}

// Error describes why a request failed and what to do about it.
type Error struct {
	Code    string `json:"code"`
	Message string `json:"message"`
	Remedy  string `json:"remedy,omitempty"`
}

// Query filters a list. Each list documents the fields that it uses.
type Query struct {
	Of     string // id of the item to which the rows belong, for example of a session
	Limit  int    // maximum number of rows
	Before string // only rows older than this id
	State  string
	Text   string
	All    bool
}
