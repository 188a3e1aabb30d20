// Package slack implements the Slack channel: direct messages, mentions in channels, threads, the
// command /hob, files in both directions, answers shown while they are written, and buttons below
// questions. It uses Socket Mode (https://docs.slack.dev/apis/events-api/using-socket-mode), so
// that Hob does not have to be reachable from the internet.
//
// A chat is the id of a conversation ("D1", "C1"), and "C1/1699.001" is a thread in it. Messages in
// a channel are answered in a thread. A sender is "T1/U1": the workspace and the member. Members of
// other workspaces (Slack Connect) are therefore unknown senders with different ids.
//
// The Web API client makes some 20 calls of the same form, and the socket is a WebSocket with JSON
// frames. Both are implemented here on platform/net/safehttp, because the client of slack-go opens
// connections itself, hides why Slack closes one, reconnects without a pause, and adds 0.6 MB to
// the program. The tests compare this package with slack-go's protocol types.
//
// The channels manager handles allowed senders, splitting and retries.
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
	"hob/platform/net/safehttp"
)

// Name is the name of the channel and of its configuration section.
const Name = "slack"

// Config is the section [channels.slack]. The manager reads "enabled" and other common keys.
type Config struct {
	// BotToken (xoxb-) authenticates Web API calls, AppToken (xapp-) the socket. References such as
	// "keychain:x" are resolved.
	BotToken string `toml:"bot_token"`
	AppToken string `toml:"app_token"`
	// Allow lists other people who may write to Hob: "U1" or the email address for a member of this
	// workspace, "T1/U1" for a member of another one.
	Allow []string `toml:"allow"`
}

// Driver creates the channel from its configuration.
type Driver struct{}

// New implements channels.Driver.
func (Driver) New(decode func(any) error, deps channels.Deps) (channels.Channel, error) {
	return channels.Make(decode, deps, New)
}

// Options holds settings for tests with a fake Slack.
type Options struct {
	API     string        // address of the Web API, with a trailing slash
	Domain  string        // domain that contains all hosts
	Plain   bool          // whether unencrypted connections are allowed
	Silence time.Duration // time after which a socket without a ping is dead
	Pause   time.Duration // wait before the second attempt to connect
}

func (o Options) orReal() Options {
	if o.API == "" {
		o.API, o.Domain = failpoint.Address(Name, "https://slack.com/api/"), "slack.com"
	}
	if o.Silence == 0 {
		// Slack pings every few seconds. Its own clients stop waiting after 30 s (serverPingTimeout
		// in docs.slack.dev/tools/node-slack-sdk/reference/socket-mode).
		o.Silence = 30 * time.Second
	}
	if o.Pause == 0 {
		o.Pause = time.Second
	}
	return o
}

// Channel is the Slack channel. Its methods may be called concurrently.
type Channel struct {
	bot, app string // bot token and app token
	allow    []string
	mails    []string // email addresses in allow
	net      *safehttp.Client
	log      *slog.Logger
	keep     channels.StateStore
	buttons  channels.ButtonHandler
	at       Options
	asks     chan *postedQuestion // newly posted questions
	seen     readState            // only Run uses seen and behind
	behind   bool                 // whether missed messages are being fetched

	writing sync.Mutex // held while asked is loaded or stored
	loaded  bool

	mu       sync.Mutex
	me       identity
	admitted []string // the members whose email addresses are in allow
	state    string   // status returned by DescribeStatus
	trouble  error    // error returned by Link
	names    map[string]string
	shared   map[string]bool            // deliveries whose files were already sent
	asked    map[string]*postedQuestion // keyed by question
	noStatus bool                       // whether Slack rejected the typing status; if so, it is not sent again
	noDraft  time.Time                  // end of the rate limit for drafts
	drafts   []time.Time                // times of the drafts in the last minute
}

// New validates the configuration. It does not connect.
func New(cfg Config, deps channels.Deps, o Options) (*Channel, error) {
	c := &Channel{
		net: deps.Network, log: deps.Log, keep: deps.Keep, buttons: deps.Buttons, at: o.orReal(), asks: make(chan *postedQuestion, 64),
		names: map[string]string{}, shared: map[string]bool{}, asked: map[string]*postedQuestion{}, state: "not connected yet",
	}
	if c.log == nil {
		c.log = slog.New(slog.DiscardHandler)
	}
	var err error
	if c.bot, err = resolveToken(deps, "bot_token", cfg.BotToken, "xoxb-"); err != nil {
		return nil, err
	}
	if c.app, err = resolveToken(deps, "app_token", cfg.AppToken, "xapp-"); err != nil {
		return nil, err
	}
	for _, id := range cfg.Allow {
		if isMail(id) {
			c.mails = append(c.mails, channels.SenderID(id))
			continue
		}
		if team, user, other := strings.Cut(id, "/"); other && (!isID(team) || !isID(user)) || !other && !isUser(id) {
			return nil, fmt.Errorf("%q in allow is not a member id; copy the id from the menu of the person's profile (Copy member ID): \"U0123456789\", or \"T0123456789/U0123456789\" for a member of another workspace", id)
		}
		c.allow = append(c.allow, id)
	}
	if c.net == nil {
		if c.net, err = safehttp.New(safehttp.Options{}); err != nil {
			return nil, err
		}
	}
	return c, nil
}

// resolveToken resolves one of the tokens. Its errors never contain the token.
func resolveToken(deps channels.Deps, key, ref, prefix string) (string, error) {
	if ref == "" {
		return "", fmt.Errorf("%s is missing; get one with: hob channel add slack", key)
	}
	t, err := deps.Reveal(key, ref)
	if err != nil {
		return "", err
	}
	t = strings.TrimSpace(t)
	if !strings.HasPrefix(t, prefix) || strings.ContainsFunc(t, func(r rune) bool { return r <= ' ' || r > '~' }) {
		return "", fmt.Errorf("the %s is not valid: it must start with %s; get one with: hob channel add slack", key, prefix)
	}
	return t, nil
}

// isID reports whether s has the form of a Slack id.
func isID(s string) bool {
	for _, r := range s {
		if (r < 'A' || r > 'Z') && (r < '0' || r > '9') {
			return false
		}
	}
	return s != "" && len(s) <= 32
}

// isUser reports whether s is a user id.
func isUser(s string) bool { return isID(s) && (s[0] == 'U' || s[0] == 'W') }

// Allow implements channels.Allower. Ids without a workspace belong to Hob's own workspace, which
// is known after sign-in.
func (c *Channel) Allow() []string {
	c.mu.Lock()
	team, all := c.me.Team, slices.Concat(c.allow, c.admitted)
	c.mu.Unlock()
	out := make([]string, 0, len(all))
	for _, id := range all {
		switch {
		case strings.Contains(id, "/"):
			out = append(out, id)
		case team != "":
			out = append(out, team+"/"+id)
		}
	}
	return out
}

// Connected implements channels.Connected.
func (*Channel) Connected() {}

// Attaches implements channels.Attacher.
func (*Channel) Attaches() {}

// maxFile is the maximum file size in bytes in both directions. It is limited because files are
// held in memory.
const maxFile = 32 << 20

// Limits implements channels.Limiter. Slack accepts up to 4,000 characters in a message
// (docs.slack.dev/reference/methods/chat.postMessage, "Truncating content"), some of which are
// needed for escapes, and one message per second and channel
// (docs.slack.dev/apis/web-api/rate-limits).
func (*Channel) Limits() channels.Limits {
	return channels.Limits{MaxText: 3500, PerMinute: 60, MaxFile: maxFile, Debounce: 1500 * time.Millisecond}
}

// DescribeStatus implements channels.StatusDescriber.
func (c *Channel) DescribeStatus() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.state
}

// Link implements channels.ConnectionReporter.
func (c *Channel) Link() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.trouble
}

// noteStatus stores the connection status and its error.
func (c *Channel) noteStatus(trouble error, format string, args ...any) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.state, c.trouble = fmt.Sprintf(format, args...), trouble
}

// identity is Hob's own account on Slack.
type identity struct {
	Team   string `json:"team_id"`
	User   string `json:"user_id"`
	Name   string `json:"user"`
	Called string `json:"team"`
}

// fetchIdentity fetches Hob's identity. The response header contains the server time and the scopes
// of the token.
func (c *Channel) fetchIdentity(ctx context.Context) (identity, http.Header, error) {
	var me identity
	h, err := c.callAPI(ctx, c.bot, "auth.test", nil, &me)
	if err != nil {
		return me, nil, err
	}
	if !isID(me.Team) || !isID(me.User) {
		return me, nil, errors.New("slack: auth.test returned no user for the token")
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.me = me
	return me, h, nil
}

// Test implements channels.Tester. It requests a socket URL but does not connect to it.
func (c *Channel) Test(ctx context.Context) (string, error) {
	me, h, err := c.fetchIdentity(ctx)
	if err != nil {
		return "", err
	}
	if _, err := c.socketURL(ctx); err != nil {
		return "", err
	}
	if missing := c.missingScopes(h.Get("X-OAuth-Scopes")); len(missing) > 0 {
		return "", channels.Errorf(channels.Unauthorized, "slack: signed in as @%s on %s, but the app lacks the scopes %s; add them under OAuth & Permissions, install the app again, and set the new token: hob channel add slack",
			me.Name, me.Called, strings.Join(missing, ", "))
	}
	_, nobody, err := c.resolveMembers(ctx, me)
	if err != nil {
		return "", err
	}
	return fmt.Sprintf("signed in as @%s on %s; Socket Mode works%s", me.Name, me.Called, nobody), nil
}

// missingScopes returns the scopes that the bot token lacks. Slack returns the granted scopes in
// the header X-OAuth-Scopes (docs.slack.dev/authentication/installing-with-oauth).
func (c *Channel) missingScopes(granted string) (out []string) {
	if granted == "" {
		return nil // the granted scopes are unknown
	}
	has := map[string]bool{}
	for s := range strings.SplitSeq(granted, ",") {
		has[strings.TrimSpace(s)] = true
	}
	want := botScopes()
	if len(c.mails) > 0 {
		want = append(want, mailScope)
	}
	return slices.DeleteFunc(want, func(s string) bool { return has[s] })
}

// loadKept loads the value stored under a key.
func (c *Channel) loadKept(ctx context.Context, key string, to any) error {
	if c.keep == nil {
		return nil
	}
	raw, err := c.keep.Get(ctx, key)
	if err != nil {
		return fmt.Errorf("slack: load stored state: %w", err)
	}
	if raw == nil {
		return nil
	}
	if err := json.Unmarshal(raw, to); err != nil {
		return fmt.Errorf("slack: decode stored state %q: %w", key, err)
	}
	return nil
}

// Keys of the stored state.
const (
	keepSeen  = "seen"
	keepAsked = "asked"
)
