// Package telegram implements the channel of a Telegram bot: private chats, groups and topics by
// long polling, buttons for questions, and answers shown while they are written.
//
// It uses the Bot API (https://core.telegram.org/bots/api). An update is marked as read after the
// engine has accepted or permanently rejected it. A crash therefore loses no update, and the Key
// drops duplicates. The channels manager handles allowed senders, debouncing, limits and retries.
// The package contains its own API client, because existing libraries advance their offset before
// an update was handled and reject whole updates with content types they do not know.
package telegram

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"strconv"
	"sync"
	"time"

	"hob/channels"
	"hob/platform/failpoint"
	"hob/platform/net/safehttp"
	"hob/platform/text/lazyregexp"
)

// Name is the name of the channel and of its configuration section.
const Name = "telegram"

// Config is the section [channels.telegram].
type Config struct {
	// Token is the bot token from @BotFather, or a reference to it: "env:X", "keychain:x" or
	// "file:/x".
	Token string `toml:"token"`
	// Allow lists the numeric ids of other people who may write to Hob.
	Allow []string `toml:"allow"`
}

// Driver creates the channel from its configuration.
type Driver struct{}

// New implements channels.Driver.
func (Driver) New(decode func(any) error, deps channels.Deps) (channels.Channel, error) {
	return channels.Make(decode, deps, New)
}

// Options holds test settings. The zero value uses Telegram's servers.
type Options struct {
	Base  string        // address of the Bot API
	Poll  time.Duration // long-poll timeout of the server (default 25 s)
	Pause time.Duration // initial wait after a failure (default 1 s)
	Album time.Duration // wait for the rest of an album (default 700 ms)
}

// Limits set by Telegram (https://core.telegram.org/bots/api#sendmessage, #senddocument and
// https://core.telegram.org/bots/faq#broadcasting-to-users), and Hob's own timing.
const (
	maxText    = 4096
	maxCaption = 1024
	maxFile    = 50 << 20
	perMinute  = 30
	settle     = 1500 * time.Millisecond
	slack      = 8 * time.Second // time after the poll timeout until a poll is considered dead
)

// Channel is a Telegram bot. All methods may be called concurrently.
type Channel struct {
	token   string
	base    string
	opt     Options
	allow   []string
	client  *safehttp.Client
	keep    channels.StateStore
	buttons channels.ButtonHandler
	log     *slog.Logger
	asked   *channels.QuestionTracker
	heard   []takenMessage // only Run uses it: recent messages, newest last

	mu     sync.Mutex
	me     user
	since  time.Time // time when the connection was opened
	broken error     // error of the connection
	half   map[string]*sendProgress
	moved  map[string]string // new ids of groups that became supergroups
}

var tokenForm = lazyregexp.New(`^[0-9]{1,20}:[A-Za-z0-9_-]{8,200}$`)

// New validates the configuration. It does not connect.
func New(c Config, deps channels.Deps, o Options) (*Channel, error) {
	var err error
	if c.Token, err = deps.Reveal("token", c.Token); err != nil {
		return nil, err
	}
	switch {
	case c.Token == "":
		return nil, errors.New(`token is missing; create a bot with @BotFather and set token = "keychain:telegram" in [channels.telegram] (hob channel add telegram)`)
	case !tokenForm.MatchString(c.Token):
		return nil, errors.New("the token is not a bot token (123456:ABC...); copy it from @BotFather again")
	}
	for _, id := range c.Allow {
		if _, err := strconv.ParseInt(id, 10, 64); err != nil {
			return nil, fmt.Errorf("allow: %q is not an id; use the number that hob channel status shows, not the @name, which another person can take over", id)
		}
	}
	o.Base = cmp.Or(o.Base, failpoint.Address(Name, "https://api.telegram.org"))
	o.Poll = cmp.Or(o.Poll, 25*time.Second)
	o.Pause = cmp.Or(o.Pause, time.Second)
	o.Album = cmp.Or(o.Album, 700*time.Millisecond)
	network := deps.Network
	if network == nil {
		if network, err = safehttp.New(safehttp.Options{}); err != nil {
			return nil, err
		}
	}
	if u, err := url.Parse(o.Base); err != nil || u.Host == "" {
		return nil, fmt.Errorf("the address of the Bot API is not valid: %q", o.Base)
	} else if safehttp.Loopback(u) {
		if network, err = network.Named(o.Base); err != nil {
			return nil, err
		}
	}
	log := deps.Log
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	return &Channel{
		token: c.Token, base: o.Base, opt: o, allow: c.Allow, client: network, keep: deps.Keep, buttons: deps.Buttons, log: log,
		asked: channels.NewAsked(deps.Keep, deps.Buttons, log), half: map[string]*sendProgress{},
	}, nil
}

// Allow implements channels.Allower.
func (c *Channel) Allow() []string { return c.allow }

// Limits implements channels.Limiter.
func (*Channel) Limits() channels.Limits {
	return channels.Limits{MaxText: maxText, UTF16: true, PerMinute: perMinute, MaxFile: maxFile, Debounce: settle}
}

// Attaches implements channels.Attacher.
func (*Channel) Attaches() {}

// Connected implements channels.Connected.
func (*Channel) Connected() {}

// DescribeStatus implements channels.StatusDescriber.
func (c *Channel) DescribeStatus() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case c.broken != nil:
		return "not connected"
	case c.since.IsZero():
		return "not connected yet"
	}
	return "connected as @" + c.me.Username + " for " + time.Since(c.since).Round(time.Minute).String() + "; " + c.me.describePrivacy()
}

// Link implements channels.ConnectionReporter.
func (c *Channel) Link() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.broken
}

func (u user) describePrivacy() string {
	if u.ReadsAll {
		return "it receives all messages in its groups"
	}
	return "in groups it receives only commands, mentions and replies to it (privacy mode; change it with @BotFather's /setprivacy)"
}

// Test implements channels.Tester.
func (c *Channel) Test(ctx context.Context) (string, error) {
	me, err := c.getMe(ctx)
	if err != nil {
		return "", err
	}
	at, err := c.webhookHost(ctx)
	if err != nil {
		return "", err
	}
	said := "signed in as @" + me.Username + "; " + me.describePrivacy()
	if at == "" {
		return said, nil
	}
	if c.keep != nil {
		if kept, err := c.keep.Get(ctx, keyOffset); err != nil || kept != nil {
			return "", errors.Join(err, channels.Errorf(channels.Unauthorized, "signed in as @%s, but its messages go to a webhook at %s, so Hob receives none; %s", me.Username, at, takeHookAway))
		}
	}
	return said + "; its messages still go to a webhook at " + at + ", which Hob removes when the channel starts", nil
}

// webhookHost returns the host that receives the bot's messages, or "" if no webhook is set.
func (c *Channel) webhookHost(ctx context.Context) (string, error) {
	var hook struct {
		URL string `json:"url"`
	}
	if err := c.callMethod(ctx, "getWebhookInfo", nil, &hook); err != nil || hook.URL == "" {
		return "", err
	}
	if u, err := url.Parse(hook.URL); err == nil && u.Host != "" {
		return u.Host, nil
	}
	return "an address", nil
}

const takeHookAway = "if nothing else needs the webhook, remove it by opening https://api.telegram.org/bot<TOKEN>/deleteWebhook with your token, or create a separate bot for Hob with @BotFather"

func (c *Channel) getMe(ctx context.Context) (user, error) {
	var me user
	if err := c.callMethod(ctx, "getMe", nil, &me); err != nil {
		return me, err
	}
	c.mu.Lock()
	c.me = me
	c.mu.Unlock()
	return me, nil
}

func (c *Channel) botUser() user {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.me
}
