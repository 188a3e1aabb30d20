package llm

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"time"
)

// DefaultStall is how long a model may send nothing before a call is canceled.
const DefaultStall = 2 * time.Minute

// LocalFirst is the default time limit for the first output of a local server or of a server that
// does not stream. Such a server may have to load the model and read a long conversation without a
// GPU.
const LocalFirst = 10 * time.Minute

// FirstLimit returns the time limit for the server's first output; 0 means DefaultStall. stall is
// the user's limit, or 0 if none is set. If the server does not stream, the first output is the
// complete answer.
func (w Endpoint) FirstLimit(stall time.Duration, whole bool) time.Duration {
	if stall <= 0 && (whole || w.Local()) {
		return LocalFirst
	}
	return stall
}

// ErrStalled is the cause of a context canceled by a StallTimer.
var ErrStalled = errors.New("the model server stopped sending data")

// StallTimer cancels a call if the server sends nothing for too long. It runs only between Arm and
// Disarm, so that a slow reader of a stream is not mistaken for a stalled server. It must be used
// by a single goroutine.
type StallTimer struct {
	limit  time.Duration
	timer  *time.Timer
	cancel context.CancelCauseFunc
}

// NewWatch derives a context that is canceled with ErrStalled if the armed timer is neither armed
// again nor disarmed within limit (0 means DefaultStall). The caller must call Stop.
func NewWatch(ctx context.Context, limit time.Duration) (context.Context, *StallTimer) {
	ctx, cancel := context.WithCancelCause(ctx)
	w := &StallTimer{cancel: cancel}
	w.Limit(limit)
	w.timer = time.AfterFunc(w.limit, func() { cancel(ErrStalled) })
	return ctx, w
}

// Arm restarts the timer.
func (w *StallTimer) Arm() { w.timer.Reset(w.limit) }

// Limit changes the limit, starting with the next Arm. 0 means DefaultStall.
func (w *StallTimer) Limit(d time.Duration) {
	if d <= 0 {
		d = DefaultStall
	}
	w.limit = d
}

// Disarm stops the timer until the next Arm.
func (w *StallTimer) Disarm() { w.timer.Stop() }

// Stop stops the timer and cancels its context.
func (w *StallTimer) Stop() {
	w.timer.Stop()
	w.cancel(context.Canceled)
}

// Client returns the HTTP client for a driver: a copy of base, or a new client without a total
// timeout. Streams are long, and a StallTimer limits the time without output. The client does not
// follow redirects, because a key in a header must not be sent to another host.
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
			DisableCompression:    true, // compression delays a stream; see plainTransport
		}
	}
	c.Transport = plainTransport{c.Transport}
	c.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return &c
}

// ErrTooLong is the error for reading beyond the limit of a body.
var ErrTooLong = errors.New("the answer exceeds the size limit")

// LimitBody limits a response body. Reading more than n bytes fails with ErrTooLong. Closing the
// result closes the body.
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
