// Package reminders makes a list of reminders ("Hob") a place to talk: a new reminder
// in it is a message, which is ticked off once it was taken; what Hob says becomes a new
// reminder there. The lists are those of the Reminders app, of a CalDAV account, or of
// Outlook (platform/pim). The channels manager calls it.
//
// Who writes into a list nobody says, and whether it is shared mostly neither. So a list
// is nobody's until it is paired: the owner writes the code into it, and from then on
// what stands there is his word, also what others write whom he lets in. No question is
// answered by it: any program that may write his reminders could do that.
//
// What Hob has written itself it never reads, however often it starts anew: its entries
// carry a mark, and of what its tools make a digest is kept (platform/pim/echo).
package reminders

import (
	"cmp"
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"hob/channels"
	"hob/platform/markup"
	"hob/platform/pim"
	"hob/platform/pim/echo"
)

// Name is the channel's, and that of its section.
const Name = "reminders"

// Config is the section [channels.reminders]; "enabled" is the manager's.
type Config struct {
	// List is the name of the list (default "Hob").
	List string `toml:"list"`
	// Account is where it is: the name of an account, "apple" or "outlook"; "":
	// wherever there is a list of that name.
	Account string `toml:"account"`
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
	return New(c, deps, Options{})
}

// Options of New for tests; the zero value is what owners get.
type Options struct {
	Every  time.Duration // between two looks (1 minute)
	Settle time.Duration // for which a reminder stays as it is before it is taken (10 s)
}

// Channel is one list.
type Channel struct {
	list, account string
	lists         func() []pim.Reminders
	keep          channels.Keeper
	log           *slog.Logger
	opt           Options

	mu   sync.Mutex
	key  *echo.Key
	last string // how the last look went
}

// New checks the configuration; it reads nothing.
func New(c Config, deps channels.Deps, o Options) (*Channel, error) {
	ch := &Channel{list: cmp.Or(strings.TrimSpace(c.List), "Hob"), account: strings.TrimSpace(c.Account), lists: deps.Lists, keep: deps.Keep, log: deps.Log, opt: o}
	ch.opt.Every, ch.opt.Settle = cmp.Or(o.Every, time.Minute), cmp.Or(o.Settle, 10*time.Second)
	if ch.log == nil {
		ch.log = slog.New(slog.DiscardHandler)
	}
	if len([]rune(ch.list)) > 100 || strings.ContainsAny(ch.list, "\n\r") {
		return nil, errors.New("list is the name of one list of reminders, at most 100 characters")
	}
	return ch, nil
}

// Limits implements channels.Limiter: more than this some programs cut off unseen.
func (*Channel) Limits() channels.Limits { return channels.Limits{MaxText: 3000} }

// Describe implements channels.Describer.
func (c *Channel) Describe() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return cmp.Or(c.last, fmt.Sprintf("waits for reminders in the list %q", c.list))
}

// Test implements channels.Tester.
func (c *Channel) Test(ctx context.Context) (string, error) {
	places, err := c.places()
	if err != nil {
		return "", err
	}
	var said []string
	for _, p := range places {
		all, err := p.FindReminders(ctx, false)
		if err = missed(err); err != nil {
			return "", err
		}
		n := 0
		for _, r := range all {
			if c.ours(r) {
				n++
			}
		}
		said = append(said, fmt.Sprintf("%s: %d open in the list %q", p.Name(), n, c.list))
	}
	return strings.Join(said, "; "), nil
}

// places are those where the list may be.
func (c *Channel) places() ([]pim.Reminders, error) {
	var out []pim.Reminders
	var names []string
	if c.lists != nil {
		for _, p := range c.lists() {
			names = append(names, p.Name())
			if c.account == "" || strings.EqualFold(p.Name(), c.account) {
				out = append(out, p)
			}
		}
	}
	switch {
	case len(out) > 0:
		return out, nil
	case len(names) > 0:
		return nil, channels.Errorf(channels.Permanent, "reminders: there is no place %q; set account in [channels.reminders] to one of %s", c.account, strings.Join(names, ", "))
	}
	return nil, channels.Errorf(channels.Permanent, "reminders: nowhere can reminders be kept; add an account with CalDAV (hob account add), or use a Mac")
}

func (c *Channel) ours(r pim.Reminder) bool {
	return strings.EqualFold(strings.TrimSpace(r.List), c.list)
}

// mark opens the key of Hob's own entries.
func (c *Channel) mark(ctx context.Context) (echo.Key, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.key != nil {
		return *c.key, nil
	}
	if c.keep == nil {
		return echo.Key{}, errors.New("reminders: nothing can be kept here")
	}
	k, err := echo.OpenKey(ctx, c.keep)
	if err != nil {
		return k, fmt.Errorf("reminders: %w", err)
	}
	c.key = &k
	return k, nil
}

// Run implements channels.Channel: it looks once in a while.
func (c *Channel) Run(ctx context.Context, r channels.Receiver) error {
	key, err := c.mark(ctx)
	if err != nil {
		return ended(ctx, err)
	}
	look := &looker{c: c, to: r, key: key, seen: echo.NewSet(c.keep, "seen", 7000), own: echo.NewSet(c.keep, echo.Own, echo.MostOwn), pending: map[string]time.Time{}, taken: map[string]int{}}
	for {
		settling, err := look.all(ctx)
		if err != nil {
			return ended(ctx, err)
		}
		wait := c.opt.Every
		if settling {
			wait = min(wait, c.opt.Settle)
		}
		t := time.NewTimer(wait)
		select {
		case <-ctx.Done():
			t.Stop()
			return nil
		case <-t.C:
		}
	}
}

func ended(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return nil
	}
	return err
}

// missed is an error of reading that leaves nothing to work with.
func missed(err error) error {
	if _, partly := errors.AsType[*pim.PartialError](err); partly {
		return nil
	}
	return err
}

// looker reads the lists. It belongs to Run.
type looker struct {
	c    *Channel
	to   channels.Receiver
	key  echo.Key
	seen *echo.Set // what is open and was dealt with, as far as it cannot be ticked off
	own  *echo.Set
	// pending is what was seen, and since when it has been as it is.
	pending map[string]time.Time
	// taken is what was handed in and is still open, with how often it could not be
	// ticked off.
	taken map[string]int
}

// all looks at every place once, and reports whether something is still being written.
func (l *looker) all(ctx context.Context) (settling bool, err error) {
	places, err := l.c.places()
	if err != nil {
		return false, err
	}
	seen, err := l.seen.All(ctx)
	if err != nil {
		return false, err
	}
	own, err := l.own.All(ctx)
	if err != nil {
		return false, err
	}
	var errs []error
	open := 0
	still := map[string]bool{}
	for _, p := range places {
		found, err := p.FindReminders(ctx, false)
		if err = missed(err); err != nil {
			errs = append(errs, fmt.Errorf("reminders: %s: %w", p.Name(), err))
			continue
		}
		found = slices.DeleteFunc(found, func(r pim.Reminder) bool { return !l.c.ours(r) || !l.theirs(r, own) })
		open += len(found)
		if begun := echo.Digest("begun", p.Name()); !seen[begun] {
			if err := l.begin(ctx, p, found, begun); err != nil {
				return false, err
			}
			continue
		}
		for _, r := range found {
			key := keyOf(p, r)
			still[key] = true
			switch {
			case seen[echo.Digest(key)]:
			case !l.settled(key):
				settling = true
			default:
				if err := l.take(ctx, p, r, key); err != nil {
					return settling, err
				}
			}
		}
	}
	if len(errs) == len(places) {
		return false, errors.Join(errs...)
	}
	for _, err := range errs {
		l.c.log.Warn("a place of reminders cannot be read", "error", err)
	}
	maps.DeleteFunc(l.pending, func(key string, _ time.Time) bool { return !still[key] })
	maps.DeleteFunc(l.taken, func(key string, _ int) bool { return !still[key] })
	l.c.looked(open)
	return settling, nil
}

// begin notes what was there before Hob listened for the first time: that was not said
// to it.
func (l *looker) begin(ctx context.Context, p pim.Reminders, found []pim.Reminder, begun [echo.Size]byte) error {
	old := [][echo.Size]byte{begun}
	for _, r := range found {
		old = append(old, echo.Digest(keyOf(p, r)))
	}
	return l.seen.Add(ctx, old...)
}

func (c *Channel) looked(open int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.last = fmt.Sprintf("looked at %s: %d open in the list %q", time.Now().UTC().Format("15:04 MST"), open, c.list)
}

// theirs reports whether a reminder is a message: Hob has not made it, and one that
// comes again is due.
func (l *looker) theirs(r pim.Reminder, own map[[echo.Size]byte]bool) bool {
	switch {
	case r.Done, strings.TrimSpace(r.Title+r.Notes) == "", l.key.Made(r.Notes), l.key.Made(r.Title):
		return false
	case own[echo.Digest(r.Ref)], own[echo.Words(r.Title, r.Notes)]:
		return false
	case r.Repeat && (r.Due.IsZero() || r.Due.After(time.Now())):
		return false
	}
	return true
}

// keyOf names a reminder with its text: one that was changed is another message.
func keyOf(p pim.Reminders, r pim.Reminder) string {
	parts := []string{p.Name(), r.Ref, r.Title, r.Notes}
	if r.Repeat {
		parts = append(parts, r.Due.UTC().Format(time.RFC3339))
	}
	d := echo.Digest(parts...)
	return hex.EncodeToString(d[:])
}

// settled reports whether a reminder has stayed as it is for long enough: while
// somebody writes it, it changes.
func (l *looker) settled(key string) bool {
	since, known := l.pending[key]
	if !known {
		l.pending[key] = time.Now()
		return false
	}
	return time.Since(since) >= l.c.opt.Settle
}

// mostTries is how often Hob tries to tick a reminder off.
const mostTries = 20

// take hands a reminder in, and ticks it off.
func (l *looker) take(ctx context.Context, p pim.Reminders, r pim.Reminder, key string) error {
	if _, before := l.taken[key]; !before {
		_, err := l.to.Receive(ctx, channels.Inbound{
			Chat: p.Name(), ChatName: l.c.list, Sender: sender(p, l.c.list), SenderName: "the list " + l.c.list, Text: text(r), Key: key, At: time.Now(), Unknown: true,
		})
		switch {
		case errors.Is(err, channels.ErrStranger): // the list is not paired
			return l.seen.Add(ctx, echo.Digest(key))
		case err != nil:
			return err
		}
		l.taken[key] = 0
	}
	_, err := p.CompleteReminder(ctx, r.Ref)
	if err == nil || ctx.Err() != nil {
		return nil
	}
	l.c.log.Warn("a reminder was taken and cannot be ticked off", "place", p.Name(), "error", err)
	if l.taken[key]++; l.taken[key] < mostTries {
		return nil
	}
	return l.seen.Add(ctx, echo.Digest(key))
}

// sender is who writes into a list: whoever may.
func sender(p pim.Reminders, list string) string {
	return "list " + strings.ToLower(p.Name()+"/"+list)
}

// text is a reminder as a message.
func text(r pim.Reminder) string {
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

// Send implements channels.Channel: a new reminder with a mark.
func (c *Channel) Send(ctx context.Context, d channels.Delivery) (channels.Receipt, error) {
	switch d.Kind {
	case channels.Status: // nobody looks at a list to see that something takes a while
		return channels.Receipt{}, nil
	case channels.Send:
		return channels.Receipt{}, channels.Errorf(channels.Unsupported, "reminders: nobody is reached by the list but you")
	case channels.Reply, channels.Notice, channels.Question:
	}
	key, err := c.mark(ctx)
	if err != nil {
		return channels.Receipt{}, err
	}
	places, err := c.at(d.Chat)
	if err != nil {
		return channels.Receipt{}, err
	}
	said := markup.Plain(d.Text)
	r := pim.Reminder{UID: "hob-" + hexOf(d.ID) + "@hob", Title: title(said), Notes: key.With(said, d.ID), List: c.list}
	for i, p := range places {
		got, err := p.CreateReminder(ctx, r)
		switch {
		case err != nil && i < len(places)-1 && ctx.Err() == nil && (errors.Is(err, pim.ErrNoFolder) || errors.Is(err, pim.ErrNotFound)):
			continue // the list is somewhere else
		case err != nil:
			return channels.Receipt{}, c.failed(err)
		case got.Outcome == pim.Uncertain:
			e := channels.Errorf(channels.Temporary, "reminders: nobody knows whether it was written: %s", got.Why)
			e.MaybeSent = true
			return channels.Receipt{}, e
		}
		return channels.Receipt{ID: got.ID}, nil
	}
	return channels.Receipt{}, channels.Errorf(channels.Permanent, "reminders: there is no list %q; make one", c.list)
}

func hexOf(id string) string {
	d := echo.Digest(id)
	return hex.EncodeToString(d[:])
}

// at are the places of a chat; those where the list is known to be come first.
func (c *Channel) at(chat string) ([]pim.Reminders, error) {
	places, err := c.places()
	if err != nil {
		return nil, err
	}
	i := slices.IndexFunc(places, func(p pim.Reminders) bool { return p.Name() == chat })
	if i < 0 {
		return places, nil
	}
	return places[i : i+1], nil
}

// failed classifies an error of writing.
func (c *Channel) failed(err error) error {
	out := channels.Errorf(channels.Temporary, "reminders: %w", err)
	switch {
	case errors.Is(err, pim.ErrNoFolder), errors.Is(err, pim.ErrNotFound):
		out = channels.Errorf(channels.Permanent, "reminders: %w; make a list named %q, or set list in [channels.reminders]", err, c.list)
	case errors.Is(err, pim.ErrInvalid), errors.Is(err, pim.ErrRefused):
		out.Class = channels.Permanent
	case errors.Is(err, pim.ErrSignIn):
		out = channels.Errorf(channels.Unauthorised, "reminders: %w; set the password of the account anew", err)
	default:
		if busy, ok := errors.AsType[*pim.BusyError](err); ok {
			out.Class, out.RetryAt = channels.Later, busy.Until
		}
	}
	return out
}

// Find implements channels.Finder.
func (c *Channel) Find(ctx context.Context, d channels.Delivery) (channels.Receipt, bool, error) {
	key, err := c.mark(ctx)
	if err != nil {
		return channels.Receipt{}, false, err
	}
	places, err := c.at(d.Chat)
	if err != nil {
		return channels.Receipt{}, false, err
	}
	want := key.Mark(d.ID)
	for _, p := range places {
		all, err := p.FindReminders(ctx, true)
		if err = missed(err); err != nil {
			return channels.Receipt{}, false, err
		}
		for _, r := range all {
			if strings.Contains(r.Notes, want) {
				return channels.Receipt{ID: r.Ref}, true, nil
			}
		}
	}
	return channels.Receipt{}, false, nil
}

const maxTitle = 80

// title is the first line of what is said.
func title(said string) string {
	line, _, _ := strings.Cut(strings.TrimSpace(said), "\n")
	return "Hob: " + cmp.Or(pim.Line(line, maxTitle), "…")
}
