// Package caldav reads and writes calendars on a CalDAV server (RFC 4791). It discovers the user's
// calendars, detects changes and returns the occurrences in a time range, with rules expanded
// (package ics). A write replaces one object, and only if the object is still the version that was
// read.
//
// It does not use go-webdav, which fails for a whole calendar if one event is invalid, drops the
// host of an address and does not expose sync tokens. Requests are sent only to hosts of the
// configured domain, over TLS. The package follows redirects itself, because the password is sent
// with each request.
package caldav

import (
	"bytes"
	"context"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"

	"golang.org/x/net/publicsuffix"

	"hob/platform/pim"
)

// Limits of a response.
const (
	askWait      = 30 * time.Second
	maxBody      = 16 << 20
	maxRedirects = 5
)

// Client communicates with the server of one account.
type Client struct {
	account pim.Account
	base    *url.URL
	secret  string
	http    *http.Client
}

// Open checks the account and reads its password. It sends no request.
func Open(ctx context.Context, a pim.Account) (*Client, error) {
	return openClient(ctx, a, pim.CalDAV)
}

// OpenCards opens the account's address books, with the same checks as Open.
func OpenCards(ctx context.Context, a pim.Account) (*Client, error) {
	return openClient(ctx, a, pim.CardDAV)
}

func openClient(ctx context.Context, a pim.Account, what string) (*Client, error) {
	address := a.Server(what)
	if address == "" {
		return nil, a.Errorf("%w: %s is not set", pim.ErrNoServer, what)
	}
	u, err := pim.ParseURL(address)
	if err != nil {
		return nil, a.Errorf("%s: %w", what, err)
	}
	secret, err := a.Password(ctx)
	if err != nil {
		return nil, err
	}
	conf, err := a.TLS("") // the host is filled in for each connection
	if err != nil {
		return nil, err
	}
	c := &Client{account: a, base: u, secret: secret}
	c.http = &http.Client{
		Transport: &http.Transport{
			DialContext:     func(ctx context.Context, _, addr string) (net.Conn, error) { return a.Dial(ctx, addr) },
			TLSClientConfig: conf, TLSHandshakeTimeout: askWait, ResponseHeaderTimeout: askWait,
			MaxResponseHeaderBytes: 64 << 10, MaxIdleConns: 1, IdleConnTimeout: 30 * time.Second, ForceAttemptHTTP2: true,
		},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		Timeout:       askWait,
	}
	return c, nil
}

// Close closes idle connections.
func (c *Client) Close() { c.http.CloseIdleConnections() }

// statusError is an unexpected HTTP status.
type statusError struct {
	code int
	what string
}

func (e *statusError) Error() string {
	return fmt.Sprintf("%s: the server returned %d %s", e.what, e.code, http.StatusText(e.code))
}

// requestXML sends a request with an XML body. It returns the responses by address.
func (c *Client) requestXML(ctx context.Context, method string, at *url.URL, depth, body string) (*multistatus, *url.URL, error) {
	for range maxRedirects {
		next, ms, err := c.requestOnce(ctx, method, at, depth, body)
		if err != nil {
			return nil, nil, c.account.Errorf("calendars: %w", err)
		}
		if next == nil {
			return ms, at, nil
		}
		at = next
	}
	return nil, nil, c.account.Errorf("calendars: redirect loop")
}

func (c *Client) requestOnce(ctx context.Context, method string, at *url.URL, depth, body string) (next *url.URL, ms *multistatus, err error) {
	if err := c.checkSameDomain(at); err != nil {
		return nil, nil, err
	}
	req, err := http.NewRequestWithContext(ctx, method, at.String(), strings.NewReader(body))
	if err != nil {
		return nil, nil, err
	}
	req.Header.Set("Content-Type", "application/xml; charset=utf-8")
	req.Header.Set("Depth", depth)
	c.setBasicAuth(req)
	res, err := c.http.Do(req)
	if err != nil {
		if u, is := errors.AsType[*url.Error](err); is {
			err = u.Err // omit the address, which is in the configuration
		}
		return nil, nil, err
	}
	defer res.Body.Close()
	switch res.StatusCode {
	case http.StatusMultiStatus:
		ms, err := readMultistatus(res.Body)
		return nil, ms, err
	case http.StatusMovedPermanently, http.StatusFound, http.StatusSeeOther, http.StatusTemporaryRedirect, http.StatusPermanentRedirect:
		to, err := at.Parse(res.Header.Get("Location"))
		if err != nil || res.Header.Get("Location") == "" {
			return nil, nil, errors.New("the server redirects to an invalid address")
		}
		to.User = nil // some servers (radicale) repeat the name and password in the address
		return to, nil, nil
	case http.StatusUnauthorized, http.StatusForbidden:
		return nil, nil, fmt.Errorf("%w: %d %s", pim.ErrSignIn, res.StatusCode, http.StatusText(res.StatusCode))
	case http.StatusTooManyRequests, http.StatusServiceUnavailable:
		return nil, nil, &pim.BusyError{Until: retryAfter(res.Header.Get("Retry-After")), Err: &statusError{res.StatusCode, method}}
	}
	return nil, nil, &statusError{res.StatusCode, method}
}

func retryAfter(s string) time.Time {
	if d, err := time.ParseDuration(s + "s"); err == nil && d > 0 {
		return time.Now().Add(d)
	}
	if t, err := http.ParseTime(s); err == nil {
		return t
	}
	return time.Now().Add(5 * time.Minute)
}

// checkSameDomain rejects addresses to which the password must not be sent: addresses outside the
// configured domain, and unencrypted addresses.
func (c *Client) checkSameDomain(at *url.URL) error {
	if at.Scheme == c.base.Scheme && strings.EqualFold(at.Host, c.base.Host) {
		return nil
	}
	mine, err := publicsuffix.EffectiveTLDPlusOne(strings.ToLower(c.base.Hostname()))
	if err == nil && at.Scheme == "https" && net.ParseIP(c.base.Hostname()) == nil {
		if theirs, err := publicsuffix.EffectiveTLDPlusOne(strings.ToLower(at.Hostname())); err == nil && theirs == mine {
			return nil
		}
	}
	return fmt.Errorf("the server redirects to %s, which is not the configured host; if you trust it, set the account's caldav or carddav to that address", pim.SanitizeLine(at.Scheme+"://"+at.Host, 200))
}

func readMultistatus(r io.Reader) (*multistatus, error) {
	b, err := io.ReadAll(io.LimitReader(r, maxBody+1))
	if err != nil {
		return nil, err
	}
	if len(b) > maxBody {
		return nil, pim.ErrTooLarge
	}
	var ms multistatus
	if err := xml.NewDecoder(bytes.NewReader(b)).Decode(&ms); err != nil {
		return nil, fmt.Errorf("the response is not valid XML: %w", err)
	}
	return &ms, nil
}
