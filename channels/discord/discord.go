// Package discord implements the Discord channel: direct messages, servers in which Hob is
// mentioned, threads, slash commands, and buttons below questions.
//
// It uses the Gateway (version 10, JSON) and the HTTP API as documented at
// https://discord.com/developers/docs, without voice. The channels manager handles allowed senders,
// splitting, retries and limits. This package handles what is specific to Discord: resumed
// sessions, messages missed without a session, the nonce that identifies a sent message, and
// responses to interactions within 3 s.
package discord

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"time"

	"hob/channels"
	"hob/platform/failpoint"
	"hob/platform/net/safehttp"
)

// Name is the name of the channel and of its configuration section.
const Name = "discord"

// portal is the URL of the site where the owner configures the bot.
const portal = "https://discord.com/developers/applications"

// Limits of messages ("Create Message": content, files) and of uploads without a boost ("Uploading
// Files"). Discord does not define what a character is, so Hob counts UTF-16 units, which is safe.
const (
	maxText  = 2000
	maxFile  = 10 << 20
	maxFiles = 10
)

// Config is the section [channels.discord]. The manager reads "enabled" and other common keys.
type Config struct {
	// Token is the bot's token, or a reference to it: "env:X", "keychain:x" or "file:/x".
	Token string `toml:"token"`
	// Allow lists the user ids of other people who may write to Hob.
	Allow []string `toml:"allow"`
}

// Options holds settings for tests with a fake Discord.
type Options struct {
	API     string   // base address of the HTTP API
	Gateway []string // allowed domains of the gateway
	Files   []string // hosts that serve attachments
	// Pause returns how long to wait before the next sign-in. Its argument is the wait that Discord
	// requested.
	Pause func(time.Duration) time.Duration
}

// Driver creates the channel from its configuration.
type Driver struct{}

// New implements channels.Driver.
func (Driver) New(decode func(any) error, deps channels.Deps) (channels.Channel, error) {
	return channels.Make(decode, deps, New)
}

// Channel is the Discord channel.
type Channel struct {
	token   string
	allow   []string
	opt     Options
	network *safehttp.Client
	buttons channels.ButtonHandler
	log     *slog.Logger
	limits  rateLimits
	seen    readState
	asked   *channels.QuestionTracker

	running chan struct{} // ensures that one Run is active at a time
	// caught holds the servers whose missed messages were fetched; the key "" means direct
	// messages. Only the goroutine that handles the events of a connection uses it.
	caught map[string]bool

	mu       sync.Mutex
	me       user              // set after the first sign-in
	session  session           // session to resume
	guilds   map[string]*guild // keyed by id
	since    time.Time         // when the connection became ready; zero if not connected
	identify time.Time         // time of the last sign-in
	answered map[string]bool   // interactions that have a first response
	order    []string          // keys of answered, oldest first
}

// New validates the configuration. It does not connect.
func New(c Config, deps channels.Deps, o Options) (*Channel, error) {
	token, err := deps.Reveal("token", c.Token)
	if err != nil {
		return nil, err
	}
	token = strings.TrimSpace(strings.TrimPrefix(strings.TrimSpace(token), "Bot "))
	switch {
	case token == "":
		return nil, errors.New(`token is missing; create a bot at ` + portal + ` and set its token: hob channel add discord`)
	case strings.ContainsFunc(token, func(r rune) bool { return r <= ' ' || r > '~' }):
		return nil, errors.New("the token contains invalid characters; copy it again from " + portal + " (Bot, Reset Token): hob channel add discord")
	}
	for _, id := range c.Allow {
		if !isSnowflake(id) {
			return nil, fmt.Errorf(`allow: %q is not a user id; switch on Developer Mode in Discord (Settings, Advanced) and copy the id from the person's menu`, id)
		}
	}
	o.API = cmp.Or(o.API, failpoint.Address(Name, "https://discord.com/api/v10"))
	if o.Gateway == nil {
		o.Gateway = []string{"discord.gg"}
	}
	if o.Files == nil {
		// The hosts of attachments; see "Signed Attachment CDN URLs" in the reference.
		o.Files = []string{"cdn.discordapp.com", "media.discordapp.net"}
	}
	if o.Pause == nil {
		o.Pause = func(d time.Duration) time.Duration { return d }
	}
	ch := &Channel{
		token: token, allow: c.Allow, opt: o, network: deps.Network, buttons: deps.Buttons, log: deps.Log,
		guilds: map[string]*guild{}, caught: map[string]bool{}, answered: map[string]bool{}, running: make(chan struct{}, 1),
	}
	ch.seen.keep = deps.Keep
	ch.limits.until = map[string]time.Time{}
	if ch.log == nil {
		ch.log = slog.New(slog.DiscardHandler)
	}
	ch.asked = channels.NewAsked(deps.Keep, deps.Buttons, ch.log)
	if ch.network == nil {
		if ch.network, err = safehttp.New(safehttp.Options{}); err != nil {
			return nil, err
		}
	}
	return ch, nil
}

// Allow implements channels.Allower.
func (c *Channel) Allow() []string { return c.allow }

// Limits implements channels.Limiter. Discord returns the current limit of a chat with each
// response; 5 per 5 s is the value that has applied for years.
func (c *Channel) Limits() channels.Limits {
	return channels.Limits{MaxText: maxText, UTF16: true, PerMinute: 60, MaxFile: maxFile, Debounce: 1500 * time.Millisecond}
}

// Attaches implements channels.Attacher.
func (*Channel) Attaches() {}

// Connected implements channels.Connected.
func (*Channel) Connected() {}

// DescribeStatus implements channels.StatusDescriber.
func (c *Channel) DescribeStatus() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.since.IsZero() {
		return "not connected"
	}
	said := "connected as @" + c.me.Username + " for " + time.Since(c.since).Round(time.Second).String()
	switch n := len(c.guilds); n {
	case 0:
	case 1:
		said += ", in 1 server"
	default:
		said += fmt.Sprintf(", in %d servers", n)
	}
	return said
}

// Test implements channels.Tester.
func (c *Channel) Test(ctx context.Context) (string, error) {
	var app struct {
		Name  string `json:"name"`
		Flags int64  `json:"flags"`
		Bot   user   `json:"bot"`
	}
	if err := c.getJSON(ctx, "sign in", "/applications/@me", &app); err != nil {
		return "", err
	}
	var at struct {
		Limit struct {
			Remaining int `json:"remaining"`
		} `json:"session_start_limit"`
	}
	if err := c.getJSON(ctx, "get the gateway", "/gateway/bot", &at); err != nil {
		return "", err
	}
	// The flags are GATEWAY_MESSAGE_CONTENT and GATEWAY_MESSAGE_CONTENT_LIMITED ("Application
	// Flags"). Either one means that the intent is enabled.
	if app.Flags&(1<<18|1<<19) == 0 {
		return "", channels.Errorf(channels.Unauthorized, "discord: @%s has no permission to read messages; %s", app.Bot.Username, intentRemedy)
	}
	return fmt.Sprintf("signed in as @%s, %d connections left today", cmp.Or(app.Bot.Username, app.Name), at.Limit.Remaining), nil
}

const (
	intentRemedy = "switch on Message Content Intent at " + portal + " (Bot, Privileged Gateway Intents) and restart Hob"
	tokenRemedy  = "create a new token at " + portal + " (Bot, Reset Token) and set it: hob channel add discord"
)

// isWithinDomains reports whether host is one of the domains or a subdomain of one.
func isWithinDomains(host string, domains []string) bool {
	host = strings.ToLower(strings.TrimSuffix(host, "."))
	for _, d := range domains {
		if host == d || strings.HasSuffix(host, "."+d) {
			return true
		}
	}
	return false
}

// gatewayURL checks the gateway URL from Discord and adds version 10 and JSON ("Connecting":
// the query parameters).
func (c *Channel) gatewayURL(s string) (*url.URL, error) {
	u, err := url.Parse(s)
	plain := strings.HasPrefix(c.opt.API, "http://")
	if err != nil || u.User != nil || !isWithinDomains(u.Hostname(), c.opt.Gateway) || u.Scheme != "wss" && (u.Scheme != "ws" || !plain) {
		return nil, channels.Errorf(channels.Temporary, "discord: the gateway address is not a Discord host; Hob retries")
	}
	u.RawQuery = "v=10&encoding=json"
	u.Path = cmp.Or(u.Path, "/")
	return u, nil
}

// isSnowflake reports whether s is a Discord id, which is a 64-bit number.
func isSnowflake(s string) bool {
	if s == "" || len(s) > 20 {
		return false
	}
	return strings.Trim(s, "0123456789") == ""
}

// idAt returns the smallest id with the timestamp t ("Snowflakes").
func idAt(t time.Time) string { return strconv.FormatInt((t.UnixMilli()-1420070400000)<<22, 10) }

// isNewerID reports whether the id a was created after b.
func isNewerID(a, b string) bool {
	a, b = strings.TrimLeft(a, "0"), strings.TrimLeft(b, "0")
	return len(a) > len(b) || len(a) == len(b) && a > b
}
