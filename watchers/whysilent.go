package watchers

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"hob/knowledge/store"
	"hob/platform/phrase"
)

// Silence is why a watcher says nothing.
type Silence struct {
	Watcher     Spec   `json:"watcher"`
	Description string `json:"description"`
	// Holds are the rules by which it says nothing now, the weightiest first.
	Holds []Hold `json:"holds"`
	// Counts are how much each rule held back, Passed the newest of it.
	Counts []Count  `json:"counts"`
	Passed []Passed `json:"passed"`
}

// Hold is a rule that holds a whole watcher now.
type Hold struct {
	Rule Rule `json:"rule"`
	// Text says it in words; Error is what its source or its setup says, in the
	// words of others.
	Text  string    `json:"text"`
	Error string    `json:"error,omitempty"`
	Until time.Time `json:"until,omitzero"`
}

// Count is how much a rule held back of what a watcher saw.
type Count struct {
	Rule  Rule      `json:"rule"`
	Count int       `json:"count"`
	First time.Time `json:"first"`
	Last  time.Time `json:"last"`
}

// Silence explains why a watcher says nothing.
func (m *Manager) Silence(ctx context.Context, id string) (Silence, error) {
	q := m.opt.Store.Reader(ctx)
	r, err := selectRow(q, id)
	if err != nil {
		return Silence{}, err
	}
	s := Silence{Watcher: r.Spec, Description: m.Describe(r.Spec)}
	p, err := selectPoll(q, id)
	if err != nil && !errors.Is(err, ErrNotFound) {
		return Silence{}, err
	}
	s.Holds = m.holds(r.Spec, p, time.Now())
	if s.Counts, err = counts(q, id); err != nil {
		return Silence{}, err
	}
	if s.Passed, err = m.passed(q, id, nil, time.Time{}, KeepPassed); err != nil {
		return Silence{}, err
	}
	waiting, err := m.Held(ctx, id)
	for _, h := range waiting[max(0, len(waiting)-KeepPassed):] {
		s.Passed = append(s.Passed, Passed{Watcher: id, Rule: RuleHours, Text: h.Signal.Text, At: h.Signal.At, Why: "it waits for the active hours " + h.Hours})
	}
	return s, err
}

// Passed finds what watchers saw and did not tell, the newest first: with all of
// the words in it, since a time.
func (m *Manager) Passed(ctx context.Context, words []string, since time.Time, limit int) ([]Passed, error) {
	return m.passed(m.opt.Store.Reader(ctx), "", words, since, limit)
}

func (m *Manager) passed(q store.Querier, id string, words []string, since time.Time, limit int) ([]Passed, error) {
	kept, err := selectPassed(q, "WHERE (?1 = '' OR watcher = ?1) AND at >= ?2 ORDER BY n DESC", id, store.Millis(since))
	if err != nil {
		return nil, err
	}
	out := append(append([]Passed{}, m.silent.waiting(id)...), kept...)
	out = slices.DeleteFunc(out, func(p Passed) bool { return p.At.Before(since) || !phrase.Has(p.Text, words) })
	slices.SortStableFunc(out, func(a, b Passed) int { return b.At.Compare(a.At) })
	return out[:min(len(out), limit)], nil
}

func counts(q store.Querier, id string) ([]Count, error) {
	rows, err := q.Query("SELECT rule, count, first_at, last_at FROM watcher_silences WHERE watcher = ? ORDER BY last_at DESC", id)
	if err != nil {
		return nil, fmt.Errorf("watchers: read what was not told: %w", err)
	}
	defer rows.Close()
	out := []Count{}
	for rows.Next() {
		var c Count
		var first, last int64
		if err := rows.Scan(&c.Rule, &c.Count, &first, &last); err != nil {
			return nil, fmt.Errorf("watchers: read what was not told: %w", err)
		}
		c.First, c.Last = store.Time(first), store.Time(last)
		out = append(out, c)
	}
	return out, rows.Err()
}

// holds are the rules that hold a watcher now.
func (m *Manager) holds(s Spec, p poll, now time.Time) []Hold {
	switch s.State {
	case Paused:
		return []Hold{{Rule: RulePaused, Text: "it is paused; `hob watch resume " + s.ID + "` sets it going again"}}
	case Broken:
		return []Hold{{Rule: RuleBroken, Text: "it stopped, since it cannot work as it is set up", Error: s.LastError}}
	case Done:
		return []Hold{{Rule: RuleDone, Text: "it is over: it fired for the last time " + clockTime(s.FiredAt, now, m.opt.Zone())}}
	}
	made, err := m.build(s)
	if err != nil {
		return []Hold{{Rule: RuleBroken, Text: "it cannot be started", Error: err.Error()}}
	}
	out := []Hold{}
	if p.left > 0 && p.day == now.In(m.opt.Zone()).Format(time.DateOnly) {
		out = append(out, Hold{Rule: RulePerDay, Text: fmt.Sprintf("it has fired %d times today, which is its limit (per_day = %d)", p.fired, cmp.Or(s.PerDay, m.opt.PerDay))})
	}
	switch made.(type) {
	case Timed:
		return append(out, Hold{Rule: RuleNotDue, Text: "it is due next " + comes(s.NextAt, now, m.opt.Zone()), Until: s.NextAt})
	case Polled:
		return append(out, m.pollHolds(s, p, now)...)
	}
	out = append(out, m.outside(s, now)...)
	if s.LastError != "" {
		out = append(out, Hold{Rule: RuleFailing, Text: "it does not work, or not wholly, and goes on trying", Error: s.LastError})
	}
	return out
}

// pollHolds are those of a watcher that is asked again and again.
func (m *Manager) pollHolds(s Spec, p poll, now time.Time) (out []Hold) {
	zone := m.opt.Zone()
	if p.fails > 0 {
		out = append(out, Hold{
			Rule: RuleFailing, Until: p.notBefore, Error: s.LastError,
			Text: fmt.Sprintf("its source does not answer (%d times in a row, since %s); it is asked again %s", p.fails, clockTime(p.since, now, zone), comes(p.notBefore, now, zone)),
		})
	}
	out = append(out, m.outside(s, now)...)
	l, ok := m.silent.lookOf(s.ID)
	switch {
	case !ok && p.fails == 0:
		out = append(out, Hold{Rule: RuleUnasked, Text: "it was not asked yet since I started"})
	case ok && l.seen == 0:
		out = append(out, Hold{Rule: RuleNothing, Text: "its source was asked " + clockTime(l.at, now, zone) + " and had nothing new"})
	case ok && l.new == 0:
		out = append(out, Hold{Rule: RuleKnown, Text: fmt.Sprintf("its source was asked %s: of the %d things there none is new (each was told before, was there when the watcher began, or is not asked for)", clockTime(l.at, now, zone), l.seen)})
	}
	return out
}

// outside is the hold of a watcher outside of its active hours.
func (m *Manager) outside(s Spec, now time.Time) []Hold {
	zone := m.opt.Zone()
	checked, err := s.Pace.parse()
	if err != nil || checked.hours.in(now.In(zone)) {
		return nil
	}
	opens := checked.hours.opens(now.In(zone))
	text := "it works only " + s.Hours + " (active_hours); what happens meanwhile is told " + comes(opens, now, zone)
	if s.Missed == Skip {
		text = "it works only " + s.Hours + " (active_hours), again " + comes(opens, now, zone) + "; what happens meanwhile is skipped"
	}
	return []Hold{{Rule: RuleHours, Text: text, Until: opens}}
}

// comes words a time that comes.
func comes(at, now time.Time, zone *time.Location) string {
	if at.IsZero() || !at.After(now) {
		return "in a moment"
	}
	return clockTime(at, now, zone)
}

// Text tells it in words.
func (s Silence) Text(at func(time.Time) string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s (%s, %s)\n", phrase.Cut(s.Description, 200), s.Watcher.ID, s.Watcher.State)
	for _, h := range s.Holds {
		fmt.Fprintf(&b, "    [%s] %s", h.Rule, h.Text)
		if h.Error != "" {
			fmt.Fprintf(&b, ": %q", phrase.Cut(h.Error, 200))
		}
		b.WriteString("\n")
	}
	if s.Watcher.Fired > 0 {
		fmt.Fprintf(&b, "    It fired %d time(s), the last at %s.\n", s.Watcher.Fired, at(s.Watcher.FiredAt))
	}
	for _, c := range s.Counts {
		fmt.Fprintf(&b, "    [%s] held back at least %d thing(s), the last at %s\n", c.Rule, c.Count, at(c.Last))
	}
	for _, p := range s.Passed {
		fmt.Fprintf(&b, "    %s\n", p.Line(at))
	}
	return b.String()
}

// Line tells in one line what was seen and by which rule it was not told.
func (p Passed) Line(at func(time.Time) string) string {
	line := fmt.Sprintf("%s  [%s] %q", at(p.At), p.Rule, p.Text)
	if p.Why != "" {
		line += ": " + p.Why
	}
	return line
}
