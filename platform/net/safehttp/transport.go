package safehttp

import (
	"cmp"
	"errors"
	"io"
	"math"
	"net/http"
	"strconv"
	"time"
)

// Transport is an http.RoundTripper for the clients of libraries that read responses while they
// arrive, such as server-sent events. It checks the address of each request like Fetch and does not
// reuse connections. The caller is responsible for the headers: it may send credentials. Redirects
// are returned as responses; use NewStreamingClient.
type Transport struct {
	Client *Client
	// MaxBody limits the bytes of each response, and MaxLine the bytes between two line breaks, so
	// that an endless stream cannot fill the memory of a parser. Reading more fails. If both are 0,
	// Options.MaxBody applies.
	MaxBody int64
	MaxLine int
	// Wait limits the time until a response starts (default 20 s).
	Wait time.Duration
}

// RoundTrip implements http.RoundTripper. Every error except the context's is an *Error. The context
// also limits the reading of the body.
func (t *Transport) RoundTrip(req *http.Request) (*http.Response, error) {
	to, err := t.Client.parseTarget(req.URL.String())
	if err != nil {
		return nil, errors.Join(err, closeRequest(req))
	}
	out := req.Clone(req.Context())
	out.URL, out.Host = to.url, ""    // exactly what was checked
	out.Header.Del("Accept-Encoding") // a compressed event would arrive late
	if out.Header.Get("User-Agent") == "" {
		out.Header.Set("User-Agent", userAgent)
	}
	d := &dialer{c: t.Client, t: to}
	resp, err := t.Client.newTransport(d, t.Wait).RoundTrip(out)
	if err != nil {
		return nil, d.classifyError(req.Context(), err)
	}
	body := &limitedBody{ReadCloser: resp.Body, host: to.url.Host, maxBody: t.MaxBody, maxLine: cmp.Or(t.MaxLine, math.MaxInt)}
	switch {
	case t.MaxBody == 0 && t.MaxLine == 0:
		body.maxBody = t.Client.opt.MaxBody
	case t.MaxBody == 0:
		body.maxBody = math.MaxInt64
	}
	resp.Request, resp.Body = req, body
	return resp, nil
}

// NewStreamingClient returns an http.Client that sends its requests through t, which ends in a
// Transport. It follows no redirects, because the requests may carry credentials.
func NewStreamingClient(t http.RoundTripper) *http.Client {
	return &http.Client{Transport: t, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
}

func closeRequest(req *http.Request) error {
	if req.Body == nil {
		return nil
	}
	return req.Body.Close()
}

// limitedBody is a body that fails when it, or one of its lines, is too long.
type limitedBody struct {
	io.ReadCloser
	host    string
	maxBody int64
	maxLine int
	read    int64
	line    int
}

func (l *limitedBody) Read(b []byte) (int, error) {
	n, err := l.ReadCloser.Read(b)
	if l.read += int64(n); l.read > l.maxBody {
		return 0, &Error{Kind: TooLarge, Host: l.host, Sent: true, Message: l.host + " sends more than " + strconv.FormatInt(l.maxBody, 10) + " bytes"}
	}
	for _, c := range b[:n] {
		if l.line++; l.line > l.maxLine {
			return 0, &Error{Kind: TooLarge, Host: l.host, Sent: true, Message: l.host + " sends a line of more than " + strconv.Itoa(l.maxLine) + " bytes"}
		}
		if c == '\n' {
			l.line = 0
		}
	}
	return n, err
}
