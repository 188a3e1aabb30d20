// Package webhook delivers what Hob says to one address of the owner's choice:
// a signed POST for each text. It hears nothing.
//
// The body is JSON {id, event, kind, session, text, created_at}. The header
// X-Hob-Signature is "sha256=" and the hex HMAC-SHA256 of the body under the
// configured secret; Idempotency-Key is the id, which stays the same when a
// delivery is repeated, so that the receiver can drop the second copy. The
// channels manager calls it; retries and durability are the manager's.
package webhook

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"crypto/tls"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strconv"
	"strings"
	"syscall"
	"time"

	"hob/channels"
)

// Config is the section [channels.webhook]; "enabled" is the manager's.
type Config struct {
	URL string `toml:"url"`
	// Secret signs each body; "env:X", "keychain:x" and "file:/x" are references.
	Secret string `toml:"secret"`
}

// Driver makes the webhook channel from its configuration.
type Driver struct{}

// Name implements channels.Driver.
func (Driver) Name() string { return "webhook" }

// New implements channels.Driver.
func (Driver) New(decode func(any) error, deps channels.Deps) (channels.Channel, error) {
	var c Config
	if err := decode(&c); err != nil {
		return nil, err
	}
	if c.Secret != "" && deps.Secret != nil {
		s, err := deps.Secret(c.Secret)
		if err != nil {
			return nil, fmt.Errorf("the secret: %w", err)
		}
		c.Secret = s
	}
	return New(c)
}

// Channel posts each delivery. It is a channels.Deduper: the receiver has the
// idempotency key.
type Channel struct {
	url    string
	secret []byte
	client *http.Client
}

// New checks the configuration; it connects to nothing.
func New(c Config) (*Channel, error) {
	u, err := url.Parse(c.URL)
	switch {
	case c.URL == "":
		return nil, errors.New(`no url; set url = "https://..." in [channels.webhook]`)
	case err != nil:
		return nil, fmt.Errorf("the url cannot be read: %w", err)
	case u.Host == "" || (u.Scheme != "https" && u.Scheme != "http"):
		return nil, fmt.Errorf("the url %q is not an http address; write https://host/path", u.Redacted())
	case u.Scheme == "http" && !loopback(u.Hostname()):
		return nil, fmt.Errorf("the url %q is not encrypted; use https:// (http:// is for this machine only)", u.Redacted())
	case c.Secret == "":
		return nil, errors.New(`no secret, so nobody could check who posts; set secret = "env:NAME" in [channels.webhook]`)
	}
	return &Channel{url: u.String(), secret: []byte(c.Secret), client: client(u.Scheme == "http")}, nil
}

// loopback reports whether a host of a URL is this machine.
func loopback(host string) bool {
	if strings.EqualFold(host, "localhost") {
		return true
	}
	a, err := netip.ParseAddr(host)
	return err == nil && a.Unmap().IsLoopback()
}

// client follows no redirects, so that nothing leaves for an address that the
// owner did not write. Without encryption it connects to loopback only, even
// if "localhost" resolves to something else.
func client(plain bool) *http.Client {
	d := &net.Dialer{Timeout: 10 * time.Second, KeepAlive: 30 * time.Second}
	t := &http.Transport{
		Proxy:                 http.ProxyFromEnvironment,
		TLSClientConfig:       &tls.Config{MinVersion: tls.VersionTLS12},
		TLSHandshakeTimeout:   10 * time.Second,
		ResponseHeaderTimeout: 20 * time.Second,
		IdleConnTimeout:       30 * time.Second,
		MaxIdleConnsPerHost:   1,
		ForceAttemptHTTP2:     true,
	}
	if plain {
		t.Proxy = nil
		d.Control = func(_, address string, _ syscall.RawConn) error {
			if a, err := netip.ParseAddrPort(address); err != nil || !a.Addr().Unmap().IsLoopback() {
				return channels.Errorf(channels.Permanent, "%s is not this machine; use https://", address)
			}
			return nil
		}
	}
	t.DialContext = d.DialContext
	return &http.Client{
		Transport:     t,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}

// Dedupes implements channels.Deduper.
func (*Channel) Dedupes() {}

// Run implements channels.Channel. There is nothing to hear.
func (c *Channel) Run(ctx context.Context, _ channels.Receiver) error {
	<-ctx.Done()
	c.client.CloseIdleConnections()
	return nil
}

type body struct {
	ID        string                `json:"id"`
	Event     string                `json:"event"`
	Kind      channels.DeliveryKind `json:"kind"`
	Session   string                `json:"session"`
	Text      string                `json:"text"`
	CreatedAt time.Time             `json:"created_at"`
	Previews  bool                  `json:"link_previews"` // for a receiver that hands the text on
}

// Send implements channels.Channel.
func (c *Channel) Send(ctx context.Context, d channels.Delivery) (channels.Receipt, error) {
	raw, err := json.Marshal(body{d.ID, d.Event, d.Kind, d.Session, d.Text, d.CreatedAt.UTC(), d.Previews})
	if err != nil {
		return channels.Receipt{}, channels.Errorf(channels.Permanent, "webhook: encode: %w", err)
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, c.url, bytes.NewReader(raw))
	if err != nil {
		return channels.Receipt{}, channels.Errorf(channels.Permanent, "webhook: %w", err)
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("User-Agent", "Hob")
	req.Header.Set("Idempotency-Key", d.ID)
	req.Header.Set("X-Hob-Signature", "sha256="+sign(c.secret, raw))
	resp, err := c.client.Do(req)
	if err != nil {
		return channels.Receipt{}, broken(err)
	}
	defer func() { _ = resp.Body.Close() }()
	said, _ := io.ReadAll(io.LimitReader(resp.Body, 4096)) // also lets the connection be used again
	return channels.Receipt{}, judge(resp, said, time.Now())
}

func sign(secret, body []byte) string {
	m := hmac.New(sha256.New, secret)
	m.Write(body)
	return hex.EncodeToString(m.Sum(nil))
}

// broken classifies a request that got no answer. Once it was connected, the
// receiver may have read the body.
func broken(err error) error {
	if u, ok := errors.AsType[*url.Error](err); ok {
		err = u.Err // without the address, which may hold a token
	}
	op, ok := errors.AsType[*net.OpError](err)
	e := channels.Errorf(channels.Temporary, "webhook: post: %w", err)
	e.MaybeSent = !ok || op.Op != "dial"
	if in, ok := errors.AsType[*channels.Error](err); ok {
		e.Class = in.Class
	}
	return e
}

// judge classifies an answer.
func judge(resp *http.Response, said []byte, now time.Time) error {
	code := resp.StatusCode
	err := fmt.Errorf("webhook: the receiver answered %d %s%s", code, http.StatusText(code), quote(said))
	after, named := retryAfter(resp.Header.Get("Retry-After"), now)
	class := channels.Permanent
	switch {
	case code >= 200 && code < 300:
		return nil
	case code >= 300 && code < 400:
		err = fmt.Errorf("%w; redirects are not followed, put the final address into url", err)
	case code == http.StatusTooManyRequests, code == http.StatusServiceUnavailable && named:
		return &channels.Error{Class: channels.Later, RetryAt: after, Err: err}
	case code == http.StatusUnauthorized, code == http.StatusForbidden:
		class = channels.Unauthorised
		err = fmt.Errorf("%w; check the secret on both sides", err)
	case code >= 500, code == http.StatusRequestTimeout, code == http.StatusTooEarly:
		class = channels.Temporary
	default:
		err = fmt.Errorf("%w; check url in [channels.webhook], and what the receiver takes", err)
	}
	return &channels.Error{Class: class, Err: err}
}

// retryAfter reads seconds or an HTTP date (RFC 9110, section 10.2.3).
func retryAfter(s string, now time.Time) (time.Time, bool) {
	if n, err := strconv.ParseUint(strings.TrimSpace(s), 10, 31); err == nil {
		return now.Add(time.Duration(n) * time.Second), true
	}
	if t, err := http.ParseTime(s); err == nil {
		return t, true
	}
	return time.Time{}, false
}

// quote shows the first line of what a receiver said.
func quote(said []byte) string {
	line, _, _ := strings.Cut(strings.TrimSpace(strings.ToValidUTF8(string(said), "")), "\n")
	if line == "" {
		return ""
	}
	if r := []rune(line); len(r) > 200 {
		line = string(r[:200]) + "..."
	}
	return ": " + line
}
