package doctor

import (
	"net/http"
	"sync"
	"time"

	"hob/autonomy/llm"
)

// dateRecorder records the Date headers of responses to requests that other checks send. It sends
// no request itself.
type dateRecorder struct {
	mu   sync.Mutex
	from string
	off  time.Duration // how far this machine's clock is ahead
	seen bool
}

// wrapClient returns a client that also records the Date headers of its responses. If c is nil, it
// wraps a client like those that the model drivers create.
func (d *dateRecorder) wrapClient(c *http.Client) *http.Client {
	if c == nil || c.Transport == nil {
		c = llm.Client(c)
	}
	out := *c
	out.Transport = dateTransport{d, c.Transport}
	return &out
}

type dateTransport struct {
	d    *dateRecorder
	next http.RoundTripper
}

// RoundTrip implements http.RoundTripper.
func (t dateTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	began := time.Now()
	resp, err := t.next.RoundTrip(r)
	if err == nil {
		t.d.noteDate(r.URL.Hostname(), resp.Header.Get("Date"), began, time.Now())
	}
	return resp, err
}

// CloseIdleConnections passes http.Client.CloseIdleConnections on to the transport.
func (t dateTransport) CloseIdleConnections() {
	if t, ok := t.next.(interface{ CloseIdleConnections() }); ok {
		t.CloseIdleConnections()
	}
}

// noteDate compares a Date header (RFC 9110, section 6.6.1: integer seconds) with the time of the
// response.
func (d *dateRecorder) noteDate(host, header string, began, ended time.Time) {
	at, err := http.ParseTime(header)
	if err != nil {
		return
	}
	var off time.Duration
	switch {
	case began.After(at.Add(time.Second)):
		off = began.Sub(at.Add(time.Second))
	case ended.Before(at):
		off = ended.Sub(at)
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if !d.seen || off.Abs() < d.off.Abs() { // use the smallest difference, because another server's clock may be wrong
		d.from, d.off, d.seen = host, off, true
	}
}

// clockSkew returns how far this machine's clock is ahead of a server's clock; a negative value
// means behind. The result is unknown, and said is false, if no server sent a date.
func (d *dateRecorder) clockSkew() (off time.Duration, from string, said bool) {
	if d == nil {
		return 0, "", false
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.off, d.from, d.seen
}
