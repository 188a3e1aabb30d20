package safehttp

import (
	"cmp"
	"io"
	"net/http"
	"strconv"
)

// Transport is an http.RoundTripper for clients of a protocol that reads its responses while they
// arrive, such as server-sent events. It makes the same checks as Fetch for each request. It follows
// no redirects, because the requests may carry credentials.
type Transport struct {
	Client *Client
	// MaxBody limits the body of each response in bytes (default Options.MaxBody). Reading more
	// fails.
	MaxBody int64
}

// RoundTrip implements http.RoundTripper. Every error except the context's is an *Error. The context
// also limits the reading of the body.
func (t *Transport) RoundTrip(req *http.Request) (*http.Response, error) {
	c := t.Client
	r := Request{Method: cmp.Or(req.Method, http.MethodGet), URL: req.URL.String(), Header: req.Header, API: true}
	if req.Body != nil {
		defer req.Body.Close()
		b, err := io.ReadAll(&boundedReader{from: req.Body, left: c.opt.MaxBody})
		if err != nil {
			return nil, newRefusal(Refused, req.URL.Host, "the body of the request cannot be read: "+err.Error(), "")
		}
		r.Body = b
	}
	if err := r.checkRequest(); err != nil {
		return nil, err
	}
	to, err := c.parseTarget(r.URL)
	if err != nil {
		return nil, err
	}
	header := r.initialHeader()
	header.Del("Accept-Encoding") // a compressed event would arrive late
	d := &dialer{c: c, t: to}
	resp, err := d.roundTrip(req.Context(), &r, header)
	if err != nil {
		return nil, err
	}
	if resp.StatusCode >= 300 && resp.StatusCode < 400 && resp.StatusCode != http.StatusNotModified {
		closeBody(resp)
		return nil, &Error{
			Kind: Redirect, Host: to.url.Host, Sent: true, Message: to.url.Host + " redirects to another address (status " + strconv.Itoa(resp.StatusCode) + "), which is not followed",
			Remedy: "configure the address to which it redirects, if you trust it",
		}
	}
	resp.Request = req
	resp.Body = boundedBody{&boundedReader{from: resp.Body, left: cmp.Or(t.MaxBody, c.opt.MaxBody)}, resp.Body}
	return resp, nil
}

// NewStreamingClient returns an http.Client that sends its requests through t, which ends in a
// Transport. It follows no redirects.
func NewStreamingClient(t http.RoundTripper) *http.Client {
	return &http.Client{Transport: t, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
}

// boundedBody is the body of a response with a limit.
type boundedBody struct {
	io.Reader
	io.Closer
}
