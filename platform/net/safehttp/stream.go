package safehttp

import (
	"errors"
	"io"
	"net/http"
	"time"
)

// Streams returns a transport for the http.Client of a library whose responses may be endless
// streams. It checks the address of each request like Fetch and does not reuse connections.
// maxLine limits the bytes between two line breaks of a body, and wait the time until a response
// starts. A caller must refuse redirects or accept that each is checked on its own.
func (c *Client) Streams(maxLine int, wait time.Duration) http.RoundTripper {
	return &streams{c, maxLine, wait}
}

type streams struct {
	c       *Client
	maxLine int
	wait    time.Duration
}

// RoundTrip implements http.RoundTripper.
func (s *streams) RoundTrip(req *http.Request) (*http.Response, error) {
	t, err := s.c.parseTarget(req.URL.String())
	if err != nil {
		return nil, errors.Join(err, closeRequest(req))
	}
	d := &dialer{c: s.c, t: t}
	resp, err := s.c.newTransport(d, s.wait).RoundTrip(req)
	if err != nil {
		return nil, d.classifyError(req.Context(), err)
	}
	resp.Body = &lineLimit{ReadCloser: resp.Body, host: t.url.Host, most: s.maxLine}
	return resp, nil
}

func closeRequest(req *http.Request) error {
	if req.Body == nil {
		return nil
	}
	return req.Body.Close()
}

// lineLimit fails when a line is too long, so that a server cannot fill the memory of a parser.
type lineLimit struct {
	io.ReadCloser
	host string
	most int
	line int
}

func (l *lineLimit) Read(b []byte) (int, error) {
	n, err := l.ReadCloser.Read(b)
	for _, c := range b[:n] {
		if l.line++; c == '\n' {
			l.line = 0
		}
	}
	if l.line > l.most {
		return 0, &Error{Kind: TooLarge, Host: l.host, Message: "the response contains a line that is too long"}
	}
	return n, err
}
