// Package reminders implements a channel on a list of reminders ("Hob"). A new reminder is a
// message, which is completed when it is accepted; Hob's messages become new reminders in the list.
// The list belongs to the Reminders app or to a CalDAV account (platform/pim);
// platform/pim/listfeed polls it.
//
// A list does not show who writes, so it must be paired: the owner writes the code into it. From
// then on its reminders count as the owner's. A list that the server reports as shared is no longer
// received. Not all servers report sharing, so a question can be answered there only if the owner
// has declared the list private (private = true).
package reminders

import (
	"cmp"
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"time"

	"hob/channels"
	"hob/platform/pim"
	"hob/platform/pim/listfeed"
	"hob/platform/text/markup"
)

// Name is the name of the channel and of its configuration section.
const Name = "reminders"

// Config is the section [channels.reminders]. The manager reads the key "enabled".
type Config struct {
	// List is the name of the list (default "Hob").
	List string `toml:"list"`
	// Account is the location of the list: the name of an account, "apple", or "" for any list with
	// that name.
	Account string `toml:"account"`
	// Private is set if the owner declares that no one else can write to the list. Questions can
	// then be answered there.
	Private bool `toml:"private"`
}

// Driver creates the channel from its configuration.
type Driver struct{}

// New implements channels.Driver.
func (Driver) New(decode func(any) error, deps channels.Deps) (channels.Channel, error) {
	return channels.Make(decode, deps, New)
}

// Options holds test settings. The zero value is used in production.
type Options struct {
	Every  time.Duration // poll interval (1 minute)
	Settle time.Duration // how long a reminder must be unchanged before it is accepted (10 s)
}

// Channel is one list of reminders.
type Channel struct {
	conf Config
	spot listfeed.Location[pim.Lists]
}

// New validates the configuration. It reads nothing.
func New(c Config, deps channels.Deps, o Options) (*Channel, error) {
	c.List, c.Account = cmp.Or(strings.TrimSpace(c.List), "Hob"), strings.TrimSpace(c.Account)
	if len([]rune(c.List)) > 100 || strings.ContainsAny(c.List, "\n\r") {
		return nil, errors.New("list must be the name of one list of reminders, at most 100 characters")
	}
	ch := &Channel{conf: c, spot: listfeed.Location[pim.Lists]{
		Channel: Name, Kind: "list", Name: c.List, Account: c.Account, Remedy: "add an account with CalDAV (hob account add), or use a Mac",
		All: func() []pim.Lists { return listfeed.Only[pim.Lists](deps.Lists) }, // Outlook has only one task list
	}}
	ch.spot.Listen(listfeed.Options{
		Keep: deps.Keep, Log: cmp.Or(deps.Log, slog.New(slog.DiscardHandler)), Every: cmp.Or(o.Every, time.Minute), Settle: cmp.Or(o.Settle, 10*time.Second),
	}, func(l pim.Lists) listfeed.Source { return reminderSource{l, c.List} })
	return ch, nil
}

// Limits implements channels.Limiter. Some programs silently truncate longer messages together with
// the mark.
func (*Channel) Limits() channels.Limits { return channels.Limits{MaxText: 3000, UTF16: true} }

// DescribeStatus implements channels.StatusDescriber.
func (c *Channel) DescribeStatus() string {
	return cmp.Or(c.spot.Poller.Last(), fmt.Sprintf("waiting for reminders in the list %q", c.conf.List))
}

// Test implements channels.Tester.
func (c *Channel) Test(ctx context.Context) (string, error) {
	return c.spot.Tell(func(p pim.Lists) (string, bool, error) {
		found, err := p.FindInList(ctx, c.conf.List, false)
		return fmt.Sprintf("%d open", len(found)), slices.ContainsFunc(found, func(r pim.Reminder) bool { return r.Shared }), err
	})
}

// reminderSource adapts an account or app to the poller.
type reminderSource struct {
	pim.Lists
	list string
}

// Entries implements listfeed.Source. It returns the open reminders, and repeating ones when they
// are due.
func (p reminderSource) Entries(ctx context.Context) ([]listfeed.Entry, error) {
	found, err := p.FindInList(ctx, p.list, false)
	var out []listfeed.Entry
	for _, r := range found {
		if r.Done || strings.TrimSpace(r.Title+r.Notes) == "" || r.Repeat && (r.Due.IsZero() || r.Due.After(time.Now())) {
			continue
		}
		parts := []string{p.Name(), r.Ref, r.Title, r.Notes} // a changed reminder is a different message
		if r.Repeat {
			parts = append(parts, r.Due.UTC().Format(time.RFC3339))
		}
		out = append(out, listfeed.Entry{
			Ref: r.Ref, List: r.ListID, Key: hexOf(parts...), Texts: []string{r.Title, r.Notes}, Text: reminderText(r), Shared: r.Shared,
		})
	}
	return out, err
}

// Tick implements listfeed.Completer.
func (p reminderSource) Tick(ctx context.Context, ref string) error {
	_, err := p.CompleteReminder(ctx, ref)
	return err
}

func hexOf(parts ...string) string {
	d := listfeed.Digest(parts...)
	return hex.EncodeToString(d[:])
}

// Run implements channels.Channel. It polls the list.
func (c *Channel) Run(ctx context.Context, r channels.Receiver) error {
	return c.spot.Poller.Run(ctx, func(ctx context.Context, p listfeed.Source, x listfeed.Entry) (listfeed.Taken, error) {
		_, err := r.Receive(ctx, channels.Inbound{
			Chat: p.Name(), ChatName: c.conf.List, Sender: listfeed.SenderOf("list", p, x, c.conf.List), SenderName: "the list " + c.conf.List,
			Text: listfeed.Short(x.Text), Key: x.Key, At: x.At, Unknown: !c.conf.Private,
		})
		if errors.Is(err, channels.ErrStranger) { // the sender is not paired
			return listfeed.Never, nil
		}
		return listfeed.Heard, err
	})
}

// reminderText returns the text of a reminder.
func reminderText(r pim.Reminder) string {
	out := strings.TrimSpace(r.Title)
	if n := strings.TrimSpace(r.Notes); n != "" {
		out = strings.TrimSpace(out + "\n\n" + n)
	}
	switch {
	case r.Due.IsZero():
	case r.AllDay:
		out += "\n\n(due " + r.Due.Format("2006-01-02") + ")"
	default:
		out += "\n\n(due " + r.Due.Format("2006-01-02 15:04 MST") + ")"
	}
	return out
}

// Send implements channels.Channel. It creates a new reminder with a mark.
func (c *Channel) Send(ctx context.Context, d channels.Delivery) (channels.Receipt, error) {
	switch d.Kind {
	case channels.Status: // do not show progress in a list
		return channels.Receipt{}, nil
	case channels.Send:
		return channels.Receipt{}, channels.Errorf(channels.Unsupported, "reminders: the list can only be used to write to you")
	case channels.Question, channels.Reply, channels.Notice:
	}
	said := markup.Plain(d.Markdown())
	ref, err := c.spot.Say(ctx, d.Chat, d.Kind == channels.Question, func(p pim.Lists, key listfeed.Key) (pim.Receipt, error) {
		return p.CreateReminder(ctx, pim.Reminder{
			UID: "hob-" + hexOf(d.ID) + "@hob", Title: "Hob: " + listfeed.Title(said, maxTitle), Notes: key.With(said, d.ID), List: c.conf.List,
		})
	})
	return channels.Receipt{ID: ref}, classifyError(err)
}

const maxTitle = 80

// classifyError returns an error from Location.Say with its class.
func classifyError(err error) error {
	if err == nil {
		return nil
	}
	out := channels.Errorf(channels.Temporary, "%w", err)
	out.MaybeSent = errors.Is(err, listfeed.ErrUncertain)
	busy, waits := errors.AsType[*pim.BusyError](err)
	switch {
	case listfeed.Lasting(err):
		out.Class = channels.Permanent
	case errors.Is(err, pim.ErrSignIn):
		out = channels.Errorf(channels.Unauthorized, "%w; set a new password for the account", err)
	case waits:
		out.Class, out.RetryAt = channels.Later, busy.Until
	}
	return out
}

// Find implements channels.DeliveryFinder.
func (c *Channel) Find(ctx context.Context, d channels.Delivery) (channels.Receipt, bool, error) {
	ref, err := c.spot.Find(ctx, d.Chat, func(p pim.Lists, key listfeed.Key) (string, error) {
		all, err := p.FindInList(ctx, c.conf.List, true)
		for _, r := range all {
			if strings.Contains(r.Notes, key.Mark(d.ID)) {
				return r.Ref, nil
			}
		}
		return "", err
	})
	return channels.Receipt{ID: ref}, ref != "", err
}
