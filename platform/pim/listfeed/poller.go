package listfeed

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"strings"
	"sync"
	"time"

	"hob/platform/pim"
	"hob/platform/retry"
)

// Entry is an item of a list or folder that may be a message.
type Entry struct {
	Ref  string // identifies the entry to its source
	List string // identifies the list independently of its title
	// Key identifies the message: of several entries with one key, only one is received, and only
	// once.
	Key string
	// State changes while someone edits the entry.
	State string
	// Texts are the entry's texts that the source returns without reading the
	// entry.
	Texts []string
	// Text is the message, if it is already known.
	Text string
	// At is the change time according to the source.
	At time.Time
	// Shared is true if the source reports that other people can write to the list or folder.
	Shared bool
}

// Source is one account, or one program, that has the list or the folder.
type Source interface {
	Name() string
	// Entries returns the entries that may be messages. The error wraps pim.ErrNoFolder if the list
	// or folder does not exist.
	Entries(ctx context.Context) ([]Entry, error)
}

// Completer is a Source whose entries can be marked as done after receipt. Entries of other sources
// stay unchanged.
type Completer interface {
	Tick(ctx context.Context, ref string) error
}

// Taken is the result of processing an entry.
type Taken uint8

// Results of processing an entry.
const (
	NotYet Taken = iota // check it again later
	Heard               // a message that was received
	Never               // the entry is not a message
)

// Options of a Poller.
type Options struct {
	What   string // the polled item, for errors: "reminders"
	Name   string // name of the list or folder
	Keep   StateStore
	Log    *slog.Logger
	Every  time.Duration // interval between two polls
	Settle time.Duration // how long an entry must be unchanged before it is received
	Places func() ([]Source, error)
}

// Poller polls the entries of a list or folder and reports each once. Entries that
// existed before the first poll are ignored. Entries of shared lists are ignored.
// Its methods may be called concurrently, Run only once.
type Poller struct {
	o    Options
	seen *Set // processed entries that cannot be marked as done
	own  *Set
	// taken holds received entries that are still open, with the number of failed
	// attempts to complete them. Only Run uses it.
	taken map[string]int

	mu      sync.Mutex
	key     *Key
	sighted map[string]entryState
	last    string // result of the last poll
}

// entryState is the state of an entry and the time since when it has that state.
type entryState struct {
	state string
	since time.Time
}

// NewPoller returns a Poller; it reads nothing yet.
func NewPoller(o Options) *Poller {
	return &Poller{o: o, seen: NewSet(o.Keep, "seen", 7000), own: NewSet(o.Keep, Own, MostOwn), taken: map[string]int{}, sighted: map[string]entryState{}}
}

// Key loads the key that marks Hob's own entries.
func (e *Poller) Key(ctx context.Context) (Key, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.key != nil {
		return *e.key, nil
	}
	if e.o.Keep == nil {
		return Key{}, fmt.Errorf("%s: the channel cannot save state", e.o.What)
	}
	k, err := OpenKey(ctx, e.o.Keep)
	if err != nil {
		return k, fmt.Errorf("%s: %w", e.o.What, err)
	}
	e.key = &k
	return k, nil
}

// Made records an entry that Hob has just created. The mark in its text identifies it too, but some
// programs truncate texts.
func (e *Poller) Made(ctx context.Context, ref string) {
	if ref == "" {
		return
	}
	if err := e.own.Add(context.WithoutCancel(ctx), Digest(ref)); err != nil {
		e.o.Log.Warn("cannot save the digest of one of Hob's entries; only its mark identifies the entry", "channel", e.o.What, "error", err)
	}
}

// Last describes the last poll, "" before the first.
func (e *Poller) Last() string {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.last
}

// Run polls until ctx ends and passes each settled entry to take, with the
// latest time at which it can have been written.
func (e *Poller) Run(ctx context.Context, take func(ctx context.Context, p Source, x Entry) (Taken, error)) error {
	if _, err := e.Key(ctx); err != nil {
		return ignoreCancel(ctx, err)
	}
	for {
		next, err := e.pollSources(ctx, take)
		if err != nil {
			return ignoreCancel(ctx, err)
		}
		if retry.Sleep(ctx, next) != nil {
			return nil
		}
	}
}

func ignoreCancel(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return nil
	}
	return err
}

// RecordSnapshot records the current entries of the source place, or of all sources if place is "".
// Later entries count as newer. Call it before asking a question in that source, so that no older
// entry is read as the answer.
func (e *Poller) RecordSnapshot(ctx context.Context, place string) error {
	places, err := e.o.Places()
	if err != nil {
		return err
	}
	for _, p := range sourcesNamed(places, place) {
		if _, err := e.foreignEntries(ctx, p, nil); err != nil && !errors.Is(err, pim.ErrNoFolder) {
			return fmt.Errorf("%s: %s: %w", e.o.What, p.Name(), err)
		}
	}
	return nil
}

// foreignEntries reads the entries of a source that are not Hob's own.
func (e *Poller) foreignEntries(ctx context.Context, p Source, own map[[Size]byte]bool) ([]Entry, error) {
	all, err := p.Entries(ctx)
	if _, partly := errors.AsType[*pim.PartialError](err); err != nil && !partly {
		return nil, err
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	found := all[:0]
	for _, x := range all {
		if isOwnEntry(x, own) {
			continue
		}
		found = append(found, x)
		if was, known := e.sighted[x.Key]; !known || was.state != x.State {
			e.sighted[x.Key] = entryState{x.State, time.Now()}
		}
	}
	return found, nil
}

// isOwnEntry reports whether Hob or one of its tools created an entry. It also compares the texts
// without the first, because the first may be a title that a program has changed.
func isOwnEntry(x Entry, own map[[Size]byte]bool) bool {
	return Marked(x.Texts...) || own[Digest(x.Ref)] || own[Words(x.Texts...)] || len(x.Texts) > 1 && own[Words(x.Texts[1:]...)]
}

// Own reports whether Hob or one of its tools created an entry. Call it when the text of the entry
// was not completely known during the poll.
func (e *Poller) Own(ctx context.Context, x Entry) (bool, error) {
	own, err := e.own.All(ctx)
	return isOwnEntry(x, own), err
}

// pollSources polls every source once and returns the delay until the next poll.
func (e *Poller) pollSources(ctx context.Context, take func(context.Context, Source, Entry) (Taken, error)) (next time.Duration, err error) {
	began := time.Now()
	places, err := e.o.Places()
	if err != nil {
		return 0, err
	}
	own, err := e.own.All(ctx)
	if err != nil {
		return 0, err
	}
	next = e.o.Every
	var errs []error
	still := map[string]bool{}
	var s status
	for _, p := range places {
		found, err := e.foreignEntries(ctx, p, own)
		switch {
		case errors.Is(err, pim.ErrNoFolder): // entries that appear later are new
		case err != nil:
			errs = append(errs, fmt.Errorf("%s: %s: %w", e.o.What, p.Name(), err))
			continue
		default:
			s.places++
		}
		soon, err := e.processEntries(ctx, p, found, take, &s)
		if err != nil {
			return 0, err
		}
		next = min(next, soon)
		for _, x := range found {
			still[x.Key] = true
		}
	}
	if len(errs) > 0 && len(errs) == len(places) {
		return 0, errors.Join(errs...)
	}
	for _, err := range errs {
		e.o.Log.Warn("cannot read a list or folder", "channel", e.o.What, "error", err)
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	e.last = s.statusText(e.o)
	if len(errs) == 0 {
		maps.DeleteFunc(e.taken, func(key string, _ int) bool { return !still[key] })
		maps.DeleteFunc(e.sighted, func(key string, s entryState) bool { return !still[key] && s.since.Before(began) })
	}
	return next, nil
}

// status is the result of one poll.
type status struct {
	places, open int
	shared       bool
}

func (s status) statusText(o Options) string {
	at := "checked at " + time.Now().UTC().Format("15:04 MST")
	switch {
	case s.places == 0:
		return fmt.Sprintf("%s: %q does not exist; create it or set its name in [channels.%s]", at, o.Name, o.What)
	case s.shared:
		return fmt.Sprintf("%s: %q is shared with others, so its entries are not treated as yours; stop sharing it, or choose another list or folder", at, o.Name)
	}
	return fmt.Sprintf("%s: entries in %q: %d", at, o.Name, s.open)
}

// processEntries processes settled entries and returns the delay until the next poll.
func (e *Poller) processEntries(ctx context.Context, p Source, found []Entry, take func(context.Context, Source, Entry) (Taken, error), s *status) (time.Duration, error) {
	next := e.o.Every
	seen, err := e.seen.All(ctx)
	if err != nil {
		return 0, err
	}
	if begun := Digest("begun", p.Name()); !seen[begun] {
		old := [][Size]byte{begun}
		for _, x := range found {
			old = append(old, Digest(x.Key))
		}
		return next, e.seen.Add(ctx, old...)
	}
	for _, x := range found {
		_, taken := e.taken[x.Key]
		written, settled := e.isSettled(x)
		s.open++
		s.shared = s.shared || x.Shared
		switch {
		case seen[Digest(x.Key)]:
			continue
		case taken: // unchanged since it was received
			err = e.completeEntry(ctx, p, x)
		case x.Shared:
			err = e.seen.Add(ctx, Digest(x.Key))
		case !settled:
			next = min(next, e.o.Settle)
		default:
			x.At = written
			var now bool
			if now, err = e.forwardEntry(ctx, p, x, take); now {
				next = 0
			}
		}
		if err != nil {
			return 0, err
		}
	}
	return next, nil
}

// skew is subtracted from the time at which an entry was first seen. The engine
// accepts answers up to this much older than the question, because most platforms
// truncate times to seconds.
const skew = 2 * time.Second

// isSettled reports whether an entry has been unchanged for long enough. written is the latest time
// at which the entry can have been written.
func (e *Poller) isSettled(x Entry) (written time.Time, ok bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	s, known := e.sighted[x.Key]
	written = s.since.Add(-skew)
	if !x.At.IsZero() && x.At.Before(written) {
		written = x.At
	}
	return written, known && time.Since(s.since) >= e.o.Settle
}

// forwardEntry forwards an entry. The next poll, which follows at once, marks it as done
// if it is unchanged; an entry edited in between is a new message.
func (e *Poller) forwardEntry(ctx context.Context, p Source, x Entry, take func(context.Context, Source, Entry) (Taken, error)) (tick bool, err error) {
	what, err := take(ctx, p, x)
	_, ticks := p.(Completer)
	switch {
	case err != nil || what == NotYet:
		return false, err
	case what == Heard && ticks:
		e.taken[x.Key] = 0
		return true, nil
	}
	return false, e.seen.Add(ctx, Digest(x.Key))
}

// mostTries is the maximum number of attempts to mark an entry as done.
const mostTries = 20

func (e *Poller) completeEntry(ctx context.Context, p Source, x Entry) error {
	err := p.(Completer).Tick(ctx, x.Ref)
	if err == nil || ctx.Err() != nil {
		return nil
	}
	e.o.Log.Warn("cannot mark a received message as done", "channel", e.o.What, "place", p.Name(), "error", err)
	if e.taken[x.Key]++; e.taken[x.Key] < mostTries {
		return nil
	}
	return e.seen.Add(ctx, Digest(x.Key))
}

// SenderOf returns the sender name for writers of a list. If the source has list IDs, the name
// stays the same when the list is renamed, and a new list with the old title gets another name.
func SenderOf(kind string, p Source, x Entry, name string) string {
	if x.List == "" {
		return kind + " " + strings.ToLower(p.Name()+"/"+name)
	}
	return fmt.Sprintf("%s %s/%x", kind, strings.ToLower(p.Name()), Digest(x.List))
}

// maxText is the maximum length of a message on this channel, in characters.
const maxText = 4000

// Short truncates text to the maximum length of a message.
func Short(text string) string {
	if r := []rune(text); len(r) > maxText {
		return string(r[:maxText]) + "\n[cut]"
	}
	return text
}
