package llm

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"time"
)

// DefaultStall is how long a model may say nothing before a call is given up.
const DefaultStall = 2 * time.Minute

// LocalFirst is how long a server on this machine, or one that does not stream,
// may take to its first word, unless the owner says otherwise: it may have to
// load the model and to read a long conversation without a graphics card.
const LocalFirst = 10 * time.Minute

// FirstLimit is how long the server may take to its first word, given the
// owner's limit (0 = none given). An answer in one piece has no word before its
// last.
func (w Wire) FirstLimit(stall time.Duration, whole bool) time.Duration {
	if stall <= 0 && (whole || w.Local()) {
		return LocalFirst
	}
	return stall
}

// ErrStalled is the cause of a context that a Watch ended.
var ErrStalled = errors.New("no word from the model server")

// Watch ends a call whose server says nothing for too long. It runs only
// between Arm and Disarm, so that a slow reader of a stream is not taken for a
// silent server. Its methods belong to one goroutine.
type Watch struct {
	limit  time.Duration
	timer  *time.Timer
	cancel context.CancelCauseFunc
}

// NewWatch derives a context that ends with ErrStalled when the armed watch is
// neither armed again nor disarmed for limit (0 means DefaultStall). The caller
// must Stop it.
func NewWatch(ctx context.Context, limit time.Duration) (context.Context, *Watch) {
	ctx, cancel := context.WithCancelCause(ctx)
	w := &Watch{cancel: cancel}
	w.Limit(limit)
	w.timer = time.AfterFunc(w.limit, func() { cancel(ErrStalled) })
	return ctx, w
}

// Arm starts the time anew.
func (w *Watch) Arm() { w.timer.Reset(w.limit) }

// Limit changes how long the server may be silent, from the next Arm on; 0
// means DefaultStall.
func (w *Watch) Limit(d time.Duration) {
	if d <= 0 {
		d = DefaultStall
	}
	w.limit = d
}

// Disarm stops the time until the next Arm.
func (w *Watch) Disarm() { w.timer.Stop() }

// Stop ends the watch and its context.
func (w *Watch) Stop() {
	w.timer.Stop()
	w.cancel(context.Canceled)
}

// Client returns the HTTP client of a driver: a copy of base, or a new one
// without a total timeout (streams are long; Watch guards them). It follows no
// redirect: a key in a header must not travel to another host.
func Client(base *http.Client) *http.Client {
	var c http.Client
	if base != nil {
		c = *base
	}
	if c.Transport == nil {
		c.Transport = &http.Transport{
			Proxy:                 http.ProxyFromEnvironment,
			DialContext:           (&net.Dialer{Timeout: 10 * time.Second, KeepAlive: 30 * time.Second}).DialContext,
			ForceAttemptHTTP2:     true,
			MaxIdleConnsPerHost:   8,
			IdleConnTimeout:       90 * time.Second,
			TLSHandshakeTimeout:   10 * time.Second,
			ExpectContinueTimeout: time.Second,
			DisableCompression:    true, // a compressed stream is a delayed stream; see plain
		}
	}
	c.Transport = plain{c.Transport}
	c.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return &c
}

// ErrTooLong is the read error of a body that exceeds its ceiling.
var ErrTooLong = errors.New("the answer exceeds every sensible size")

// LimitBody bounds a response body: reading more than n bytes fails with
// ErrTooLong. Closing it closes the body.
func LimitBody(body io.ReadCloser, n int64) io.ReadCloser {
	return &limitedBody{body: body, left: n}
}

type limitedBody struct {
	body io.ReadCloser
	left int64
}

func (l *limitedBody) Read(p []byte) (int, error) {
	if l.left <= 0 {
		return 0, ErrTooLong
	}
	if int64(len(p)) > l.left {
		p = p[:l.left]
	}
	n, err := l.body.Read(p)
	l.left -= int64(n)
	return n, err
}

func (l *limitedBody) Close() error { return l.body.Close() }
