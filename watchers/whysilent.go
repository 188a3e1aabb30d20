package watchers

import (
	"cmp"
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

// Silence explains why a watcher sends no notices.
type Silence struct {
	Watcher     Spec   `json:"watcher"`
	Description string `json:"description"`
	// Holds lists the rules that currently silence the watcher, most important first.
	Holds []Hold `json:"holds"`
	// Counts contains the number of items that each rule suppressed. Passed lists the newest of
	// these items.
	Counts []Count            `json:"counts"`
	Passed []SuppressedSignal `json:"passed"`
}

// Hold is a rule that currently silences a watcher completely.
type Hold struct {
	Rule Rule `json:"rule"`
	// Text explains the rule. Error is the error of the watcher's source or configuration; it is
	// untrusted text.
	Text  string    `json:"text"`
	Error string    `json:"error,omitempty"`
	Until time.Time `json:"until,omitzero"`
}

// Count is the number of items of a watcher that a rule suppressed.
type Count struct {
	Rule  Rule      `json:"rule"`
	Count int       `json:"count"`
	First time.Time `json:"first"`
	Last  time.Time `json:"last"`
}

// Silence explains why a watcher sends no notices.
func (m *Manager) Silence(ctx context.Context, id string) (Silence, error) {
	q := m.opt.Store.Reader(ctx)
	r, err := m.selectRow(q, id)
	if err != nil {
		return Silence{}, err
	}
	s := Silence{Watcher: r.Spec, Description: m.Describe(r.Spec)}
	p, err := selectPoll(q, id)
	if err != nil && !errors.Is(err, ErrNotFound) {
		return Silence{}, err
	}
	s.Holds = m.activeHolds(r.Spec, p, time.Now())
	if s.Counts, err = selectCounts(q, id); err != nil {
		return Silence{}, err
	}
	if s.Passed, err = m.passedItems(q, id, nil, time.Time{}, KeepPassed); err != nil {
		return Silence{}, err
	}
	waiting, err := m.Held(ctx, id)
	for _, h := range waiting[max(0, len(waiting)-KeepPassed):] {
		s.Passed = append(s.Passed, SuppressedSignal{Watcher: id, Rule: RuleHours, Text: h.Signal.Text, At: h.Signal.At, Why: "it waits for the active hours " + h.Hours})
	}
	return s, err
}

// Passed returns the items that were suppressed since a time and whose text contains all of the
// words, newest first.
func (m *Manager) Passed(ctx context.Context, words []string, since time.Time, limit int) ([]SuppressedSignal, error) {
	return m.passedItems(m.opt.Store.Reader(ctx), "", words, since, limit)
}

func (m *Manager) passedItems(q store.Querier, id string, words []string, since time.Time, limit int) ([]SuppressedSignal, error) {
	kept, err := selectPassed(q, "WHERE (?1 = '' OR watcher = ?1) AND at >= ?2 ORDER BY n DESC", id, store.Millis(since))
	if err != nil {
		return nil, err
	}
	out := append(append([]SuppressedSignal{}, m.silent.bufferedItems(id)...), kept...)
	out = slices.DeleteFunc(out, func(p SuppressedSignal) bool { return p.At.Before(since) || !textnorm.ContainsAllWords(p.Text, words) })
	sorting.StableByFunc(out, func(a, b SuppressedSignal) int { return b.At.Compare(a.At) })
	return out[:min(len(out), limit)], nil
}

func selectCounts(q store.Querier, id string) ([]Count, error) {
	rows, err := q.Query("SELECT rule, count, first_at, last_at FROM watcher_silences WHERE watcher = ? ORDER BY last_at DESC", id)
	if err != nil {
		return nil, fmt.Errorf("watchers: read suppressed items: %w", err)
	}
	defer rows.Close()
	out := []Count{}
	for rows.Next() {
		var c Count
		var first, last int64
		if err := rows.Scan(&c.Rule, &c.Count, &first, &last); err != nil {
			return nil, fmt.Errorf("watchers: read suppressed items: %w", err)
		}
		c.First, c.Last = store.Time(first), store.Time(last)
		out = append(out, c)
	}
	return out, rows.Err()
}

// activeHolds returns the rules that currently silence a watcher.
func (m *Manager) activeHolds(s Spec, p poll, now time.Time) []Hold {
	switch s.State {
	case Paused:
		return []Hold{{Rule: RulePaused, Text: "it is paused; `hob watch resume " + s.ID + "` resumes it"}}
	case Broken:
		return []Hold{{Rule: RuleBroken, Text: "it stopped because it cannot work with its configuration", Error: s.LastError}}
	case Done:
		return []Hold{{Rule: RuleDone, Text: "it is finished: it fired for the last time " + clockTime(s.FiredAt, now, m.opt.Zone())}}
	}
	made, err := m.buildWatcher(s)
	if err != nil {
		return []Hold{{Rule: RuleBroken, Text: "it cannot be started", Error: err.Error()}}
	}
	out := []Hold{}
	if p.left > 0 && p.day == now.In(m.opt.Zone()).Format(time.DateOnly) {
		out = append(out, Hold{Rule: RulePerDay, Text: fmt.Sprintf("it has fired %d times today, its limit (per_day = %d)", p.fired, cmp.Or(s.PerDay, m.opt.PerDay))})
	}
	switch made.(type) {
	case Timed:
		return append(out, Hold{Rule: RuleNotDue, Text: "it is due next " + formatFuture(s.NextAt, now, m.opt.Zone()), Until: s.NextAt})
	case Polled:
		return append(out, m.pollHolds(s, p, now)...)
	}
	out = append(out, m.hoursHold(s, now)...)
	if s.LastError != "" {
		out = append(out, Hold{Rule: RuleFailing, Text: "it works only in part or not at all, and keeps trying", Error: s.LastError})
	}
	return out
}

// pollHolds returns the rules that currently silence a polled watcher.
func (m *Manager) pollHolds(s Spec, p poll, now time.Time) (out []Hold) {
	zone := m.opt.Zone()
	if p.fails > 0 {
		out = append(out, Hold{
			Rule: RuleFailing, Until: p.notBefore, Error: s.LastError,
			Text: fmt.Sprintf("its source does not answer (%d times in a row, since %s); the next attempt is %s", p.fails, clockTime(p.since, now, zone), formatFuture(p.notBefore, now, zone)),
		})
	}
	out = append(out, m.hoursHold(s, now)...)
	l, ok := m.silent.lookOf(s.ID)
	switch {
	case !ok && p.fails == 0:
		out = append(out, Hold{Rule: RuleUnasked, Text: "it has not been polled since Hob started"})
	case ok && l.seen == 0:
		out = append(out, Hold{Rule: RuleNothing, Text: "its source was checked " + clockTime(l.at, now, zone) + " and had no items"})
	case ok && l.new == 0:
		out = append(out, Hold{Rule: RuleKnown, Text: fmt.Sprintf("its source was checked %s: none of its %d items is new (each was reported before, existed when the watcher began, or does not match the conditions)", clockTime(l.at, now, zone), l.seen)})
	}
	return out
}

// hoursHold explains that the current time is outside the active hours of a watcher. It returns nil
// if it is within them.
func (m *Manager) hoursHold(s Spec, now time.Time) []Hold {
	zone := m.opt.Zone()
	checked, err := s.PollPolicy.parsePace()
	if err != nil || checked.hours.containsTime(now.In(zone)) {
		return nil
	}
	opens := checked.hours.nextOpening(now.In(zone))
	text := "it is active only " + s.Hours + " (active_hours); earlier events are reported when the active hours begin, " + formatFuture(opens, now, zone)
	if s.Missed == Skip {
		text = "it is active only " + s.Hours + " (active_hours), again " + formatFuture(opens, now, zone) + "; earlier events are skipped"
	}
	return []Hold{{Rule: RuleHours, Text: text, Until: opens}}
}

// formatFuture formats a future time.
func formatFuture(at, now time.Time, zone *time.Location) string {
	if at.IsZero() || !at.After(now) {
		return "in a moment"
	}
	return clockTime(at, now, zone)
}

// Text formats the explanation for the user.
func (s Silence) Text(at func(time.Time) string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s (%s, %s)\n", textnorm.Ellipsize(s.Description, 200), s.Watcher.ID, s.Watcher.State)
	for _, h := range s.Holds {
		fmt.Fprintf(&b, "    [%s] %s", h.Rule, h.Text)
		if h.Error != "" {
			fmt.Fprintf(&b, ": %q", textnorm.Ellipsize(h.Error, 200))
		}
		b.WriteString("\n")
	}
	if s.Watcher.Fired > 0 {
		fmt.Fprintf(&b, "    It fired %d time(s), the last at %s.\n", s.Watcher.Fired, at(s.Watcher.FiredAt))
	}
	for _, c := range s.Counts {
		fmt.Fprintf(&b, "    [%s] suppressed at least %d item(s), the last at %s\n", c.Rule, c.Count, at(c.Last))
	}
	for _, p := range s.Passed {
		fmt.Fprintf(&b, "    %s\n", p.Line(at))
	}
	return b.String()
}

// Line describes the suppressed signal and the rule that suppressed it, in one line.
func (p SuppressedSignal) Line(at func(time.Time) string) string {
	line := fmt.Sprintf("%s  [%s] %q", at(p.At), p.Rule, p.Text)
	if p.Why != "" {
		line += ": " + p.Why
	}
	return line
}
