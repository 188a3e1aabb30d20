package llm

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"strings"
	"syscall"
	"time"
)

// Endpoint is the HTTP endpoint of a driver. Its methods convert failures to an *Error. The errors
// never contain Key.
type Endpoint struct {
	Provider string // section name in [providers]
	BaseURL  string
	Key      string
}

// NewWire returns the endpoint and the base URL after checking the configuration. An empty baseURL
// means standard. An address without a scheme gets http for this machine and https for other hosts.
// The URL has no trailing slash.
func NewWire(provider, baseURL, standard, key string) (Endpoint, *url.URL, error) {
	key = strings.TrimSpace(key)
	if strings.ContainsFunc(key, func(r rune) bool { return r <= ' ' || r > '~' }) {
		return Endpoint{}, nil, fmt.Errorf("the API key of [providers.%s] contains invalid characters such as spaces; copy it again", provider)
	}
	s := strings.TrimSpace(baseURL)
	if s == "" {
		s = standard
	}
	if !strings.Contains(s, "://") {
		scheme := "https://"
		if (Endpoint{BaseURL: "http://" + s}).Local() {
			scheme = "http://"
		}
		s = scheme + s
	}
	u, err := url.Parse(s)
	if err != nil || u.Host == "" || (u.Scheme != "http" && u.Scheme != "https") {
		return Endpoint{}, nil, fmt.Errorf("base_url of [providers.%s] is not an http or https address; use an address such as http://localhost:11434/v1", provider)
	}
	u.Fragment, u.RawPath = "", ""
	u.Path = strings.TrimRight(u.Path, "/")
	return Endpoint{Provider: provider, BaseURL: u.String(), Key: key}, u, nil
}

// Local reports whether the server runs on this machine.
func (w Endpoint) Local() bool {
	u, err := url.Parse(w.BaseURL)
	if err != nil {
		return false
	}
	if strings.EqualFold(u.Hostname(), "localhost") {
		return true
	}
	ip := net.ParseIP(u.Hostname())
	return ip != nil && ip.IsLoopback()
}

// SanitizeForUser makes text from a server or an error safe to show to users: one line of at most
// 400 characters, without the key.
func (w Endpoint) SanitizeForUser(s string) string {
	if w.Key != "" {
		s = strings.ReplaceAll(s, w.Key, "[redacted]")
	}
	s = strings.Join(strings.Fields(strings.ToValidUTF8(s, "\uFFFD")), " ")
	const limit = 400
	if n := 0; len(s) > limit {
		for i := range s {
			if n++; n > limit {
				return s[:i] + " ..."
			}
		}
	}
	return s
}

// Errorf returns an error of the given kind with the usual remedy for that kind.
func (w Endpoint) Errorf(kind ErrorKind, format string, args ...any) *Error {
	err := fmt.Errorf(format, args...)
	return &Error{
		Kind: kind, Provider: w.Provider, Message: w.SanitizeForUser(err.Error()),
		Remedy: w.remedyFor(kind), Err: w.cleanCause(errors.Unwrap(err)),
	}
}

// StatusError returns the error for a failure that the server reported, either by its HTTP status
// or, with status 0, within a stream. code is the machine-readable code in the message, if any
// ("insufficient_quota", "overloaded_error").
func (w Endpoint) StatusError(status int, h http.Header, code, message string) *Error {
	e := &Error{
		Kind: Classify(status, code, message), Provider: w.Provider, Status: status,
		RetryAfter: RetryAfter(h, time.Now()),
	}
	e.Remedy = w.remedyFor(e.Kind)
	text := w.SanitizeForUser(legibleText(message))
	switch {
	case text == "" && status == 0:
		text = "the server reported an error without a message"
	case text == "":
		text = fmt.Sprintf("the server answered %d %s", status, http.StatusText(status))
	case status != 0:
		text = fmt.Sprintf("%s (%d)", text, status)
	}
	e.Message = text
	if status >= 300 && status < 400 {
		e.Message = fmt.Sprintf("the server redirects (%d) to %s; Hob does not follow the redirect, because that would send the key to that host",
			status, w.SanitizeForUser(h.Get("Location")))
		e.Remedy = fmt.Sprintf("set base_url of [providers.%s] to the final address", w.Provider)
	}
	return e
}

// BodyError returns the StatusError for the body of an error response.
func (w Endpoint) BodyError(status int, h http.Header, b ErrorBody) *Error {
	e := w.StatusError(status, h, b.Code, b.Message)
	e.RetryAfter = max(e.RetryAfter, b.Retry)
	return e
}

// ReadError converts an error from reading the body of an answer.
func (w Endpoint) ReadError(ctx context.Context, err error) *Error {
	if (errors.Is(err, ErrTooLong) || errors.Is(err, errPacked)) && ctx.Err() == nil {
		return w.Errorf(Garbled, "%w", err)
	}
	return w.TransportError(ctx, err)
}

// TransportError converts a failure below HTTP. ctx is the call's context from NewWatch. Its cause
// distinguishes a stall and a cancellation by the user from a broken connection.
func (w Endpoint) TransportError(ctx context.Context, err error) *Error {
	cause := context.Cause(ctx)
	switch {
	case errors.Is(cause, ErrStalled):
		return w.Errorf(Stalled, "the model was silent for too long: %w", ErrStalled)
	case cause != nil:
		return &Error{Kind: Interrupted, Provider: w.Provider, Message: "the model call was canceled", Err: cause}
	}
	err = unwrapURL(err)
	var dns *net.DNSError
	var unknownCA x509.UnknownAuthorityError
	var verify *tls.CertificateVerificationError
	host := w.hostName()
	switch {
	case errors.Is(err, syscall.ECONNREFUSED):
		return w.Errorf(Network, "cannot connect to %s: %w", host, syscall.ECONNREFUSED)
	case errors.As(err, &dns):
		e := w.Errorf(Network, "cannot resolve the name %s (%s)", host, dns.Err) // the rest of the DNS error reveals this machine's network
		e.Err = w.cleanCause(err)
		return e
	case errors.As(err, &unknownCA), errors.As(err, &verify):
		e := w.Errorf(BadRequest, "the certificate of %s is not trusted: %w", host, err)
		e.Remedy = "check base_url and this machine's clock"
		return e
	}
	return w.Errorf(Network, "the connection to %s failed: %w", host, err)
}

func (w Endpoint) hostName() string {
	if u, err := url.Parse(w.BaseURL); err == nil && u.Host != "" {
		return u.Host
	}
	return "the server"
}

// unwrapURL removes the wrapper that adds the URL to the message. The URL may contain a secret and
// does not help users.
func unwrapURL(err error) error {
	for {
		u, ok := errors.AsType[*url.Error](err)
		if !ok {
			return err
		}
		err = u.Err
	}
}

func (w Endpoint) cleanCause(err error) error {
	err = unwrapURL(err)
	if err != nil && w.Key != "" && strings.Contains(err.Error(), w.Key) {
		return nil
	}
	return err
}

func (w Endpoint) remedyFor(k ErrorKind) string { return remedyOf(k, w.Provider, w.Local()) }
