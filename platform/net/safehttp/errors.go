package safehttp

import (
	"context"
	"errors"
	"net"
	"strings"
	"unicode"
)

// Kind is the category of a failed request. The caller uses it to decide how to handle the failure.
type Kind uint8

// The kinds of errors. Those up to Refused are refusals: nothing was sent, and a retry cannot help.
const (
	BadURL   Kind = iota + 1 // not an address, or an address that can be misread
	Scheme                   // neither http nor https
	Port                     // the port of a service that is not a web server
	Internal                 // a name or an address that is special or inside the user's network
	Refused                  // any other request that is never sent, because of its method, a header, or a redirect to an unencrypted address

	BadOption   // an invalid entry of Options
	NotFound    // the name does not exist
	Resolve     // the DNS lookup failed
	Unreachable // the connection failed
	Proxy       // the user's proxy did not connect
	TLS         // the certificate was not valid, or the handshake failed
	Redirect    // too many redirects, or one to a target that is not allowed
	TooLarge    // the body exceeds its limit
	Encoding    // an encoding that the request did not accept
	TimedOut
	Broken // the connection ended before the response was complete
)

// Error describes a failed request.
type Error struct {
	Kind    Kind
	Host    string // host of the request as written, or of the redirect
	Message string
	Remedy  string // optional
	// Sent is true if the server may have received the request.
	Sent bool
	Err  error
}

func (e *Error) Error() string {
	if e.Remedy != "" {
		return e.Message + "; " + e.Remedy
	}
	return e.Message
}

func (e *Error) Unwrap() error { return e.Err }

// Refusal reports whether the client rejected the request without sending anything. A retry cannot
// help.
func (e *Error) Refusal() bool { return e.Kind <= Refused }

func newRefusal(kind Kind, host, message, remedy string) *Error {
	return &Error{Kind: kind, Host: host, Message: "refused: " + message, Remedy: remedy}
}

// classifyError converts a transport error to an *Error, or returns the error of the context.
func (d *dialer) classifyError(ctx context.Context, err error) error {
	if e, ok := errors.AsType[*Error](err); ok {
		return e
	}
	e := &Error{Kind: Broken, Host: d.t.url.Host, Sent: d.connected.Load(), Err: err}
	switch {
	case context.Cause(ctx) != nil && !errors.Is(ctx.Err(), context.DeadlineExceeded):
		return ctx.Err()
	case errors.Is(err, context.DeadlineExceeded), isTimeout(err):
		e.Kind, e.Message = TimedOut, d.t.url.Host+" did not answer in time"
	case isTLS(err):
		e.Kind, e.Sent = TLS, false
		e.Message, e.Remedy = "the connection to "+d.t.url.Host+" is not secure: "+briefError(err), "nothing was sent"
	case !e.Sent:
		e.Kind, e.Message = Unreachable, d.t.url.Host+" cannot be reached: "+briefError(err)
	default:
		e.Message = "the response from " + d.t.url.Host + " was interrupted: " + briefError(err)
	}
	return e
}

// briefError returns err's text, sanitized and shortened, because it may quote data from the peer.
func briefError(err error) string {
	s := strings.ToValidUTF8(err.Error(), "?")
	s = strings.Map(func(r rune) rune {
		if unicode.IsControl(r) || unicode.Is(unicode.Cf, r) {
			return ' '
		}
		return r
	}, s)
	if r := []rune(s); len(r) > 200 {
		return string(r[:200]) + "..."
	}
	return s
}

func isTimeout(err error) bool {
	n, ok := errors.AsType[net.Error](err)
	return ok && n.Timeout()
}
