package dateparse

import (
	"fmt"
	"strings"
	"time"
)

// parseRecurrenceList parses several recurrences as one: "Mondays at 9; Thursdays at 10".
func parseRecurrenceList(parts []string, phrase string, now time.Time) (Every, error) {
	var lines []string
	except := ""
	for i, part := range parts {
		if strings.TrimSpace(part) == "" {
			return Every{}, notUnderstood(phrase, everyForms)
		}
		e, err := ParseEvery(part, now)
		if err != nil {
			return Every{}, err
		}
		if e.Cron == "" {
			return Every{}, fmt.Errorf("%q: %w: an interval that counts from a first time cannot be combined with other times in one schedule; create a separate schedule for %q",
				truncateRunes(phrase, 80), ErrNotUnderstood, truncateRunes(part, 80))
		}
		if except = e.Except; except != "" && i < len(parts)-1 {
			return Every{}, fmt.Errorf("%q: %w: exceptions apply to the whole schedule; name them once, at the end", truncateRunes(phrase, 80), ErrNotUnderstood)
		}
		lines = append(lines, e.Cron)
	}
	line, err := checkCron(strings.Join(lines, "; "))
	if err != nil {
		return Every{}, cronError(phrase, err)
	}
	return Every{Cron: line, Except: except}, nil
}

// parseJoinedRecurrences parses "Mondays at 9 and Thursdays at 10", where both sides are
// recurrences. Days without a time before an "and" get the time that follows: "Mondays and Tuesdays
// at 8 and Thursdays at 10".
func (p *parser) parseJoinedRecurrences(text string, now time.Time) (Every, bool) {
	for i := range p.toks {
		if !p.isWord(i, "and") || i == 0 || i+1 == len(p.toks) {
			continue
		}
		left, right := strings.TrimRight(strings.TrimSpace(text[:p.toks[i].start]), ","), text[p.toks[i].end:]
		if strings.Contains(right, " and ") && len(text) > 200 {
			return Every{}, false
		}
		if whole, timed := readsAs(left, now); !whole {
			continue
		} else if !timed {
			if whole, later := readsAs(right, now); !whole || later {
				continue
			}
		}
		e, err := parseRecurrenceList([]string{left, right}, text, now)
		return e, err == nil
	}
	return Every{}, false
}

// readsAs reports whether a text is one complete recurrence, and whether it names
// the time of day.
func readsAs(text string, now time.Time) (whole, timed bool) {
	p := newParser(text, now)
	p.whole = true
	alts, _ := p.parseRecurrences(0)
	for _, a := range alts {
		if p.skipEnd(a.end) == len(p.toks) {
			return true, a.timed
		}
	}
	return false, false
}

// cannotBe returns an error for a phrase that no schedule can express, with a suggested
// alternative.
func cannotBe(text string) error {
	words := " " + strings.Join(strings.FieldsFunc(strings.ToLower(text), func(r rune) bool { return r == ' ' || r == ',' || r == '.' }), " ") + " "
	for _, c := range []struct {
		words []string
		why   string
	}{
		{[]string{" except ", " excluding ", " but not ", " unless ", " other than ", " holidays "}, "exceptions must be days: \"except on 24 December and 1 January\", \"except Sundays\", \"except holidays\""},
		{[]string{" until ", " till "}, "a schedule cannot have an end date; leave it out and cancel the schedule later"},
		{[]string{" randomly ", " random ", " sometimes ", " now and then ", " occasionally "}, "a schedule needs fixed times"},
		{[]string{" sunrise ", " sunset ", " dusk ", " dawn "}, "a schedule cannot follow sunrise or sunset; name a time of day"},
	} {
		for _, w := range c.words {
			if strings.Contains(words, w) {
				return fmt.Errorf("%q: %w: %s", truncateRunes(text, 80), ErrNotUnderstood, c.why)
			}
		}
	}
	return nil
}
