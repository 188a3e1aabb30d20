// Package slack talks on Slack: direct messages, mentions in channels, threads, the
// command /hob, files both ways, answers that grow while they are written, and buttons
// under questions. It uses Socket Mode (https://docs.slack.dev/apis/events-api/using-socket-mode),
// so that nothing of Hob has to be reachable from the internet.
//
// A chat is the id of a conversation ("D1", "C1"), and "C1/1699.001" is a thread in it.
// What is said in a channel is answered in a thread. A sender is "T1/U1": the workspace
// and the member, so that members of other workspaces (Slack Connect) are strangers
// with ids of their own.
//
// The Web API is some 20 calls of one form, and the socket is a WebSocket with JSON in
// it. Both are spoken here, over platform/safehttp: slack-go's Client makes connections
// by itself, hides why Slack ends one, opens new ones without a pause, and adds 0.6 MB to
// the program. The tests hold this package against slack-go's reading of the protocol.
//
// The channels manager calls it; who is heard, splitting and retries are the manager's.
package slack

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"hob/channels"
	"hob/platform/failpoint"
	"hob/platform/safehttp"
)

// Name is the channel's name, and that of its section.
const Name = "slack"

// Config is the section [channels.slack]; "enabled" and what else all channels have is
// the manager's.
type Config struct {
	// BotToken (xoxb-) speaks and reads, AppToken (xapp-) opens the socket. References
	// such as "keychain:x" are resolved.
	BotToken string `toml:"bot_token"`
	AppToken string `toml:"app_token"`
	// Allow lists further people as "T1/U1".
	Allow []string `toml:"allow"`
}

// Driver makes the channel from its configuration.
type Driver struct{}

// Name implements channels.Driver.
func (Driver) Name() string { return Name }

// New implements channels.Driver.
func (Driver) New(decode func(any) error, deps channels.Deps) (channels.Channel, error) {
	var c Config
	if err := decode(&c); err != nil {
		return nil, err
	}
	return newChannel(c, deps, place{})
}

// place says where Slack is. The zero value is the real one; tests have their own.
type place struct {
	api     string        // of the Web API, with a slash at its end
	domain  string        // of all its hosts: sockets, uploads, files
	plain   bool          // sockets need not be encrypted
	silence time.Duration // after which a socket without a ping is dead
	pause   time.Duration // before the second attempt to connect
}

func (p place) orReal() place {
	if p.api == "" {
		p.api, p.domain = failpoint.Address(Name, "https://slack.com/api/"), "slack.com"
	}
	if p.silence == 0 {
		// Slack pings every few seconds; its own clients give up after 30 s without
		// (serverPingTimeout in docs.slack.dev/tools/node-slack-sdk/reference/socket-mode).
		p.silence = 30 * time.Second
	}
	if p.pause == 0 {
		p.pause = time.Second
	}
	return p
}

// Channel is Slack. Its methods may be called concurrently.
type Channel struct {
	bot, app string // tokens
	allow    []string
	net      *safehttp.Client
	log      *slog.Logger
	keep     channels.Keeper
	buttons  channels.Buttons
	at       place
	asks     chan *asked // questions whose end is to be waited for
	seen     seen        // Run's alone

	writing sync.Mutex // held while asked is read from, or written to, what is kept
	loaded  bool

	mu       sync.Mutex
	me       identity
	state    string // for Describe
	names    map[string]string
	shared   map[string]bool   // deliveries whose files have gone out already
	asked    map[string]*asked // by question
	noStatus bool              // Slack shows no status for this app
	noDraft  time.Time         // until when Slack wants no drafts
}

// newChannel checks the configuration; it connects to nothing.
func newChannel(cfg Config, deps channels.Deps, at place) (*Channel, error) {
	c := &Channel{
		allow: cfg.Allow, net: deps.Network, log: deps.Log, keep: deps.Keep, buttons: deps.Buttons, at: at.orReal(), asks: make(chan *asked, 64),
		names: map[string]string{}, shared: map[string]bool{}, asked: map[string]*asked{}, state: "not connected yet",
	}
	if c.log == nil {
		c.log = slog.New(slog.DiscardHandler)
	}
	var err error
	if c.bot, err = token(deps, "bot_token", cfg.BotToken, "xoxb-"); err != nil {
		return nil, err
	}
	if c.app, err = token(deps, "app_token", cfg.AppToken, "xapp-"); err != nil {
		return nil, err
	}
	for _, id := range cfg.Allow {
		if team, user, ok := strings.Cut(id, "/"); !ok || !isID(team) || !isID(user) {
			return nil, fmt.Errorf("%q in allow is not a workspace and a member of it; write \"T0123456789/U0123456789\"", id)
		}
	}
	if c.net == nil {
		if c.net, err = safehttp.New(safehttp.Options{}); err != nil {
			return nil, err
		}
	}
	return c, nil
}

// token resolves one of the tokens. What stands in it is never told.
func token(deps channels.Deps, key, ref, prefix string) (string, error) {
	if ref == "" {
		return "", fmt.Errorf("no %s; get one with: hob channel add slack", key)
	}
	t := ref
	if deps.Secret != nil {
		var err error
		if t, err = deps.Secret(ref); err != nil {
			return "", fmt.Errorf("the %s: %w", key, err)
		}
	}
	t = strings.TrimSpace(t)
	if !strings.HasPrefix(t, prefix) || strings.ContainsFunc(t, func(r rune) bool { return r <= ' ' || r > '~' }) {
		return "", fmt.Errorf("the %s is none: Slack's begins with %s; get one with: hob channel add slack", key, prefix)
	}
	return t, nil
}

// isID reports whether s is an id of Slack's.
func isID(s string) bool {
	for _, r := range s {
		if (r < 'A' || r > 'Z') && (r < '0' || r > '9') {
			return false
		}
	}
	return s != "" && len(s) <= 32
}

// Allow implements channels.Allower.
func (c *Channel) Allow() []string { return c.allow }

// Connected implements channels.Connected.
func (*Channel) Connected() {}

// Attaches implements channels.Attacher.
func (*Channel) Attaches() {}

// maxFile bounds files in both directions: they are in memory while they move.
const maxFile = 32 << 20

// Limits implements channels.Limiter. Slack wants at most 4,000 characters in a text
// (docs.slack.dev/reference/methods/chat.postMessage, "Truncating content"), of which
// escapes need some, and one text a second and channel (docs.slack.dev/apis/web-api/rate-limits).
func (*Channel) Limits() channels.Limits {
	return channels.Limits{MaxText: 3500, PerMinute: 60, MaxFile: maxFile, Settle: 1500 * time.Millisecond}
}

// Describe implements channels.Describer.
func (c *Channel) Describe() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.state
}

func (c *Channel) describe(format string, args ...any) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.state = fmt.Sprintf(format, args...)
}

// identity is who Hob is on Slack.
type identity struct {
	Team   string `json:"team_id"`
	User   string `json:"user_id"`
	Name   string `json:"user"`
	Called string `json:"team"`
}

// self asks Slack who Hob is. The header of the answer says what the time is there, and
// what the token may do.
func (c *Channel) self(ctx context.Context) (identity, http.Header, error) {
	var me identity
	h, err := c.call(ctx, c.bot, "auth.test", nil, &me)
	if err != nil {
		return me, nil, err
	}
	if !isID(me.Team) || !isID(me.User) {
		return me, nil, errors.New("slack: auth.test does not say who the token belongs to")
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.me = me
	return me, h, nil
}

// Test implements channels.Tester. An address for a socket is asked for and not used.
func (c *Channel) Test(ctx context.Context) (string, error) {
	me, h, err := c.self(ctx)
	if err != nil {
		return "", err
	}
	if _, err := c.address(ctx); err != nil {
		return "", err
	}
	if missing := missing(h.Get("X-OAuth-Scopes")); len(missing) > 0 {
		return "", channels.Errorf(channels.Unauthorised, "slack: signed in as @%s on %s, but the app lacks the scopes %s; add them under OAuth & Permissions, install the app again, and put the new token: hob channel add slack",
			me.Name, me.Called, strings.Join(missing, ", "))
	}
	return fmt.Sprintf("signed in as @%s on %s; Socket Mode answers", me.Name, me.Called), nil
}

// missing lists what the bot token lacks. Slack names what a token may do in the header
// X-OAuth-Scopes (docs.slack.dev/authentication/installing-with-oauth).
func missing(granted string) (out []string) {
	if granted == "" {
		return nil // unknown
	}
	has := map[string]bool{}
	for s := range strings.SplitSeq(granted, ",") {
		has[strings.TrimSpace(s)] = true
	}
	return slices.DeleteFunc(scopes(), func(s string) bool { return has[s] })
}

// kept reads what was kept under a key.
func (c *Channel) kept(ctx context.Context, key string, to any) error {
	if c.keep == nil {
		return nil
	}
	raw, err := c.keep.Get(ctx, key)
	if err != nil {
		return fmt.Errorf("slack: what was kept: %w", err)
	}
	if raw == nil {
		return nil
	}
	if err := json.Unmarshal(raw, to); err != nil {
		return fmt.Errorf("slack: what was kept as %q cannot be read: %w", key, err)
	}
	return nil
}

// The keys under which something is kept.
const (
	keepSeen  = "seen"
	keepAsked = "asked"
)
