package watchers

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"hob/platform/store"
	"hob/platform/text/sorting"
	"hob/platform/text/textnorm"
)

// maxUpcoming limits the occurrences per watcher in the result of Upcoming.
const maxUpcoming = 100

// ErrAmbiguous is wrapped by the error of Find if several watchers match.
var ErrAmbiguous = errors.New("several watchers match")

// Occurrence is one future firing of a watcher.
type Occurrence struct {
	Spec Spec      `json:"watcher"`
	At   time.Time `json:"at"`
}

// Get returns one watcher, or an error that wraps ErrNotFound.
func (m *Manager) Get(ctx context.Context, id string) (Spec, error) {
	r, err := m.selectRow(m.opt.Store.Reader(ctx), id)
	return r.Spec, err
}

// List returns the watchers that match f, newest first.
func (m *Manager) List(ctx context.Context, f Filter) ([]Spec, error) {
	return m.ListIn(m.opt.Store.Reader(ctx), f)
}

// ListIn is like List, but runs inside a transaction and includes its changes.
func (m *Manager) ListIn(q store.Querier, f Filter) ([]Spec, error) {
	where, args := f.whereClause()
	rows, err := m.selectRows(q, where+" ORDER BY created_at DESC, id DESC", args...)
	if err != nil {
		return nil, err
	}
	out := make([]Spec, len(rows))
	for i, r := range rows {
		out[i] = r.Spec
	}
	return out, nil
}

// Find returns the watcher that words name: by its id, four or more characters at the start of its
// id, its title, or words of its title, action and description. It skips finished watchers unless f
// includes them. Its error wraps ErrNotFound, or ErrAmbiguous with a list of the matches.
func (m *Manager) Find(ctx context.Context, words string, f Filter) (Spec, error) {
	return m.FindIn(m.opt.Store.Reader(ctx), words, f)
}

// FindIn is like Find, but runs inside a transaction.
func (m *Manager) FindIn(q store.Querier, words string, f Filter) (Spec, error) {
	words = strings.TrimSpace(words)
	if words == "" {
		return Spec{}, fmt.Errorf("%w: name a watcher by its id or by words of its description", ErrNotFound)
	}
	if len(f.States) == 0 {
		f.States = []State{Active, Paused, Broken}
	}
	all, err := m.ListIn(q, f)
	if err != nil {
		return Spec{}, err
	}
	for _, match := range []func(Spec) bool{
		func(s Spec) bool { return s.ID == words },
		func(s Spec) bool { return len(words) >= 4 && strings.HasPrefix(s.ID, strings.ToLower(words)) },
		func(s Spec) bool { return textnorm.EqualFolded(s.Title, words) },
		m.hasWords(words),
	} {
		found := slices.DeleteFunc(slices.Clone(all), func(s Spec) bool { return !match(s) })
		if len(found) == 1 {
			return found[0], nil
		}
		if len(found) > 1 {
			return Spec{}, fmt.Errorf("%w %q; choose one by more words or by its id:%s", ErrAmbiguous, words, m.listLines(found))
		}
	}
	if len(all) == 0 {
		return Spec{}, fmt.Errorf("%w: no watchers are set up", ErrNotFound)
	}
	return Spec{}, fmt.Errorf("%w: none matches %q; choose from:%s", ErrNotFound, words, m.listLines(all))
}

func (m *Manager) hasWords(words string) func(Spec) bool {
	want := textnorm.FoldedWords(words)
	return func(s Spec) bool {
		have := textnorm.FoldedWords(s.Title + " " + s.Action + " " + m.describeConfig(s) + " " + string(s.Config))
		for _, w := range want {
			if !slices.ContainsFunc(have, func(h string) bool { return h == w || (len(w) > 3 && strings.HasPrefix(h, w)) }) {
				return false
			}
		}
		return len(want) > 0
	}
}

func (m *Manager) listLines(list []Spec) string {
	const most = 6
	var b strings.Builder
	for i, s := range list {
		if i == most {
			fmt.Fprintf(&b, "\n- and %d more", len(list)-most)
			break
		}
		fmt.Fprintf(&b, "\n- %s (%s)", textnorm.Ellipsize(m.Describe(s), 100), s.ID)
	}
	return b.String()
}

// Next returns the time at which the next timed watcher is due.
func (m *Manager) Next(ctx context.Context) (time.Time, bool) {
	var ms int64
	err := m.opt.Store.Reader(ctx).QueryRow("SELECT coalesce(min(next_at), 0) FROM watchers WHERE state = ? AND next_at > 0", string(Active)).Scan(&ms)
	if err != nil || ms == 0 {
		return time.Time{}, false
	}
	return store.Time(ms), true
}

// Upcoming returns the occurrences in [from, to) in order, at most 100 per watcher.
func (m *Manager) Upcoming(ctx context.Context, from, to time.Time) ([]Occurrence, error) {
	rows, err := m.selectRows(m.opt.Store.Reader(ctx), " WHERE state = ? AND next_at > 0 AND next_at < ?", string(Active), store.Millis(to))
	if err != nil {
		return nil, err
	}
	var out []Occurrence
	for _, r := range rows {
		made, err := m.buildWatcher(r.Spec)
		timed, ok := made.(Timed)
		if err != nil || !ok {
			continue // the loop reports the error
		}
		at := r.NextAt
		if at.Before(from) {
			at, ok = nextOccurrence(timed, from.Add(-time.Millisecond))
		}
		for n := 0; ok && at.Before(to) && n < maxUpcoming; n++ {
			out = append(out, Occurrence{Spec: r.Spec, At: at})
			at, ok = nextOccurrence(timed, at)
		}
	}
	sorting.StableByFunc(out, func(a, b Occurrence) int { return a.At.Compare(b.At) })
	return out, nil
}

// Priorities returns the values of Spec.Priority, the lowest first.
func Priorities() []string { return []string{"low", "medium", "high", "critical"} }

// PriorityWords describes the priority of a reminder: "high priority". It returns "" for the default.
func (s Spec) PriorityWords() string {
	if s.Priority == "" {
		return ""
	}
	return s.Priority + " priority"
}

// Describe describes the source and the action of a watcher in plain words.
func (m *Manager) Describe(s Spec) string {
	what := m.describeConfig(s)
	if pace := s.PollPolicy.describePace(); pace != "" {
		what += " (" + pace + ")"
	}
	if p := s.PriorityWords(); p != "" {
		what += " (" + p + ")"
	}
	switch {
	case s.Action == "":
		return what
	case s.Mode == Show:
		return what + ", then remind you: " + s.Action
	case s.Mode == Tell:
		return what + ", then tell the sender: " + s.Action
	}
	return what + ": " + s.Action
}

func (m *Manager) describeConfig(s Spec) string {
	d, ok := m.drivers[s.Kind]
	if !ok {
		return s.Kind
	}
	if p, ok := d.(ZoneDescriber); ok {
		return p.DescribeConfigIn(s.Config, m.opt.Zone())
	}
	return d.DescribeConfig(s.Config)
}

// noticeLabel returns the name of a watcher for notices.
func (m *Manager) noticeLabel(s Spec) string {
	switch {
	case s.Mode == Remind:
		return s.Action
	case s.Title != "":
		return s.Title
	}
	return m.describeConfig(s)
}

// Called returns the other names, addresses and numbers of a person.
func (m *Manager) Called(q store.Querier, name string) []string { return m.opt.Called(q, name) }
