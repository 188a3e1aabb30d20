package discord

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	"hob/channels"
	"hob/platform/net/safehttp"
	"hob/platform/retry"
)

const (
	// agent has the format that the reference requires ("User Agent").
	agent     = "DiscordBot (Hob, 1)"
	maxAnswer = 16 << 20
	// shortWait is the maximum wait for a known rate limit within a request.
	shortWait = 2 * time.Second
	// lastOf is the key prefix for routes whose remaining calls are reserved for complete messages.
	// Drafts must not use those calls.
	lastOf = "last of "
)

// rateLimits holds the times until which Discord accepts no request ("Rate Limits"). The key is a
// route, or "" for all routes. A key with the prefix lastOf holds the time until which drafts must
// not use the route.
type rateLimits struct {
	mu    sync.Mutex
	until map[string]time.Time
}

// waitForRoute waits for the route's rate limit. It returns an error if the wait would be long or k
// must not use the reserved calls. The global limit does not apply to interactions ("Rate Limits":
// global rate limit).
func (l *rateLimits) waitForRoute(ctx context.Context, k apiCall) error {
	what, now := k.what, time.Now()
	l.mu.Lock()
	at := l.until[k.limitRoute()]
	if t := l.until[""]; t.After(at) && !k.public {
		at = t
	}
	if t := l.until[lastOf+k.limitRoute()]; t.After(at) && k.spare {
		at = t
	}
	l.mu.Unlock()
	wait := at.Sub(now)
	if wait <= 0 {
		return nil
	}
	if wait > shortWait || k.spare {
		return &channels.Error{Class: channels.Later, RetryAt: at, Err: fmt.Errorf("discord: %s: rate limit reached; Hob retries", what)}
	}
	if retry.Sleep(ctx, wait) != nil {
		return fmt.Errorf("discord: %s: %w", what, ctx.Err())
	}
	return nil
}

func (l *rateLimits) blockRouteUntil(route string, at time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for r, t := range l.until {
		if time.Since(t) > 0 {
			delete(l.until, r)
		}
	}
	l.until[route] = at
}

// apiCall is one HTTP API request.
type apiCall struct {
	what   string // description used in errors
	method string
	path   string
	mime   string
	body   []byte
	public bool // the path contains the credential ("Interactions": webhooks of a token)
	spare  bool // must not use the reserved calls
}

func (c *Channel) getJSON(ctx context.Context, what, path string, into any) error {
	return c.doRequest(ctx, apiCall{what: what, method: http.MethodGet, path: path}, into)
}

// getPatiently is like getJSON, but waits for rate limits.
func (c *Channel) getPatiently(ctx context.Context, what, path string, into any) error {
	for {
		err := c.getJSON(ctx, what, path, into)
		e, ok := errors.AsType[*channels.Error](err)
		if !ok || e.Class != channels.Later || e.RetryAt.IsZero() || retry.Sleep(ctx, time.Until(e.RetryAt)) != nil {
			return err
		}
	}
}

func (c *Channel) sendJSON(ctx context.Context, what, method, path string, body, into any) error {
	k := apiCall{what: what, method: method, path: path}
	if body != nil {
		raw, err := json.Marshal(body)
		if err != nil {
			return channels.Errorf(channels.Permanent, "discord: %s: %w", what, err)
		}
		k.mime, k.body = "application/json", raw
	}
	return c.doRequest(ctx, k, into)
}

// limitRoute returns the rate limit key: the method, and the path up to the channel or webhook
// ("Rate Limits": top-level resources).
func (k apiCall) limitRoute() string {
	parts := strings.Split(k.path, "/")
	switch {
	case len(parts) > 3 && parts[1] == "channels":
		kind, _, _ := strings.Cut(parts[3], "?")
		return k.method + " " + parts[2] + " " + kind
	case len(parts) > 2:
		return k.method + " " + parts[1] + " " + parts[2]
	}
	return k.method + " " + k.path
}

// doRequest sends a request and decodes the response into into, which may be nil.
func (c *Channel) doRequest(ctx context.Context, k apiCall, into any) error {
	if err := c.limits.waitForRoute(ctx, k); err != nil {
		return err
	}
	header := http.Header{"User-Agent": {agent}}
	if !k.public {
		header.Set("Authorization", "Bot "+c.token)
	}
	if k.mime != "" {
		header.Set("Content-Type", k.mime)
	}
	resp, err := c.network.Fetch(ctx, safehttp.Request{Method: k.method, URL: c.opt.API + k.path, Header: header, Body: k.body, MaxBody: maxAnswer, Timeout: channels.TransferTimeout(int64(len(k.body))), API: true})
	if err != nil {
		return channels.Unanswered("discord: "+k.what, err)
	}
	if left := resp.Header.Get("X-RateLimit-Remaining"); left == "0" || left == "1" {
		if s, ok := parseSeconds(resp.Header.Get("X-RateLimit-Reset-After")); ok {
			c.limits.blockRouteUntil(lastOf+k.limitRoute(), time.Now().Add(s))
			if left == "0" {
				c.limits.blockRouteUntil(k.limitRoute(), time.Now().Add(s))
			}
		}
	}
	if resp.Status < 200 || resp.Status > 299 {
		return c.classifyRefusal(k, resp)
	}
	if into == nil || len(resp.Body) == 0 {
		return nil
	}
	if err := json.Unmarshal(resp.Body, into); err != nil {
		e := channels.Errorf(channels.Temporary, "discord: %s: decode the response failed", k.what)
		e.MaybeSent = k.method != http.MethodGet
		return e
	}
	return nil
}

// failure is an error response from Discord's API ("Error Messages"). For a 429 it includes the
// time to wait.
type failure struct {
	status     int
	Message    string  `json:"message"`
	Code       int     `json:"code"`
	RetryAfter float64 `json:"retry_after"`
	Global     bool    `json:"global"`
}

func (f *failure) Error() string {
	s := fmt.Sprintf("Discord answered %d %s", f.status, http.StatusText(f.status))
	if f.Message != "" {
		s += ": " + f.Message
	}
	if f.Code != 0 {
		s += " (" + strconv.Itoa(f.Code) + ")"
	}
	return s
}

// isGone reports whether the target of the request no longer exists.
func isGone(err error) bool {
	f, ok := errors.AsType[*failure](err)
	return ok && f.status == http.StatusNotFound
}

// isInteractionOver reports whether an interaction can no longer be answered, because the
// interaction or its token is unknown ("JSON Error Codes": 10062, 10015, 50027).
func isInteractionOver(err error) bool {
	f, ok := errors.AsType[*failure](err)
	return ok && (f.status == http.StatusNotFound || f.status == http.StatusUnauthorized)
}

// isForbidden reports whether the error means that the bot has no access.
func isForbidden(err error) bool {
	f, ok := errors.AsType[*failure](err)
	return ok && f.status == http.StatusForbidden
}

func (c *Channel) classifyRefusal(k apiCall, resp *safehttp.Response) error {
	f := &failure{status: resp.Status}
	_ = json.Unmarshal(resp.Body, f) // without JSON there is no message
	f.Message = c.quoteSafely(f.Message)
	out := channels.Errorf(channels.Permanent, "discord: %s: %w", k.what, f)
	switch code := resp.Status; {
	case code == http.StatusTooManyRequests:
		out.Class = channels.Later
		wait, named := parseSeconds(resp.Header.Get("Retry-After"))
		if f.RetryAfter > 0 && f.RetryAfter < 1e6 {
			wait, named = max(wait, time.Duration(f.RetryAfter*float64(time.Second))), true
		}
		if named {
			out.RetryAt = time.Now().Add(wait)
			route := k.limitRoute()
			if !k.public && (f.Global || resp.Header.Get("X-RateLimit-Global") == "true") {
				route = ""
			}
			c.limits.blockRouteUntil(route, out.RetryAt)
		}
	case code == http.StatusUnauthorized && !k.public:
		out.Class = channels.Unauthorized
		out.Err = fmt.Errorf("discord: %s: Discord no longer accepts the token; %s", k.what, tokenRemedy)
	case code == http.StatusForbidden:
		out.Err = fmt.Errorf("%w; %s", out.Err, forbiddenRemedy(f.Code))
	case code >= 500 || code == http.StatusRequestTimeout:
		out.Class = channels.Temporary
		// "HTTP Response Codes": with a 502 no server processed the request.
		out.MaybeSent = k.method != http.MethodGet && code != http.StatusBadGateway && code != http.StatusServiceUnavailable
	}
	return out
}

// forbiddenRemedy returns the remedy for a 403 ("JSON Error Codes").
func forbiddenRemedy(code int) string {
	if code == 50007 {
		return "the person accepts no direct messages from this bot: share a server with it and allow direct messages there"
	}
	return "invite the bot to the server again and give it permission to view the channel, read its history, send messages, attach files and send messages in threads"
}

// quoteSafely sanitizes text from a server: it returns one line, without the token.
func (c *Channel) quoteSafely(s string) string {
	s = strings.ReplaceAll(strings.ToValidUTF8(s, ""), c.token, "[redacted]")
	line, _, _ := strings.Cut(strings.TrimSpace(s), "\n")
	line = strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f {
			return ' '
		}
		return r
	}, line)
	if r := []rune(line); len(r) > 200 {
		line = string(r[:200]) + "..."
	}
	return line
}

// parseSeconds parses a number of seconds such as "1.25".
func parseSeconds(s string) (time.Duration, bool) {
	f, err := strconv.ParseFloat(cmp.Or(strings.TrimSpace(s), "-"), 64)
	if err != nil || !(f >= 0 && f < 1e6) {
		return 0, false
	}
	return time.Duration(f * float64(time.Second)), true
}
