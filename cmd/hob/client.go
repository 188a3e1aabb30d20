package main

import (
	"bufio"
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"net/http"
	"net/url"
	"strings"
	"sync"

	"hob/autonomy/api"
	"hob/channels/web"
	"hob/platform/host/system"
)

// client is a client of the HTTP API.
type client struct {
	http   *http.Client
	base   string
	token  system.Secret
	pid    int // of the daemon; 0 when the engine runs in this process
	finish func() error

	// name is the id of this process among the clients of the API: it does not show what another
	// client has shown. See docs/approvals.md.
	once sync.Once
	name string
}

// processID identifies this process.
func (c *client) processID() string {
	c.once.Do(func() { c.name = rand.Text() })
	return c.name
}

// closeEngine ends an engine in this process.
func (c *client) closeEngine() error {
	if c.finish == nil {
		return nil
	}
	return c.finish()
}

func (c *client) newRequest(ctx context.Context, method, path string, q url.Values, in any) (*http.Request, error) {
	u := c.base + path
	if len(q) > 0 {
		u += "?" + q.Encode()
	}
	var body []byte
	if in != nil {
		b, err := json.Marshal(in)
		if err != nil {
			return nil, err
		}
		body = b
	}
	req, err := c.requestRaw(ctx, method, u, body)
	if err == nil && in != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	return req, err
}

// requestRaw creates a request with the bytes as its body.
func (c *client) requestRaw(ctx context.Context, method, u string, body []byte) (*http.Request, error) {
	if strings.HasPrefix(u, "/") {
		u = c.base + u
	}
	req, err := http.NewRequestWithContext(ctx, method, u, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	req.Header.Set("Authorization", "Bearer "+c.token.Reveal())
	req.Header.Set("X-Hob-Channel", "terminal")
	req.Header.Set(web.ClientHeader, c.processID())
	return req, nil
}

// pathPart escapes a text for use as one path segment.
func pathPart(s string) string { return url.PathEscape(s) }

// sendRequest sends a request and decodes the answer into out (when not nil). Statuses
// from 400 are errors.
func (c *client) sendRequest(ctx context.Context, req *http.Request, out any) error {
	resp, err := c.http.Do(req)
	if err != nil {
		return c.explainConnError(ctx, err)
	}
	defer resp.Body.Close()
	if ctx.Err() != nil { // errors of a canceled request are expected
		return ctx.Err()
	}
	if resp.StatusCode >= 400 {
		return decodeErrorResponse(resp)
	}
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		return c.explainConnError(ctx, err)
	}
	if out == nil || len(bytes.TrimSpace(b)) == 0 {
		return nil
	}
	if err := json.Unmarshal(b, out); err != nil {
		return fmt.Errorf("decode the daemon's answer to %s: %w; its version may differ: hob stop, then hob start", req.URL.Path, err)
	}
	return nil
}

func (c *client) getJSON(ctx context.Context, path string, q url.Values, out any) error {
	req, err := c.newRequest(ctx, http.MethodGet, path, q, nil)
	if err != nil {
		return err
	}
	return c.sendRequest(ctx, req, out)
}

func (c *client) postJSON(ctx context.Context, path string, in, out any) error {
	req, err := c.newRequest(ctx, http.MethodPost, path, nil, in)
	if err != nil {
		return err
	}
	return c.sendRequest(ctx, req, out)
}

// explainConnError explains a connection that failed.
func (c *client) explainConnError(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if ue, ok := errors.AsType[*url.Error](err); ok {
		err = ue.Err
	}
	return &failure{code: exitNotRunning, cause: fmt.Sprintf("lost the connection to Hob: %v", err), remedy: "check it with: hob status", err: err}
}

// decodeErrorResponse turns an error answer into a failure.
func decodeErrorResponse(resp *http.Response) error {
	b, _ := io.ReadAll(io.LimitReader(resp.Body, 1<<20)) // the received part is enough
	f := &failure{code: exitFailed, cause: strings.TrimSpace(string(b))}
	var e api.ErrorBody
	if json.Unmarshal(b, &e) == nil && e.Error.Message != "" {
		f.cause, f.remedy = e.Error.Message, e.Error.Remedy
	}
	if f.cause == "" {
		f.cause = "the daemon rejected the request: " + resp.Status
	}
	if resp.StatusCode == http.StatusForbidden || resp.StatusCode == http.StatusUnauthorized {
		f.code = exitDenied
	}
	return f
}

// serverEvent is one server-sent event.
type serverEvent struct {
	id, name string
	data     []byte
}

// eventOpen is the event with which stream reports that the connection is open.
const eventOpen = "open"

// streamEvents yields the events of a request that answers with server-sent events
// (WHATWG HTML, section 9.2), the first one being eventOpen. An answer that is
// plain JSON becomes one event without a name.
func (c *client) streamEvents(ctx context.Context, method, path, lastID string, in any) iter.Seq2[serverEvent, error] {
	return func(yield func(serverEvent, error) bool) {
		req, err := c.newRequest(ctx, method, path, nil, in)
		if err != nil {
			yield(serverEvent{}, err)
			return
		}
		req.Header.Set("Accept", "text/event-stream")
		if lastID != "" {
			req.Header.Set("Last-Event-ID", lastID)
		}
		resp, err := c.http.Do(req)
		if err != nil {
			yield(serverEvent{}, c.explainConnError(ctx, err))
			return
		}
		defer resp.Body.Close()
		switch {
		case resp.StatusCode >= 400:
			yield(serverEvent{}, decodeErrorResponse(resp))
		case !strings.HasPrefix(resp.Header.Get("Content-Type"), "text/event-stream"):
			b, err := io.ReadAll(resp.Body)
			yield(serverEvent{data: b}, err)
		case !yield(serverEvent{name: eventOpen}, nil):
		default:
			if err := readSSE(resp.Body, yield); err != nil {
				yield(serverEvent{}, c.explainConnError(ctx, err))
			}
		}
	}
}

// maxEvent bounds one line of a stream, in bytes.
const maxEvent = 32 << 20

// readSSE parses events until the stream ends or yield returns false.
func readSSE(r io.Reader, yield func(serverEvent, error) bool) error {
	lines := bufio.NewScanner(r)
	lines.Buffer(make([]byte, 0, 64<<10), maxEvent)
	var e serverEvent
	for lines.Scan() {
		line := lines.Text()
		if line == "" {
			if (e.name != "" || len(e.data) > 0) && !yield(e, nil) {
				return nil
			}
			e = serverEvent{}
			continue
		}
		field, value, _ := strings.Cut(line, ":")
		value = strings.TrimPrefix(value, " ")
		switch field {
		case "event":
			e.name = value
		case "id":
			e.id = value
		case "data":
			if len(e.data) > 0 {
				e.data = append(e.data, '\n')
			}
			e.data = append(e.data, value...)
		}
	}
	return lines.Err()
}
