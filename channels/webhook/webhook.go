// Package webhook connects Hob to the owner's programs over HTTP. Each message is sent as a signed
// POST to a configured URL. Posts to /hooks/webhook with the same secret are received as messages
// (incoming.go). Each direction can be used alone.
//
// The outgoing body is JSON {id, event, kind, session, chat, text, created_at}. The header
// X-Hob-Signature covers X-Hob-Timestamp, Idempotency-Key and the body with the configured secret
// (platform/net/hooksig); Idempotency-Key is the id, which stays the same when a delivery is
// repeated, so that the receiver can drop duplicates. The channels manager handles retries and
// durability.
package webhook

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"hob/channels"
	"hob/platform/net/hooksig"
	"hob/platform/net/safehttp"
)

// Name is the name of the channel and of its configuration section.
const Name = "webhook"

// Config is the section [channels.webhook]. The manager reads the key "enabled".
type Config struct {
	// URL receives the messages. If it is empty, only waiting posts receive answers.
	URL string `toml:"url"`
	// Secret signs the bodies in both directions. It may be a reference: "env:X", "keychain:x" or
	// "file:/x".
	Secret string `toml:"secret"`
	// Signature is obsolete: each post is signed with its time and key.
	Signature string `toml:"signature"`
	// Allow lists the senders, besides the owner, whose messages a program may post.
	Allow []string `toml:"allow"`
}

// Driver creates the webhook channel from its configuration.
type Driver struct{}

// New implements channels.Driver.
func (Driver) New(decode func(any) error, deps channels.Deps) (channels.Channel, error) {
	var c Config
	if err := decode(&c); err != nil {
		return nil, err
	}
	var err error
	if c.Secret, err = deps.Reveal("secret", c.Secret); err != nil {
		return nil, err
	}
	return New(c, deps.Network)
}

// Channel posts each delivery and receives posts. It is a channels.Deduper, because the receiver
// gets an idempotency key.
type Channel struct {
	url    string // "" if deliveries are not posted
	basic  string // the credentials from the URL, as a header value
	secret []byte
	client *safehttp.Client
	allow  []string
	in     postQueue
}

// New validates the configuration. It does not connect. With a nil network, the channel reaches
// only public hosts and the host that the owner configured in the URL.
func New(c Config, network *safehttp.Client) (*Channel, error) {
	if c.Secret == "" {
		return nil, errors.New(`secret is missing: requests cannot be authenticated; set secret = "env:NAME" in [channels.webhook]`)
	}
	ch := &Channel{secret: []byte(c.Secret), allow: c.Allow}
	ch.in.init()
	if c.URL == "" {
		return ch, nil
	}
	return ch, ch.connectAddress(c.URL, network)
}

// connectAddress prepares the HTTP client for the URL.
func (c *Channel) connectAddress(address string, network *safehttp.Client) error {
	u, err := url.Parse(address)
	switch {
	case err != nil:
		return fmt.Errorf("parse url: %w", err)
	case u.Host == "" || (u.Scheme != "https" && u.Scheme != "http"):
		return fmt.Errorf("the url %q is not an http address; write https://host/path", u.Redacted())
	}
	if network == nil {
		if network, err = safehttp.New(safehttp.Options{}); err != nil {
			return err
		}
	}
	if u.User != nil {
		pass, _ := u.User.Password()
		c.basic = "Basic " + base64.StdEncoding.EncodeToString([]byte(u.User.Username()+":"+pass))
		u.User = nil
	}
	c.url = u.String()
	_, listed := network.Check(c.url)
	if u.Scheme == "http" && !safehttp.Loopback(u) && (!safehttp.Inside(u) || listed != nil) {
		return fmt.Errorf("the url %q is not encrypted; use https:// (http:// works only for this machine and for hosts in your network that [network] allow lists)", u.Redacted())
	}
	if c.client, err = network.Named(c.url); err != nil {
		return fmt.Errorf("the url %q: %w", u.Redacted(), err)
	}
	return nil
}

// Dedupes implements channels.Deduper.
func (*Channel) Dedupes() {}

// parallelPosts is the number of posts in progress. A receiver that needs 1 s for each message would otherwise
// hold up the answers in all other chats.
const parallelPosts = 8

// Limits implements channels.Limiter.
func (*Channel) Limits() channels.Limits { return channels.Limits{Parallel: parallelPosts} }

// Allow implements channels.Allower.
func (c *Channel) Allow() []string { return c.allow }

// Run implements channels.Channel. Posts are accepted while it runs.
func (c *Channel) Run(ctx context.Context, r channels.Receiver) error {
	c.in.setReceiver(r)
	defer c.in.setReceiver(nil)
	<-ctx.Done()
	return nil
}

type deliveryBody struct {
	ID        string                `json:"id"`
	Event     string                `json:"event"`
	Kind      channels.DeliveryKind `json:"kind"`
	Session   string                `json:"session"`
	Chat      string                `json:"chat,omitempty"`
	Text      string                `json:"text"`
	CreatedAt time.Time             `json:"created_at"`
	Previews  bool                  `json:"link_previews"` // whether a receiver that forwards the text may show link previews
}

// Send implements channels.Channel. A message that a post is waiting for is sent only in the
// response to that post.
func (c *Channel) Send(ctx context.Context, d channels.Delivery) (channels.Receipt, error) {
	switch taken, err := c.in.offerAnswer(ctx, d, c.url == ""); {
	case err != nil:
		return channels.Receipt{}, channels.Errorf(channels.Temporary, "webhook: pass the answer to a waiting request: %w", err)
	case taken:
		return channels.Receipt{}, nil
	case c.url == "":
		return channels.Receipt{}, channels.Errorf(channels.Unsupported, "webhook: no address to post to; set url in [channels.webhook]")
	}
	raw, err := json.Marshal(deliveryBody{d.ID, d.Event, d.Kind, d.Session, d.Chat, d.Text, d.CreatedAt.UTC(), d.Previews})
	if err != nil {
		return channels.Receipt{}, channels.Errorf(channels.Permanent, "webhook: encode message: %w", err)
	}
	header := http.Header{"Content-Type": {"application/json"}}
	hooksig.Sign(header, c.secret, d.ID, raw, time.Now())
	if c.basic != "" {
		header.Set("Authorization", c.basic)
	}
	resp, err := c.client.Fetch(ctx, safehttp.Request{Method: http.MethodPost, URL: c.url, Header: header, Body: raw, MaxBody: 4096, Partial: true})
	if err != nil {
		return channels.Receipt{}, channels.Unanswered("webhook: post", err)
	}
	return channels.Receipt{}, classifyResponse(resp, time.Now())
}

// classifyResponse returns nil for a success and otherwise an error with its class.
func classifyResponse(resp *safehttp.Response, now time.Time) error {
	code := resp.Status
	err := fmt.Errorf("webhook: the receiver answered %d %s%s", code, http.StatusText(code), quoteFirstLine(resp.Body))
	after, named := retryAfter(resp.Header.Get("Retry-After"), now)
	class := channels.Permanent
	switch {
	case code >= 200 && code < 300:
		return nil
	case code >= 300 && code < 400:
		err = fmt.Errorf("%w; redirects are not followed: set url to the final address", err)
	case code == http.StatusTooManyRequests, code == http.StatusServiceUnavailable && named:
		return &channels.Error{Class: channels.Later, RetryAt: after, Err: err}
	case code == http.StatusUnauthorized, code == http.StatusForbidden:
		class = channels.Unauthorized
		err = fmt.Errorf("%w; check the secret on both sides", err)
	case code >= 500, code == http.StatusRequestTimeout, code == http.StatusTooEarly:
		class = channels.Temporary
	default:
		err = fmt.Errorf("%w; check url in [channels.webhook] and the format that the receiver accepts", err)
	}
	return &channels.Error{Class: class, Err: err}
}

// retryAfter parses a number of seconds or an HTTP date (RFC 9110, section 10.2.3).
func retryAfter(s string, now time.Time) (time.Time, bool) {
	if n, err := strconv.ParseUint(strings.TrimSpace(s), 10, 31); err == nil {
		return now.Add(time.Duration(n) * time.Second), true
	}
	if t, err := http.ParseTime(s); err == nil {
		return t, true
	}
	return time.Time{}, false
}

// quoteFirstLine returns the first line of a receiver's response.
func quoteFirstLine(said []byte) string {
	line, _, _ := strings.Cut(strings.TrimSpace(strings.ToValidUTF8(string(said), "")), "\n")
	if line == "" {
		return ""
	}
	if r := []rune(line); len(r) > 200 {
		line = string(r[:200]) + "..."
	}
	return ": " + line
}
