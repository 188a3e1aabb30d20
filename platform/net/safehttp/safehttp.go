// Package safehttp is the only HTTP client for addresses that come from a model, a web page, an
// email or other untrusted text. It connects only to public hosts. It resolves a name once, checks
// every returned address and connects to a checked address, so that DNS rebinding has no effect. It
// checks each redirect in the same way. It does not reuse connections, ignores proxy environment
// variables and sends no cookies, Referer or tokens.
//
// It enforces no other policy: the guard decides whether a request is allowed. It does not render
// pages and does not retry.
package safehttp

import (
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"io"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"time"
)

// Resolver resolves names; *net.Resolver implements it. The client's LookupTXT uses the LookupTXT
// method of the resolver if there is one.
type Resolver interface {
	LookupNetIP(ctx context.Context, network, host string) ([]netip.Addr, error)
}

// Options of New. The zero value reaches every public host directly.
type Options struct {
	// Allow lists addresses inside the user's network that the user configured:
	// "192.168.1.10:8080", "nas.local:443". See ParseAllow.
	Allow []string
	// Proxy is the user's HTTP proxy, such as "http://proxy:3128". It receives
	// the checked address, not the name.
	Proxy string
	// ProxyResolves lets the proxy resolve names that this machine cannot
	// resolve. Their addresses cannot be checked.
	ProxyResolves bool
	// Timeout limits one request including all redirects (default 30 s).
	Timeout time.Duration
	// MaxBody limits the compressed and the decompressed body in bytes (default
	// 10 MB).
	MaxBody int64
	// MaxRedirects limits the number of redirects (default 10).
	MaxRedirects int

	// The other fields replace the network in tests: resolver, dialer (called after the address
	// check), trusted certificates and this machine's addresses.
	Resolver   Resolver
	Dial       func(ctx context.Context, to netip.AddrPort) (net.Conn, error)
	RootCAs    *x509.CertPool
	Interfaces func() ([]net.Addr, error)
}

// Client sends requests. Its methods may be called concurrently.
type Client struct {
	opt   Options
	allow []allowedTarget
	proxy *url.URL
}

// New checks the options. It does not connect.
func New(opt Options) (*Client, error) {
	opt.Timeout = cmp.Or(opt.Timeout, 30*time.Second)
	opt.MaxBody = cmp.Or(opt.MaxBody, 10<<20)
	opt.MaxRedirects = cmp.Or(opt.MaxRedirects, 10)
	if opt.Resolver == nil {
		opt.Resolver = net.DefaultResolver
	}
	if opt.Interfaces == nil {
		opt.Interfaces = net.InterfaceAddrs
	}
	c := &Client{opt: opt}
	for _, s := range opt.Allow {
		a, err := parseAllow(s)
		if err != nil {
			return nil, err
		}
		c.allow = append(c.allow, a)
	}
	var err error
	c.proxy, err = ParseProxy(opt.Proxy)
	return c, err
}

// Request is the input of Fetch.
type Request struct {
	Method string // GET (default), HEAD or POST; with API also PUT, PATCH or DELETE
	URL    string
	Header http.Header // additional headers; they are not sent to other hosts after a redirect
	Body   []byte      // for all methods except GET and HEAD
	// If requests the body only if it has changed.
	If Validators
	// MaxBody replaces Options.MaxBody if it is not 0. If Partial is set and the body is longer or
	// ends too early, Fetch returns the beginning of the body instead of an error.
	MaxBody int64
	Partial bool
	// Timeout replaces Options.Timeout if it is not 0. It also limits the wait for the start of the
	// response, because a service may delay a long poll and a large file takes time.
	Timeout time.Duration
	// API is true if the request goes to a service to which Hob is signed in. The request may write
	// and may set its own User-Agent.
	API bool
}

// Response is an HTTP response. A status other than 2xx is not an error.
type Response struct {
	Status    int
	Header    http.Header
	URL       *url.URL // URL that answered, after all redirects
	Body      []byte   // decompressed
	Truncated bool     // see Request.Partial
}

// Fetch sends one request and reads the response. It follows redirects only for GET and HEAD. Every
// error except the context's is an *Error.
func (c *Client) Fetch(ctx context.Context, r Request) (*Response, error) {
	r.Method = cmp.Or(r.Method, http.MethodGet)
	r.MaxBody = cmp.Or(r.MaxBody, c.opt.MaxBody)
	if err := r.checkRequest(); err != nil {
		return nil, err
	}
	t, err := c.parseTarget(r.URL)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, cmp.Or(r.Timeout, c.opt.Timeout))
	defer cancel()
	header := r.initialHeader()
	for hops := 0; ; hops++ {
		d := &dialer{c: c, t: t}
		resp, err := d.roundTrip(ctx, &r, header)
		if err != nil {
			return nil, err
		}
		next, err := c.redirectTarget(t, &r, resp)
		if err == nil && next == nil {
			return c.readResponse(ctx, d, resp, &r)
		}
		closeBody(resp)
		if err != nil {
			return nil, err
		}
		if hops == c.opt.MaxRedirects {
			return nil, tooMany(t, hops)
		}
		if next.originURL() != t.originURL() {
			header = crossOriginHeader(header)
		}
		t = next
	}
}

// roundTrip opens a connection for this request only.
func (d *dialer) roundTrip(ctx context.Context, r *Request, header http.Header) (*http.Response, error) {
	var body io.Reader = http.NoBody
	if r.hasBody() {
		body = newBody(r.Body)
	}
	req, err := http.NewRequestWithContext(ctx, r.Method, d.t.url.String(), body)
	if err != nil {
		return nil, newRefusal(BadURL, d.t.url.Host, err.Error(), "")
	}
	req.Header = header.Clone()
	if r.hasBody() {
		req.ContentLength = int64(len(r.Body))
	}
	resp, err := d.c.newTransport(d, r.Timeout).RoundTrip(req)
	if err != nil {
		return nil, d.classifyError(ctx, err)
	}
	return resp, nil
}

// newTransport returns a transport for one request, so that address checks are not reused. wait is
// Request.Timeout.
func (c *Client) newTransport(d *dialer, wait time.Duration) *http.Transport {
	return &http.Transport{
		Proxy:                  nil, // never from the environment
		DialContext:            d.dialContext,
		TLSClientConfig:        &tls.Config{MinVersion: tls.VersionTLS12, RootCAs: c.opt.RootCAs},
		TLSHandshakeTimeout:    10 * time.Second,
		ResponseHeaderTimeout:  cmp.Or(wait, 20*time.Second),
		MaxResponseHeaderBytes: 64 << 10,
		DisableKeepAlives:      true,
		// a request that is canceled while it connects leaves an idle HTTP/2 connection, which must
		// be closed here
		IdleConnTimeout:    200 * time.Millisecond,
		DisableCompression: true, // readResponse decompresses the body, with a limit
		ForceAttemptHTTP2:  true,
	}
}

func closeBody(resp *http.Response) { _ = resp.Body.Close() }
