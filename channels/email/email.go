// Package email implements the email channel: it receives messages over IMAP (push or polling), and
// sends Hob's messages by SMTP in the matching thread.
//
// The author of an email is determined by the results from the owner's mail host
// (Authentication-Results, RFC 8601). Without a result, the DKIM signature of the sender's domain
// decides (RFC 6376). Messages from programs, mailing lists and mail servers are neither received
// nor answered (RFC 3834), and two persistent counters stop any remaining loop.
//
// The read position (UIDVALIDITY and UID) advances when the manager has accepted a message.
// Messages that arrived while Hob was not running are therefore received once, and messages from
// before the first start are never received. The Message-ID of each outgoing message derives from
// its delivery. After an interruption, Hob searches the sent folder for it. A duplicate has the
// same Message-ID, which lets mail programs drop it. The manager handles allowed senders, retries
// and files.
package email

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"time"

	"hob/channels"
	"hob/platform/net/safehttp"
	"hob/platform/pim"
	"hob/platform/pim/dkimcheck"
	"hob/platform/pim/imapmail"
	"hob/platform/pim/smtpmail"
	"hob/platform/text/textnorm"
)

// Name is the name of the channel.
const Name = "email"

// Config is the section [channels.email]. The manager reads the common keys.
type Config struct {
	Address string `toml:"address"` // Hob's own address
	IMAP    string `toml:"imap"`    // see pim.ParseServer
	SMTP    string `toml:"smtp"`
	// Password is the password for both servers, or a reference to it: "env:X", "keychain:x" or
	// "file:/x".
	Password string `toml:"password"`
	// Account names one of [accounts.NAME] and replaces the four keys above.
	Account string `toml:"account"`
	// Folder is the folder that contains the messages to Hob (default INBOX).
	Folder string `toml:"folder"`
	// Allow lists the addresses of other people who may write to Hob.
	Allow []string `toml:"allow"`
	// TrustedHost is the name that the mail host uses for its results: the first word of
	// Authentication-Results. "*.example.org" matches all names in a domain.
	TrustedHost string `toml:"trusted_host"`
	// SubjectPrefix, if set, is the required prefix of the subject. Other messages are ignored.
	SubjectPrefix string `toml:"subject_prefix"`
	// Drafts makes Hob store its messages as drafts instead of sending them.
	Drafts bool `toml:"drafts"`
}

// Driver creates the email channel from its configuration.
type Driver struct{}

// New implements channels.Driver.
func (Driver) New(decode func(any) error, deps channels.Deps) (channels.Channel, error) {
	var c Config
	if err := decode(&c); err != nil {
		return nil, err
	}
	return New(c, deps)
}

// Channel is one mailbox. Its methods may be called concurrently, but Run and Send each only once
// at a time.
type Channel struct {
	conf    Config
	account pim.Account
	address string // Hob's own address, in lower case
	host    string // the part of address after "@"
	trusted string // see Config.TrustedHost; "" if not set
	log     *slog.Logger
	keep    channels.StateStore
	lines   smtpPool
	most    int64 // maximum size of an email; see maxMail
	network dkimcheck.TXTResolver
	pause   time.Duration // first wait before the next lookup of keys; see firstPause

	mu      sync.Mutex
	since   time.Time    // when the connection was opened
	trouble error        // why there is no connection
	left    int          // number of ignored messages
	why     string       // reason for the last ignored message
	unknown int          // number of messages with an unverified sender
	doubt   string       // reason for the last message that claimed to be from an allowed sender
	waiting int          // number of messages waiting for verification
	broken  int          // number of messages that could not be read
	back    *bouncedMail // message that bounced
	// refusals counts the failed fetches per message.
	refusals map[uint32]int
}

// New validates the configuration. It does not connect.
func New(c Config, deps channels.Deps) (*Channel, error) {
	a, err := mailAccount(c, deps)
	if err != nil {
		return nil, err
	}
	if c.Folder = strings.TrimSpace(c.Folder); c.Folder == "" {
		c.Folder = "INBOX"
	}
	c.SubjectPrefix = strings.TrimSpace(c.SubjectPrefix)
	if strings.ContainsAny(c.Folder+c.SubjectPrefix, "\r\n\x00") || len(c.Folder) > 200 || len(c.SubjectPrefix) > 60 {
		return nil, errors.New("folder and subject_prefix must be one short line each")
	}
	host, err := trustedHost(c.TrustedHost)
	if err != nil {
		return nil, err
	}
	ch := &Channel{conf: c, account: a, address: strings.ToLower(a.Address), trusted: host, most: maxMail, network: deps.Network, pause: firstPause, log: deps.Log, keep: deps.Keep, refusals: map[uint32]int{}}
	_, ch.host, _ = strings.Cut(ch.address, "@")
	if ch.trusted == "" {
		ch.trusted = hostOf(a.Server(pim.IMAP))
	}
	if ch.log == nil {
		ch.log = slog.New(slog.DiscardHandler)
	}
	if deps.Network == nil {
		if ch.network, err = safehttp.New(safehttp.Options{}); err != nil {
			return nil, err
		}
	}
	return ch, nil
}

func mailAccount(c Config, deps channels.Deps) (a pim.Account, err error) {
	switch {
	case c.Account != "" && c.Address+c.IMAP+c.SMTP+c.Password != "":
		return a, errors.New("account replaces address, imap, smtp and password; set either account or the others")
	case c.Account != "" && deps.Account == nil:
		return a, fmt.Errorf("account %q not found; add [accounts.%[1]s]", c.Account)
	case c.Account != "":
		if a, err = deps.Account(c.Account); err != nil {
			return a, err
		}
	default:
		a = pim.Account{Name: Name, Address: strings.TrimSpace(c.Address), Servers: pim.Servers{pim.IMAP: c.IMAP, pim.SMTP: c.SMTP}, Secret: func(context.Context) (string, error) {
			if deps.Secret == nil || c.Password == "" {
				return c.Password, nil
			}
			return deps.Secret(c.Password)
		}}
		if c.Password == "" {
			return a, errors.New(`password is missing; set password = "keychain:mail" in [channels.email], or account = "NAME" for one of [accounts.NAME]`)
		}
	}
	if err := pim.CheckPerson(pim.Person{Address: a.Address}); err != nil {
		return a, fmt.Errorf("address of Hob's mailbox: %w", err)
	}
	for _, s := range []struct{ kind, server string }{{pim.IMAP, a.Server(pim.IMAP)}, {pim.SMTP, a.Server(pim.SMTP)}} {
		if s.server == "" && (s.kind == pim.IMAP || !c.Drafts) {
			return a, fmt.Errorf(`%s is missing; set %[1]s = "%[1]s.example.org" in [channels.email]`, s.kind)
		}
		if s.server == "" {
			continue
		}
		if _, err := pim.ParseServer(s.kind, s.server); err != nil {
			return a, fmt.Errorf("%s: %w", s.kind, err)
		}
	}
	return a, nil
}

// Limits implements channels.Limiter.
func (*Channel) Limits() channels.Limits {
	return channels.Limits{MaxText: maxText, PerMinute: 30, MaxFile: maxFile}
}

// Attaches implements channels.Attacher.
func (*Channel) Attaches() {}

// Connected implements channels.Connected.
func (*Channel) Connected() {}

// Allow implements channels.Allower. Unverified senders never match.
func (c *Channel) Allow() (out []string) {
	for _, a := range c.conf.Allow {
		if a = strings.ToLower(strings.TrimSpace(a)); !strings.HasPrefix(a, unverified) {
			out = append(out, a)
		}
	}
	return out
}

// Test implements channels.Tester.
func (c *Channel) Test(ctx context.Context) (string, error) {
	m, err := imapmail.Open(ctx, c.account)
	if err != nil {
		return "", classifyError(err)
	}
	var found resultsSurvey
	s, err := m.Select(ctx, c.conf.Folder)
	if err == nil && s.Messages > 0 {
		found, err = c.surveyResults(ctx, m, s.Next)
	}
	if err = errors.Join(err, m.Close()); err != nil { //nolint:contextcheck // signing out has a separate time limit
		return "", classifyError(err)
	}
	if !c.conf.Drafts {
		if err := smtpmail.SignIn(ctx, c.account); err != nil {
			return "", classifyError(err)
		}
	}
	return fmt.Sprintf("signed in as %s: %s in %s; %s", c.address, textnorm.CountNoun(int(s.Messages), "email", "emails"), c.conf.Folder, describeRecognition(c.trusted, found)), nil
}

// DescribeStatus implements channels.StatusDescriber.
func (c *Channel) DescribeStatus() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	out := "not connected"
	switch {
	case !c.since.IsZero():
		out = fmt.Sprintf("connected as %s since %s", c.address, c.since.Format("15:04"))
	case c.trouble != nil:
		out += ": " + pim.SanitizeLine(c.trouble.Error(), 200)
	}
	if c.left > 0 {
		out += fmt.Sprintf("; %s ignored, the last one because %s", textnorm.CountNoun(c.left, "email", "emails"), c.why)
	}
	if c.broken > 0 {
		out += fmt.Sprintf("; %s could not be read", textnorm.CountNoun(c.broken, "email", "emails"))
	}
	if c.back != nil && !c.back.isExpired(time.Now()) {
		out += "; " + c.back.String()
	}
	if c.waiting > 0 {
		out += fmt.Sprintf("; %s waiting until the sender can be verified", textnorm.CountNoun(c.waiting, "email", "emails"))
	}
	if c.unknown > 0 {
		out += fmt.Sprintf("; %s with an unverified sender", textnorm.CountNoun(c.unknown, "email", "emails"))
	}
	if c.doubt != "" {
		out += ", the last one that claimed to be from an allowed sender: " + c.doubt
	}
	return out
}

// noteConnection stores the connection status.
func (c *Channel) noteConnection(since time.Time, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.since, c.trouble = since, err
}

// classifyError returns err with its class.
func classifyError(err error) error {
	if err == nil {
		return nil
	}
	if _, ok := errors.AsType[*channels.Error](err); ok {
		return err
	}
	out := &channels.Error{Class: channels.Temporary, Err: fmt.Errorf("email: %w", err)}
	switch {
	case errors.Is(err, pim.ErrSignIn):
		out.Class = channels.Unauthorized
		out.Err = fmt.Errorf("email: %w; set a new password: hob channel add email", err)
	case errors.Is(err, pim.ErrNoFolder), errors.Is(err, pim.ErrNoServer):
		out.Class = channels.Unauthorized
		out.Err = fmt.Errorf("email: %w; correct [channels.email]", err)
	case errors.Is(err, smtpmail.ErrLater):
	case errors.Is(err, pim.ErrRefused), errors.Is(err, pim.ErrInvalid), errors.Is(err, errors.ErrUnsupported):
		out.Class = channels.Permanent
	case errors.Is(err, smtpmail.ErrUnsure), errors.Is(err, imapmail.ErrUnsure):
		out.MaybeSent = true
	}
	return out
}
