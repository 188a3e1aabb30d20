package llm

import (
	"errors"
	"fmt"
	"time"
)

// ErrorKind classifies a failed model call for its caller.
type ErrorKind string

// Kinds of errors. Only RateLimited, Unavailable and Network are retryable.
const (
	RateLimited  ErrorKind = "rate_limited"     // HTTP 429; see RetryAfter
	Unavailable  ErrorKind = "unavailable"      // HTTP 5xx or 529, or overloaded
	Network      ErrorKind = "network"          // no connection, connection reset or broken stream
	Stalled      ErrorKind = "stalled"          // the stream sent nothing for too long
	Unauthorized ErrorKind = "unauthorized"     // 401 or 403: the key was rejected
	Payment      ErrorKind = "payment"          // 402, or the quota is used up
	NotFound     ErrorKind = "not_found"        // 404: the model or path does not exist
	BadRequest   ErrorKind = "bad_request"      // HTTP 400 or 422
	Overflow     ErrorKind = "context_overflow" // the prompt is too long
	Garbled      ErrorKind = "garbled"          // the answer does not follow the protocol
	Budget       ErrorKind = "budget"           // Hob's own cap refused the call
	Interrupted  ErrorKind = "cancelled"        // the context ended
)

// Error describes a failed model call. Message describes the failure, and Remedy the user's next
// step. Neither contains a key.
type Error struct {
	Kind       ErrorKind
	Provider   string
	Status     int // HTTP status, or 0 if there is none
	Message    string
	Remedy     string
	RetryAfter time.Duration
	// Visible reports whether part of an answer had already been streamed.
	Visible bool
	// Acted reports whether an external agent (Info.Acts) had started to act. A retry, even with
	// another model, could repeat actions.
	Acted bool
	// Whole reports whether Message is a complete sentence instead of an API's text.
	Whole bool
	Err   error
}

func (e *Error) Error() string {
	s := fmt.Sprintf("%s: %s", e.Provider, e.Message)
	if e.Remedy != "" {
		s += "; " + e.Remedy
	}
	return s
}

func (e *Error) Unwrap() error { return e.Err }

// Retryable reports whether the same call may succeed if it is repeated later.
func (e *Error) Retryable() bool {
	switch e.Kind {
	case RateLimited, Unavailable, Network, Stalled:
		return true
	}
	return false
}

// KindOf returns the kind of an *Error, or "" for other error types.
func KindOf(err error) ErrorKind {
	if e, ok := errors.AsType[*Error](err); ok {
		return e.Kind
	}
	return ""
}
