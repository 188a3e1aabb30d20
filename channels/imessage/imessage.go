// Package imessage implements a channel for Messages on a Mac. It receives by reading the Messages
// database. It sends with a constant AppleScript and checks the result in the database. It ignores
// messages from this Mac's own account and echoes of Hob's messages. It also ignores reactions and
// edits; a like on a question does not answer it.
package imessage

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"hob/channels"
	"hob/platform/host/osrun"
	"hob/platform/host/permission"
	"hob/platform/pim/messages/chatdb"
)

// Name is the name of the channel and of its configuration section.
const Name = "imessage"

// Config is the section [channels.imessage].
type Config struct {
	// DB is the path of the Messages database (default ~/Library/Messages/chat.db).
	DB string `toml:"db"`
	// Allow lists other people who may write to Hob, by phone number (+15550100) or email address.
	Allow []string `toml:"allow"`
	// Prefix is the required prefix of a message, or "". It is meant for a Mac that uses the
	// owner's own account.
	Prefix string `toml:"prefix"`
}

// Options holds test settings. The zero value is used in production.
type Options struct {
	GOOS   string        // the operating system (default runtime.GOOS)
	Poll   time.Duration // poll interval if there are no file notifications (default 5 s)
	Glance time.Duration // minimum poll interval (default 500 ms)
	// Debounce is how long a new row is ignored because it is still being written (default 400 ms).
	// Hold is how long Hob waits for the content of an empty row (10 s).
	Debounce, Hold time.Duration
	// Verify is how long Hob searches for a sent message (default 10 s).
	Verify time.Duration
	// Orphan is how long a script started by an earlier process may still send (1 min).
	Orphan time.Duration
	Now    func() time.Time
}

// Driver creates the channel from its configuration.
type Driver struct{}

// New implements channels.Driver.
func (Driver) New(decode func(any) error, deps channels.Deps) (channels.Channel, error) {
	return channels.Make(decode, deps, New)
}

// Channel is the Messages channel.
type Channel struct {
	cfg    Config
	deps   channels.Deps
	opt    Options
	home   string
	allow  []string
	named  *regexp.Regexp
	ledger ledger
	old    atomic.Bool // whether Messages has the scripting dictionary of macOS 12 or older

	mu      sync.Mutex
	since   time.Time // when the channel started to listen
	heard   time.Time
	pending int // consecutive messages that did not appear in the database
}

// New validates the configuration. It reads nothing yet.
func New(cfg Config, deps channels.Deps, o Options) (*Channel, error) {
	o.GOOS = cmp.Or(o.GOOS, runtime.GOOS)
	if o.GOOS != "darwin" {
		return nil, channels.Errorf(channels.Unsupported, "Messages needs macOS and this is %s; run Hob on a Mac or remove [channels.imessage]", o.GOOS)
	}
	o.Poll = cmp.Or(o.Poll, 5*time.Second)
	o.Glance = cmp.Or(o.Glance, 500*time.Millisecond)
	o.Debounce = cmp.Or(o.Debounce, 400*time.Millisecond)
	o.Hold = cmp.Or(o.Hold, 10*time.Second)
	o.Verify = cmp.Or(o.Verify, 10*time.Second)
	o.Orphan = cmp.Or(o.Orphan, time.Minute)
	if o.Now == nil {
		o.Now = time.Now
	}
	if deps.Getenv == nil {
		deps.Getenv = os.Getenv
	}
	c := &Channel{cfg: cfg, deps: deps, opt: o, home: deps.Getenv("HOME"), named: namePattern(deps.Name)}
	c.ledger.keep, c.ledger.now = deps.Keep, o.Now
	if c.home == "" && (cfg.DB == "" || strings.HasPrefix(cfg.DB, "~/")) {
		return nil, errors.New("imessage: HOME is not set; set channels.imessage.db to the absolute path of chat.db")
	}
	switch {
	case cfg.DB == "":
		c.cfg.DB = filepath.Join(c.home, "Library", "Messages", "chat.db")
	case strings.HasPrefix(cfg.DB, "~/"):
		c.cfg.DB = filepath.Join(c.home, cfg.DB[2:])
	}
	for _, a := range cfg.Allow {
		id := chatdb.Handle(a, "")
		if !strings.Contains(id, "@") && !strings.HasPrefix(id, "+") {
			return nil, fmt.Errorf("imessage: %q in channels.imessage.allow is not valid; use an email address or a phone number with its country code, such as +15550100", a)
		}
		c.allow = append(c.allow, id, bySMS+id)
	}
	return c, nil
}

// Allow implements channels.Allower.
func (c *Channel) Allow() []string { return c.allow }

// Limits of the channel. Messages accepts longer messages, but they are hard to read on a phone.
// Apple may block accounts that send without pauses.
const (
	maxText   = 4000
	perMinute = 30
	maxFile   = 100 << 20
	settle    = 1500 * time.Millisecond
)

// Limits implements channels.Limiter.
func (*Channel) Limits() channels.Limits {
	return channels.Limits{MaxText: maxText, PerMinute: perMinute, MaxFile: maxFile, Debounce: settle}
}

// Attaches implements channels.Attacher.
func (*Channel) Attaches() {}

// openDatabase opens the database. Its errors include the remedy.
func (c *Channel) openDatabase(ctx context.Context) (*chatdb.DB, error) {
	d, err := chatdb.Open(ctx, c.cfg.DB, c.deps.Dir)
	return d, c.explainDBError(err)
}

// explainDBError adds the class and the remedy to database errors.
func (c *Channel) explainDBError(err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, chatdb.ErrNoAccess):
		return channels.Errorf(channels.Unauthorized, "%w; enable %s in System Settings, Privacy & Security, Full Disk Access (x-apple.systempreferences:com.apple.preference.security?Privacy_AllFiles), then start Hob again", err, permission.Responsible(c.deps.Getenv))
	case errors.Is(err, fs.ErrNotExist): // also occurs while Messages recreates the database
		return channels.Errorf(channels.Temporary, "no Messages database at %s; open Messages and sign in", c.cfg.DB)
	case errors.Is(err, chatdb.ErrNotMessages): // also occurs after the file is created and before its tables are created
		return channels.Errorf(channels.Temporary, "%w; check channels.imessage.db", err)
	}
	return fmt.Errorf("imessage: read the Messages database: %w", err)
}

// Test implements channels.Tester.
func (c *Channel) Test(ctx context.Context) (string, error) {
	d, err := c.openDatabase(ctx)
	if err != nil {
		return "", err
	}
	defer func() { _ = d.Close() }()
	last, _, err := d.Last(ctx)
	if err != nil {
		return "", c.explainDBError(err)
	}
	found := fmt.Sprintf("Messages database readable (%d messages)", last.RowID)
	if c.deps.Scripts == nil {
		return found + "; sending was not tested", nil
	}
	err = c.deps.Scripts.Run(ctx, osrun.Call{Script: loadScript(isReady), App: messagesApp(), In: request{}, Wait: scriptWait}, nil)
	switch {
	case osrun.KindOf(err) == osrun.NotRunning:
		return found + "; Messages is not open; Hob opens it to send", nil
	case err != nil:
		return "", c.classifyScriptError(target{}, err)
	}
	return found + ", and Hob has permission to send", nil
}

// DescribeStatus implements channels.StatusDescriber.
func (c *Channel) DescribeStatus() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.since.IsZero() {
		return "not listening"
	}
	s := "listening since " + c.since.Format("15:04")
	if !c.heard.IsZero() {
		s += ", last message at " + c.heard.Format("15:04")
	}
	if c.pending > 0 {
		s += fmt.Sprintf("; the last %d messages are not confirmed as sent", c.pending)
	}
	return s
}
