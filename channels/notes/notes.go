// Package notes makes a folder of notes ("Hob") a place to talk: a note in it whose
// title, or first line, begins with "#hob " is a message, and what Hob says becomes a
// new note there. The notes are those of the Notes app, or a folder of Markdown files
// (platform/pim). The channels manager calls it.
//
// A note is a message once: what is written into it after it was taken is not heard.
// Who writes into a folder nobody says, so it is nobody's until it is paired: the owner
// writes the code into it ("#hob 2345A-BCDEF"), and from then on such notes are his
// word. No question is answered by them: any program that may write his notes could do
// that. What Hob has written itself, or its tools have, it never reads (see
// platform/pim/echo).
package notes

import (
	"cmp"
	"context"
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
const Name = "notes"

// Config is the section [channels.notes]; "enabled" is the manager's.
type Config struct {
	// Folder is the name of the folder (default "Hob").
	Folder string `toml:"folder"`
	// Account is where it is: "apple", or "folder" for that of [pim] notes_folder; "":
	// wherever there is a folder of that name.
	Account string `toml:"account"`
}

const (
	prefix  = "#hob"
	maxText = 4000 // characters of a note that is a message
	most    = 1000 // notes that are looked at, the newest
)

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
	Settle time.Duration // for which a note stays as it is before it is taken (20 s)
}

// Channel is one folder.
type Channel struct {
	folder, account string
	notes           func() []pim.Notes
	keep            channels.Keeper
	log             *slog.Logger
	opt             Options

	mu   sync.Mutex
	key  *echo.Key
	last string // how the last look went
}

// New checks the configuration; it reads nothing.
func New(c Config, deps channels.Deps, o Options) (*Channel, error) {
	ch := &Channel{folder: FolderOf(c), account: strings.TrimSpace(c.Account), notes: deps.Notes, keep: deps.Keep, log: deps.Log, opt: o}
	ch.opt.Every, ch.opt.Settle = cmp.Or(o.Every, time.Minute), cmp.Or(o.Settle, 20*time.Second)
	if ch.log == nil {
		ch.log = slog.New(slog.DiscardHandler)
	}
	if len([]rune(ch.folder)) > 100 || strings.ContainsAny(ch.folder, "\n\r") {
		return nil, errors.New("folder is the name of one folder of notes, at most 100 characters")
	}
	return ch, nil
}

// FolderOf is the folder of a configuration.
func FolderOf(c Config) string { return cmp.Or(strings.Trim(strings.TrimSpace(c.Folder), "/"), "Hob") }

// Limits implements channels.Limiter.
func (*Channel) Limits() channels.Limits { return channels.Limits{MaxText: 50_000} }

// Describe implements channels.Describer.
func (c *Channel) Describe() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return cmp.Or(c.last, fmt.Sprintf("waits for notes that begin with %s in the folder %q", prefix, c.folder))
}

// Test implements channels.Tester.
func (c *Channel) Test(ctx context.Context) (string, error) {
	places, err := c.places()
	if err != nil {
		return "", err
	}
	var said []string
	for _, p := range places {
		found, err := p.FindNotes(ctx, prefix, most)
		if err = missed(err); err != nil {
			return "", err
		}
		said = append(said, fmt.Sprintf("%s: %d notes hold %s", p.Name(), len(found), prefix))
	}
	return strings.Join(said, "; "), nil
}

// places are those where the folder may be.
func (c *Channel) places() ([]pim.Notes, error) {
	var out []pim.Notes
	var names []string
	if c.notes != nil {
		for _, p := range c.notes() {
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
		return nil, channels.Errorf(channels.Permanent, "notes: there is no place %q; set account in [channels.notes] to one of %s", c.account, strings.Join(names, ", "))
	}
	return nil, channels.Errorf(channels.Permanent, "notes: nowhere can notes be kept; set notes_folder in [pim] to a folder of Markdown files, or use a Mac")
}

// mark opens the key of Hob's own notes.
func (c *Channel) mark(ctx context.Context) (echo.Key, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.key != nil {
		return *c.key, nil
	}
	if c.keep == nil {
		return echo.Key{}, errors.New("notes: nothing can be kept here")
	}
	k, err := echo.OpenKey(ctx, c.keep)
	if err != nil {
		return k, fmt.Errorf("notes: %w", err)
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
	look := &looker{c: c, to: r, key: key, seen: echo.NewSet(c.keep, "seen", 7000), own: echo.NewSet(c.keep, echo.Own, echo.MostOwn), pending: map[[echo.Size]byte]state{}}
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

// state is how a note stood, and since when it has.
type state struct {
	changed, since time.Time
}

// looker reads the folder. It belongs to Run.
type looker struct {
	c       *Channel
	to      channels.Receiver
	key     echo.Key
	seen    *echo.Set // notes that were dealt with
	own     *echo.Set
	pending map[[echo.Size]byte]state
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
	still := map[[echo.Size]byte]bool{}
	for _, p := range places {
		found, err := p.FindNotes(ctx, prefix, most)
		if err = missed(err); err != nil {
			errs = append(errs, fmt.Errorf("notes: %s: %w", p.Name(), err))
			continue
		}
		begun := echo.Digest("begun", p.Name())
		found = slices.DeleteFunc(found, func(n pim.Note) bool { return !asks(n) || !l.theirs(n, own) })
		if !seen[begun] { // what was there before Hob listened was not said to it
			old := [][echo.Size]byte{begun}
			for _, n := range found {
				old = append(old, idOf(p, n))
			}
			if err := l.seen.Add(ctx, old...); err != nil {
				return false, err
			}
			continue
		}
		for _, n := range found {
			id := idOf(p, n)
			still[id] = true
			switch {
			case seen[id]:
			case !l.settled(id, n):
				settling = true
			default:
				if err := l.take(ctx, p, n, own); err != nil {
					return settling, err
				}
			}
		}
	}
	if len(errs) == len(places) {
		return false, errors.Join(errs...)
	}
	for _, err := range errs {
		l.c.log.Warn("a place of notes cannot be read", "error", err)
	}
	maps.DeleteFunc(l.pending, func(id [echo.Size]byte, _ state) bool { return !still[id] })
	l.c.mu.Lock()
	defer l.c.mu.Unlock()
	l.c.last = fmt.Sprintf("looked at %s in the folder %q", time.Now().UTC().Format("15:04 MST"), l.c.folder)
	return settling, nil
}

// idOf names a note, whatever becomes of its text.
func idOf(p pim.Notes, n pim.Note) [echo.Size]byte { return echo.Digest("note", p.Name(), n.Ref) }

// asks reports whether a note is a message. Its title may be the name of a file, in
// which some programs allow no "#": there the first line counts.
func asks(n pim.Note) bool {
	_, yes := question(n)
	return yes
}

// question is what a note says, without the prefix.
func question(n pim.Note) (string, bool) {
	body := strings.TrimSpace(n.Text)
	first, rest, _ := strings.Cut(body, "\n")
	if after, ok := after(n.Title); ok {
		if strings.TrimSpace(first) == strings.TrimSpace(n.Title) { // the Notes app: the first line is the title
			body = rest
		}
		return strings.TrimSpace(after + "\n" + strings.TrimSpace(body)), true
	}
	if after, ok := after(first); ok {
		return strings.TrimSpace(after + "\n" + rest), true
	}
	return "", false
}

// after is what follows the prefix.
func after(line string) (string, bool) {
	line = strings.TrimSpace(line)
	if len(line) < len(prefix) || !strings.EqualFold(line[:len(prefix)], prefix) {
		return "", false
	}
	rest := line[len(prefix):]
	return strings.TrimSpace(rest), rest == "" || strings.HasPrefix(rest, " ") || strings.HasPrefix(rest, "\u00a0")
}

// theirs reports whether Hob has not made a note itself.
func (l *looker) theirs(n pim.Note, own map[[echo.Size]byte]bool) bool {
	return !l.key.Made(n.Text) && !own[echo.Digest(n.Ref)]
}

// settled reports whether a note has stayed as it is for long enough: while somebody
// writes it, it changes.
func (l *looker) settled(id [echo.Size]byte, n pim.Note) bool {
	now := time.Now()
	before, known := l.pending[id]
	if !known || !before.changed.Equal(n.Changed) {
		l.pending[id] = state{n.Changed, now}
		return false
	}
	return now.Sub(before.since) >= l.c.opt.Settle
}

// take reads a note and hands it in, when it lies in the folder.
func (l *looker) take(ctx context.Context, p pim.Notes, n pim.Note, own map[[echo.Size]byte]bool) error {
	id := idOf(p, n)
	whole, err := p.ReadNote(ctx, n.Ref)
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case err != nil:
		l.c.log.Warn("a note cannot be read", "place", p.Name(), "error", err)
		return nil // perhaps at the next look
	case !whole.Changed.Equal(n.Changed):
		return nil // it is being written
	case !strings.EqualFold(strings.Trim(whole.Folder, "/ "), l.c.folder):
		return nil // it may be moved here
	}
	text, ok := question(whole)
	if !ok || text == "" || !l.theirs(whole, own) || own[echo.Words(whole.Title, whole.Text)] || own[echo.Words(whole.Text)] {
		return nil
	}
	if r := []rune(text); len(r) > maxText {
		text = string(r[:maxText]) + "\n[cut]"
	}
	_, err = l.to.Receive(ctx, channels.Inbound{
		Chat: p.Name(), ChatName: l.c.folder, Sender: sender(p, l.c.folder), SenderName: "the folder " + l.c.folder, Text: text,
		Key: fmt.Sprintf("%x", id), At: whole.Changed, Unknown: true,
	})
	if err != nil && !errors.Is(err, channels.ErrStranger) { // then the folder is not paired
		return err
	}
	return l.seen.Add(ctx, id)
}

// sender is who writes into a folder: whoever may.
func sender(p pim.Notes, folder string) string {
	return "folder " + strings.ToLower(p.Name()+"/"+folder)
}

// Send implements channels.Channel: a new note with a mark.
func (c *Channel) Send(ctx context.Context, d channels.Delivery) (channels.Receipt, error) {
	switch d.Kind {
	case channels.Status: // nobody looks at notes to see that something takes a while
		return channels.Receipt{}, nil
	case channels.Send:
		return channels.Receipt{}, channels.Errorf(channels.Unsupported, "notes: nobody is reached by the folder but you")
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
	// The text begins with words of Hob's own: it can begin with no prefix.
	n := pim.Note{Title: title(said), Text: key.With(heading+"\n\n"+said, d.ID), Folder: c.folder}
	for i, p := range places {
		got, err := p.CreateNote(ctx, n)
		switch {
		case err != nil && i < len(places)-1 && ctx.Err() == nil && elsewhere(err):
			continue
		case err != nil:
			return channels.Receipt{}, c.failed(err)
		case got.Outcome == pim.Uncertain:
			e := channels.Errorf(channels.Temporary, "notes: nobody knows whether it was written: %s", got.Why)
			e.MaybeSent = true
			return channels.Receipt{}, e
		}
		return channels.Receipt{ID: got.ID}, nil
	}
	return channels.Receipt{}, channels.Errorf(channels.Permanent, "notes: there is no folder %q; make one", c.folder)
}

const (
	heading  = "Hob says:"
	maxTitle = 60
)

// title names a note by the first line of what it says.
func title(said string) string {
	line, _, _ := strings.Cut(strings.TrimSpace(said), "\n")
	return "Re: " + cmp.Or(pim.Line(line, maxTitle), "…")
}

// elsewhere reports whether the folder is not in that place.
func elsewhere(err error) bool {
	return errors.Is(err, pim.ErrNoFolder) || errors.Is(err, pim.ErrNotFound) || errors.Is(err, errors.ErrUnsupported)
}

// at are the places of a chat.
func (c *Channel) at(chat string) ([]pim.Notes, error) {
	places, err := c.places()
	if err != nil {
		return nil, err
	}
	i := slices.IndexFunc(places, func(p pim.Notes) bool { return p.Name() == chat })
	if i < 0 {
		return places, nil
	}
	return places[i : i+1], nil
}

// failed classifies an error of writing.
func (c *Channel) failed(err error) error {
	switch {
	case elsewhere(err):
		return channels.Errorf(channels.Permanent, "notes: %w; make a folder named %q, or set folder in [channels.notes]", err, c.folder)
	case errors.Is(err, pim.ErrInvalid), errors.Is(err, pim.ErrRefused):
		return channels.Errorf(channels.Permanent, "notes: %w", err)
	}
	return channels.Errorf(channels.Temporary, "notes: %w", err)
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
	want := strings.Trim(strings.Fields(key.Mark(d.ID))[1], "()")
	for _, p := range places {
		found, err := p.FindNotes(ctx, want, 1)
		if err = missed(err); err != nil {
			return channels.Receipt{}, false, err
		}
		if len(found) > 0 {
			return channels.Receipt{ID: found[0].Ref}, true, nil
		}
	}
	return channels.Receipt{}, false, nil
}
