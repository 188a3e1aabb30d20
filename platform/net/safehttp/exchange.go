package safehttp

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"io"
	"net/http"
	"net/textproto"
	"net/url"
	"slices"
	"strconv"
	"strings"
)

// userAgent is the same for all users and reveals nothing about the user or the machine.
const userAgent = "Mozilla/5.0 (compatible; Hob)"

// Validators are the HTTP validators of a response, for a conditional request
// later (RFC 9110, section 13).
type Validators struct {
	ETag         string
	LastModified string
}

// Validators returns the validators of the received body, for use in Request.If.
func (r *Response) Validators() Validators {
	return Validators{r.Header.Get("ETag"), r.Header.Get("Last-Modified")}
}

// NotModified reports whether the body to which Request.If belongs is still current.
func (r *Response) NotModified() bool { return r.Status == http.StatusNotModified }

// checkRequest rejects requests that are never sent.
func (r *Request) checkRequest() error {
	switch r.Method {
	case http.MethodGet, http.MethodHead, http.MethodPost:
	case http.MethodPut, http.MethodPatch, http.MethodDelete:
		if r.API {
			break
		}
		fallthrough
	default:
		return newRefusal(Refused, "", "the method "+strconv.Quote(r.Method)+" is not allowed", "use GET, HEAD or POST")
	}
	if len(r.Body) > 0 && !r.hasBody() {
		return newRefusal(Refused, "", "a "+r.Method+" request must not have a body", "")
	}
	for name, values := range r.Header {
		key := textproto.CanonicalMIMEHeaderKey(name)
		if slices.Contains(ownHeaders(), key) && !(r.API && key == "User-Agent") || strings.HasPrefix(strings.ToLower(name), "proxy-") {
			return newRefusal(Refused, "", "header "+name+" cannot be set", "")
		}
		for _, v := range values {
			if strings.ContainsAny(name+v, "\r\n\x00") {
				return newRefusal(Refused, "", "a header contains a line break", "")
			}
		}
	}
	return nil
}

// hasBody reports whether the request has a body.
func (r *Request) hasBody() bool { return r.Method != http.MethodGet && r.Method != http.MethodHead }

// ownHeaders lists the headers that callers must not set, because they control the connection or
// reveal the user.
func ownHeaders() []string {
	return []string{
		"Accept-Encoding", "Connection", "Content-Length", "Cookie", "Expect", "Host", "Keep-Alive", "Referer", "Te", "Trailer",
		"Transfer-Encoding", "Upgrade", "User-Agent", "X-Forwarded-For", "X-Forwarded-Host", "Forwarded", "Via", "Origin",
	}
}

// initialHeader returns the headers of the first request.
func (r *Request) initialHeader() http.Header {
	h := http.Header{}
	for name, values := range r.Header {
		h[textproto.CanonicalMIMEHeaderKey(name)] = slices.Clone(values)
	}
	if h.Get("Accept") == "" {
		h.Set("Accept", "*/*")
	}
	if h.Get("User-Agent") == "" {
		h.Set("User-Agent", userAgent)
	}
	h.Set("Accept-Encoding", "gzip")
	if r.If.ETag != "" {
		h.Set("If-None-Match", r.If.ETag)
	}
	if r.If.LastModified != "" {
		h.Set("If-Modified-Since", r.If.LastModified)
	}
	return h
}

// crossOriginHeader returns the headers that may be sent to another host.
func crossOriginHeader(h http.Header) http.Header {
	out := http.Header{}
	for _, name := range []string{"Accept", "Accept-Language", "Accept-Encoding", "User-Agent"} {
		if v, ok := h[name]; ok {
			out[name] = v
		}
	}
	return out
}

// redirectTarget returns the target of a redirect, or nil if the response is not a redirect.
func (c *Client) redirectTarget(from *target, r *Request, resp *http.Response) (*target, error) {
	switch resp.StatusCode {
	case http.StatusMovedPermanently, http.StatusFound, http.StatusSeeOther, http.StatusTemporaryRedirect, http.StatusPermanentRedirect:
	default:
		return nil, nil //nolint:nilnil // most responses are not redirects
	}
	where := resp.Header.Get("Location")
	if r.hasBody() || where == "" {
		return nil, nil //nolint:nilnil // the caller sees the status; a request body is never sent to another host
	}
	if strings.Contains(where, `\`) || strings.ContainsFunc(where, func(c rune) bool { return c < ' ' || c == 0x7f }) {
		return nil, newRefusal(Redirect, from.url.Host, from.url.Host+" redirects to an ambiguous address", "")
	}
	ref, err := url.Parse(where)
	if err != nil {
		return nil, newRefusal(Redirect, from.url.Host, from.url.Host+" redirects to an invalid address", "")
	}
	next, err := c.parseTarget(from.url.ResolveReference(ref).String())
	if err != nil {
		if e, ok := errors.AsType[*Error](err); ok {
			e.Message += " (" + from.url.Host + " redirects there)"
		}
		return nil, err
	}
	if from.url.Scheme == "https" && next.url.Scheme == "http" {
		return nil, newRefusal(Refused, next.url.Host, from.url.Host+" redirects from https to http, which is not encrypted", "")
	}
	return next, nil
}

func tooMany(t *target, n int) *Error {
	return &Error{Kind: Redirect, Host: t.url.Host, Sent: true, Message: "gave up after " + strconv.Itoa(n) + " redirects; the last one came from " + t.url.Host}
}

// newBody wraps the body so that the transport cannot send it twice.
func newBody(b []byte) io.Reader { return io.NopCloser(bytes.NewReader(b)) }

// readResponse reads the body, with limits on its compressed and decompressed size.
func (c *Client) readResponse(ctx context.Context, d *dialer, resp *http.Response, r *Request) (*Response, error) {
	defer closeBody(resp)
	out := &Response{Status: resp.StatusCode, Header: resp.Header, URL: d.t.url}
	if r.Method == http.MethodHead {
		return out, nil
	}
	wire := &boundedReader{from: resp.Body, left: r.MaxBody}
	var body io.Reader = wire
	switch enc := strings.ToLower(strings.TrimSpace(resp.Header.Get("Content-Encoding"))); enc {
	case "", "identity":
	case "gzip", "x-gzip":
		body = &boundedReader{from: &lateGzip{from: wire}, left: r.MaxBody}
	default:
		return nil, &Error{Kind: Encoding, Host: d.t.url.Host, Sent: true, Message: d.t.url.Host + " sent a response with Content-Encoding " + strconv.Quote(enc) + ", which the request did not accept"}
	}
	b, err := io.ReadAll(body)
	switch {
	case err != nil && r.Partial && !errors.Is(ctx.Err(), context.Canceled):
		out.Truncated = true // the limit, the deadline or the connection ended the body
	case errors.Is(err, errBound):
		return nil, &Error{Kind: TooLarge, Host: d.t.url.Host, Sent: true, Message: d.t.url.Host + " sends more than " + strconv.FormatInt(r.MaxBody, 10) + " bytes"}
	case err != nil:
		return nil, d.classifyError(ctx, err)
	}
	out.Body = b
	return out, nil
}

var errBound = errors.New("the body exceeds the limit")

// boundedReader is a reader that fails when its limit is exceeded.
type boundedReader struct {
	from io.Reader
	left int64
}

func (l *boundedReader) Read(b []byte) (int, error) {
	if l.left < 0 {
		return 0, errBound
	}
	if int64(len(b)) > l.left+1 {
		b = b[:l.left+1]
	}
	n, err := l.from.Read(b)
	if l.left -= int64(n); l.left < 0 {
		return n - 1, errBound
	}
	return n, err
}

// lateGzip opens the gzip stream at the first read, because an empty body is not a gzip stream.
type lateGzip struct {
	from io.Reader
	z    *gzip.Reader
}

func (g *lateGzip) Read(b []byte) (int, error) {
	if g.z == nil {
		z, err := gzip.NewReader(g.from)
		if err != nil {
			return 0, err // io.EOF for an empty body
		}
		g.z = z
	}
	return g.z.Read(b)
}
