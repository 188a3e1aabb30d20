package llm

import (
	"errors"
	"fmt"
	"time"
)

// ErrorKind tells a caller what to do about a failed model call.
type ErrorKind string

// The kinds of errors. Only RateLimited, Unavailable and Network are worth
// another try.
const (
	RateLimited  ErrorKind = "rate_limited"     // 429; see RetryAfter
	Unavailable  ErrorKind = "unavailable"      // 5xx, 529, overloaded
	Network      ErrorKind = "network"          // no connection, reset, broken stream
	Stalled      ErrorKind = "stalled"          // the stream said nothing for too long
	Unauthorized ErrorKind = "unauthorized"     // 401, 403: the key
	Payment      ErrorKind = "payment"          // 402, quota used up
	NotFound     ErrorKind = "not_found"        // 404: model or path
	BadRequest   ErrorKind = "bad_request"      // 400, 422
	Overflow     ErrorKind = "context_overflow" // the prompt is too long
	Garbled      ErrorKind = "garbled"          // the answer does not follow the protocol
	Budget       ErrorKind = "budget"           // Hob's own cap refused the call
	Interrupted  ErrorKind = "cancelled"        // ctx ended
)

// Error is a failed model call. Message says what happened, Remedy what the
// owner can do; neither contains a key.
type Error struct {
	Kind       ErrorKind
	Provider   string
	Status     int // HTTP status, 0 when there was none
	Message    string
	Remedy     string
	RetryAfter time.Duration
	// Visible: part of an answer had already been streamed.
	Visible bool
	// Acted: a brain that acts by itself (Info.Acts) had begun to. Asking again,
	// or asking another one, could do things twice.
	Acted bool
	// Whole: Message says all that there is to say, and is not an API's word for
	// Kind.
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

// KindOf returns the kind of an error, "" when it is not an *Error.
func KindOf(err error) ErrorKind {
	if e, ok := errors.AsType[*Error](err); ok {
		return e.Kind
	}
	return ""
}
