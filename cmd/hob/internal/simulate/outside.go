package simulate

import (
	"bytes"
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"sync"
	"time"

	"hob/autonomy/config"
	"hob/autonomy/llm"
	"hob/platform/retry"
)

// outside sends requests to real models. Goroutines outside the bubble send the requests, so that
// certificates are checked against the real time and timeouts work. The bubble waits for the
// responses, and its time does not advance in the meantime.
type outside struct {
	limit func(host string) time.Duration // maximum time without output from a server
	way   *http.Transport
	slots chan *outsideRequest
	over  chan struct{} // stopServing closes this channel
	ended chan struct{}
}

// outsideRequest is one request. The request and its channels are created outside the bubble, so
// that the bubble's time stops while a goroutine inside waits for them.
type outsideRequest struct {
	ask    chan *http.Request
	answer chan outsideResponse
	ctx    context.Context //nolint:containedctx // the context of the request, from another goroutine
	cancel context.CancelCauseFunc
}

type outsideResponse struct {
	res *http.Response
	err error
}

const (
	// maxAnswer is the maximum size of a response in bytes. A response is forwarded when it is
	// complete.
	maxAnswer = 64 << 20
	// insists is the number of retries for a busy model. Waiting takes no time in the bubble.
	// longestBusy is the maximum real waiting time.
	insists     = 3
	longestBusy = time.Minute
)

// errSilent is wrapped if a model sent no output for too long.
var errSilent = errors.New("the simulation cannot continue during this model call; try again, or remove --model configured")

func newOutside(limit func(string) time.Duration, roots *x509.CertPool) *outside {
	way := &http.Transport{Proxy: http.ProxyFromEnvironment, ForceAttemptHTTP2: true, TLSClientConfig: &tls.Config{MinVersion: tls.VersionTLS12, RootCAs: roots}}
	o := &outside{limit: limit, way: way, slots: make(chan *outsideRequest), over: make(chan struct{}), ended: make(chan struct{})}
	go o.serveSlots()
	return o
}

// serveSlots provides requests on o.slots and sends each to its model, until the bubble ends.
func (o *outside) serveSlots() {
	defer close(o.ended)
	defer o.way.CloseIdleConnections()
	for {
		s := &outsideRequest{ask: make(chan *http.Request, 1), answer: make(chan outsideResponse, 1)}
		s.ctx, s.cancel = context.WithCancelCause(context.Background())
		select {
		case o.slots <- s:
			go func() {
				defer s.cancel(nil)
				res, err := o.exchangeWithRetry(s, <-s.ask) //nolint:bodyclose // the receiver of the response closes it
				s.answer <- outsideResponse{res, err}
			}()
		case <-o.over:
			s.cancel(nil)
			return
		}
	}
}

func (o *outside) stopServing() {
	close(o.over)
	<-o.ended
}

// exchangeWithRetry sends a request and repeats it if the server is busy.
func (o *outside) exchangeWithRetry(s *outsideRequest, r *http.Request) (*http.Response, error) {
	for n := 0; ; n++ {
		res, err := o.exchangeOnce(s, r.Clone(s.ctx))
		if err != nil || n == insists || res.StatusCode != http.StatusTooManyRequests && res.StatusCode != http.StatusServiceUnavailable {
			return res, err
		}
		secs, err := strconv.Atoi(res.Header.Get("Retry-After"))
		wait := time.Duration(secs) * time.Second
		if err != nil || wait > longestBusy {
			return res, nil //nolint:nilerr // Retry-After is missing or too long
		}
		if retry.Sleep(s.ctx, wait) != nil {
			return nil, context.Cause(s.ctx)
		}
	}
}

// exchangeOnce sends one request and reads the full response.
func (o *outside) exchangeOnce(s *outsideRequest, r *http.Request) (*http.Response, error) {
	limit := o.limit(r.URL.Host)
	silence := time.AfterFunc(limit, func() {
		s.cancel(fmt.Errorf("the model at %s sent no data for %s: %w", r.URL.Host, limit, errSilent))
	})
	defer silence.Stop()
	if r.GetBody != nil {
		body, err := r.GetBody()
		if err != nil {
			return nil, err
		}
		r.Body = body
	}
	res, err := o.way.RoundTrip(r)
	if err != nil {
		return nil, cmp.Or(context.Cause(s.ctx), err)
	}
	defer res.Body.Close()
	var all bytes.Buffer
	part := make([]byte, 32<<10)
	for {
		silence.Reset(limit)
		n, err := res.Body.Read(part)
		all.Write(part[:n])
		switch {
		case errors.Is(err, io.EOF):
			res.Body, res.ContentLength = io.NopCloser(&all), int64(all.Len())
			return res, nil
		case context.Cause(s.ctx) != nil:
			return nil, context.Cause(s.ctx)
		case err != nil: // forward the partial response, as in reality
			res.Body, res.ContentLength = io.NopCloser(io.MultiReader(&all, truncatedBody{err})), -1
			return res, nil
		case all.Len() > maxAnswer:
			return nil, fmt.Errorf("the answer from the model at %s is larger than %d MB", r.URL.Host, maxAnswer>>20)
		}
	}
}

// truncatedBody returns its error at the end of an incomplete body.
type truncatedBody struct{ err error }

// Read implements io.Reader.
func (c truncatedBody) Read([]byte) (int, error) { return 0, c.err }

// bubbleTransport passes requests from the bubble to goroutines outside it.
type bubbleTransport struct {
	*outside
	p *play
}

// RoundTrip implements http.RoundTripper.
func (a bubbleTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	var body []byte
	if r.Body != nil {
		var err error
		body, err = io.ReadAll(r.Body)
		_ = r.Body.Close()
		if err != nil {
			return nil, err
		}
	}
	if err := a.p.halt.stopCause(); err != nil {
		return nil, err
	}
	out, err := http.NewRequestWithContext(context.Background(), r.Method, r.URL.String(), bytes.NewReader(body)) //nolint:contextcheck // the context of the bubble must not be used outside the bubble
	if err != nil {
		return nil, err
	}
	out.Header, out.Host = r.Header.Clone(), r.Host
	s := <-a.slots
	s.ask <- out
	select {
	case h := <-s.answer:
		if errors.Is(h.err, errSilent) {
			a.p.halt.stopWith(h.err)
		}
		if h.res != nil {
			h.res.Request = r
		}
		return h.res, h.err
	case <-r.Context().Done():
		s.cancel(r.Context().Err())
		return nil, r.Context().Err()
	}
}

// stallTimeouts returns the maximum time without output per model host, as in the daemon.
func stallTimeouts(list []config.Provider) func(host string) time.Duration {
	of := func(pr config.Provider) time.Duration {
		w := llm.Endpoint{BaseURL: pr.BaseURL}
		return cmp.Or(w.FirstLimit(pr.Stall.Duration, !pr.Stream), llm.DefaultStall)
	}
	return func(host string) time.Duration {
		others := llm.DefaultStall
		for _, pr := range list {
			_, at, err := llm.NewWire(pr.Name, pr.BaseURL, "", "")
			switch {
			case err != nil: // the error is reported when the model is created
				others = max(others, of(pr))
			case at.Host == host:
				return of(pr)
			}
		}
		return others
	}
}

// stopError ends the simulation early.
type stopError struct {
	done chan struct{}
	mu   sync.Mutex
	err  error
}

func (h *stopError) stopWith(err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.err == nil {
		h.err = err
		close(h.done)
	}
}

func (h *stopError) stopCause() error {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.err
}

// waitUntil waits until a time. Its error is the reason why the simulation cannot continue.
func (p *play) waitUntil(at time.Time) error {
	t := time.NewTimer(time.Until(at))
	defer t.Stop()
	select {
	case <-t.C:
		waitIdle()
	case <-p.halt.done:
	}
	return p.halt.stopCause()
}
