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
	RateLimited  ErrorKind = "rate_limited"     // 429; see RetryAfter
	Unavailable  ErrorKind = "unavailable"      // 5xx, 529, overloaded
	Network      ErrorKind = "network"          // no connection, reset, broken stream
	Stalled      ErrorKind = "stalled"          // the stream was silent for too long
	Unauthorized ErrorKind = "unauthorized"     // 401, 403: the key
	Payment      ErrorKind = "payment"          // 402, quota used up
	NotFound     ErrorKind = "not_found"        // 404: model or path
	BadRequest   ErrorKind = "bad_request"      // 400, 422
	Overflow     ErrorKind = "context_overflow" // the prompt is too long
	Garbled      ErrorKind = "garbled"          // the answer does not follow the protocol
	Budget       ErrorKind = "budget"           // Hob's own cap refused the call
	Interrupted  ErrorKind = "cancelled"        // ctx ended
)

// Error is a failed model call. Message describes the failure, Remedy the user's next step; neither
// contains a key.
type Error struct {
	Kind       ErrorKind
	Provider   string
	Status     int // HTTP status, 0 without one
	Message    string
	Remedy     string
	RetryAfter time.Duration
	// Visible: part of an answer had already been streamed.
	Visible bool
	// Acted: an external agent (Info.Acts) had started to act. A retry, also with another
	// model, could repeat actions.
	Acted bool
	// Whole: Message is a complete sentence, not an API's text.
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

// Retryable reports whether the same call may succeed a little later.
func (e *Error) Retryable() bool {
	switch e.Kind {
	case RateLimited, Unavailable, Network, Stalled:
		return true
	}
	return false
}

// KindOf returns the kind of an error, "" for other types than *Error.
func KindOf(err error) ErrorKind {
	if e, ok := errors.AsType[*Error](err); ok {
		return e.Kind
	}
	return ""
}
