// Package apiclient is the client for Hob's HTTP API. It implements the interfaces of autonomy/api
// over a connection to the daemon, or over web.Server.Client with an engine in the same process.
// The commands use it, so that they contain neither paths nor JSON. It contains no logic and does
// not retry.
//
// A request that the server rejects fails with a *ResponseError. It wraps the error class in
// package api that matches the code. A request without a response fails with a *ConnectionError.
package apiclient

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"hob/autonomy/api"
	"hob/channels/web"
	"hob/platform/host/system"
)

// Client is an API client. Its methods may be called concurrently. Methods of the interfaces in
// package api that have a parameter "by" ignore it: the server knows the caller.
type Client struct {
	http    *http.Client
	address string
	token   system.Secret
	id      string // identifies this client to the server; see web.ClientHeader
}

// New returns a client for the server at an address such as http://127.0.0.1:7717.
func New(transport *http.Client, address string, token system.Secret) *Client {
	return &Client{http: transport, address: address, token: token, id: rand.Text()}
}

// Address returns the address of the server.
func (c *Client) Address() string { return c.address }

// ResponseError is an error response from the server.
type ResponseError struct {
	Status                int
	Code, Message, Remedy string
	Event                 string // id of a message that was accepted despite the error
}

// Error returns the message and the remedy.
func (e *ResponseError) Error() string {
	if e.Remedy == "" {
		return e.Message
	}
	return e.Message + "; " + e.Remedy
}

// Unwrap returns the class of the error, if it has one.
func (e *ResponseError) Unwrap() error {
	return map[string]error{
		api.CodeNotFound: api.ErrNotFound, api.CodeConflict: api.ErrConflict, api.CodeDenied: api.ErrDenied,
		api.CodeInvalid: api.ErrInvalid, api.CodeFull: api.ErrFull, api.CodeAway: api.ErrAway,
	}[e.Code]
}

// ConnectionError means that the server could not be reached or the connection broke.
type ConnectionError struct{ Err error }

func (e *ConnectionError) Error() string { return fmt.Sprintf("lost the connection to Hob: %v", e.Err) }

// Unwrap returns the cause.
func (e *ConnectionError) Unwrap() error { return e.Err }

// connectionError returns the error for a failed connection. A canceled request does not count as
// one.
func connectionError(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if ue, ok := errors.AsType[*url.Error](err); ok {
		err = ue.Err
	}
	return &ConnectionError{err}
}

// Do sends a prepared request with the token, for protocols that are not part of the API.
func (c *Client) Do(r *http.Request) (*http.Response, error) {
	r.Header.Set("Authorization", "Bearer "+c.token.Reveal())
	return c.http.Do(r)
}

// request is one API request; body may be nil.
type request struct {
	method, path string
	query        url.Values
	body         []byte
	header       map[string]string
}

// openResponse sends a request and returns the response. Statuses of 400 and above are errors,
// except for those in accept.
func (c *Client) openResponse(ctx context.Context, r request, accept ...int) (*http.Response, error) {
	u := c.address + r.path
	if len(r.query) > 0 {
		u += "?" + r.query.Encode()
	}
	req, err := http.NewRequestWithContext(ctx, r.method, u, bytes.NewReader(r.body))
	if err != nil {
		return nil, fmt.Errorf("create the request %s %s: %w", r.method, r.path, err)
	}
	req.Header.Set("Authorization", "Bearer "+c.token.Reveal())
	req.Header.Set("X-Hob-Channel", "terminal")
	req.Header.Set(web.ClientHeader, c.id)
	for name, value := range r.header {
		req.Header.Set(name, value)
	}
	resp, err := c.http.Do(req)
	if err != nil {
		return nil, connectionError(ctx, err)
	}
	if resp.StatusCode < http.StatusBadRequest {
		return resp, nil
	}
	for _, status := range accept {
		if status == resp.StatusCode {
			return resp, nil
		}
	}
	defer resp.Body.Close()
	if ctx.Err() != nil { // errors of a canceled request are expected
		return nil, ctx.Err()
	}
	b, _ := io.ReadAll(io.LimitReader(resp.Body, 1<<20)) // an incomplete body is sufficient
	return nil, decodeError(resp, b)
}

// decodeError converts the body of an error response into an error.
func decodeError(resp *http.Response, body []byte) *ResponseError {
	e := &ResponseError{Status: resp.StatusCode, Message: strings.TrimSpace(string(body))}
	var x api.ErrorBody
	if json.Unmarshal(body, &x) == nil && x.Error.Message != "" {
		e.Code, e.Message, e.Remedy, e.Event = x.Error.Code, x.Error.Message, x.Error.Remedy, x.Event
	}
	if e.Message == "" {
		e.Message = "the daemon rejected the request: " + resp.Status
	}
	return e
}

// callJSON sends a request and decodes the response into out, unless out is nil or the response is
// empty.
func (c *Client) callJSON(ctx context.Context, r request, out any, accept ...int) error {
	resp, err := c.openResponse(ctx, r, accept...)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		return connectionError(ctx, err)
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if out == nil || len(bytes.TrimSpace(b)) == 0 {
		return nil
	}
	if err := json.Unmarshal(b, out); err != nil {
		if resp.StatusCode >= http.StatusBadRequest {
			return decodeError(resp, b)
		}
		return fmt.Errorf("decode the daemon's answer to %s: %w; its version may differ: hob stop, then hob start", r.path, err)
	}
	return nil
}

// getValue requests a value with GET.
func getValue[T any](ctx context.Context, c *Client, path string, query url.Values) (out T, err error) {
	err = c.callJSON(ctx, request{method: http.MethodGet, path: path, query: query}, &out)
	return out, err
}

// postValue sends in as JSON and returns the decoded response.
func postValue[T any](ctx context.Context, c *Client, path string, in any) (out T, err error) {
	r, err := jsonRequest(path, in)
	if err != nil {
		return out, err
	}
	err = c.callJSON(ctx, r, &out)
	return out, err
}

func jsonRequest(path string, in any) (request, error) {
	body, err := json.Marshal(in)
	if err != nil {
		return request{}, fmt.Errorf("encode the request to %s: %w", path, err)
	}
	return request{method: http.MethodPost, path: path, body: body, header: map[string]string{"Content-Type": "application/json"}}, nil
}

// copyBody copies a response to w.
func (c *Client) copyBody(ctx context.Context, w io.Writer, path string, query url.Values) error {
	resp, err := c.openResponse(ctx, request{method: http.MethodGet, path: path, query: query})
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	out := &targetWriter{w: w}
	_, err = io.Copy(out, resp.Body)
	if err != nil && out.err == nil {
		return connectionError(ctx, err)
	}
	return out.err
}

// targetWriter records the error of its writer, to distinguish it from connection errors.
type targetWriter struct {
	w   io.Writer
	err error
}

// Write implements io.Writer.
func (t *targetWriter) Write(b []byte) (int, error) {
	n, err := t.w.Write(b)
	if err != nil {
		t.err = err
	}
	return n, err
}

// values returns a query from pairs of names and values. It omits empty values.
func values(pairs ...string) url.Values {
	q := url.Values{}
	for i := 0; i+1 < len(pairs); i += 2 {
		if pairs[i+1] != "" {
			q.Set(pairs[i], pairs[i+1])
		}
	}
	return q
}

// listValues returns the query parameters of a list. of and state name the parameters for Query.Of
// and Query.State.
func listValues(q api.Query, of, state string) url.Values {
	return values("limit", countText(q.Limit), "before", q.Before, "q", q.Text, "all", flagText(q.All), of, q.Of, state, q.State)
}

// flagText returns "1" for true, and "" for false, which omits the parameter.
func flagText(on bool) string {
	if on {
		return "1"
	}
	return ""
}

// countText returns n as a string, or "" for 0.
func countText(n int) string {
	if n == 0 {
		return ""
	}
	return strconv.Itoa(n)
}

// timeText returns t as a string, or "" if it is zero.
func timeText(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.Format(time.RFC3339)
}

// inPath appends the escaped segments to the path base.
func inPath(base string, segments ...string) string {
	for _, s := range segments {
		base += "/" + url.PathEscape(s)
	}
	return base
}
