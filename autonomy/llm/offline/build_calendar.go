package offline

import (
	"slices"
	"strconv"
	"strings"
)

func watchCalendar(w *wish) (plan, bool) {
	v := w.source("calendar")
	if !v.tail() || !w.noLead() {
		return not()
	}
	if c, ok := w.capture("few_lead"); ok {
		lead, ok := leadOf(w.s.norms(c.from, c.to))
		if !ok {
			return not()
		}
		v.config["before"] = []any{lead}
	}
	if w.has("few_text") {
		v.config["words"] = list(w.text("few_text"), false)
	}
	tell := w.calendarNews()
	if w.says("before") {
		tell = append(tell, "starts")
	}
	if len(tell) > 0 {
		v.config["tell"] = tell
	} else if w.has("few_which") {
		return not()
	}
	return v.make()
}

// calendarNews returns the kinds of changes that a sentence names.
func (w *wish) calendarNews() (tell []any) {
	seen := map[string]bool{}
	for _, t := range w.s.tokens {
		news := map[string]string{
			"cancelled": "cancelled", "canceled": "cancelled", "cancels": "cancelled", "called": "cancelled", "calls": "cancelled", "cancellations": "cancelled", "cancellation": "cancelled",
			"moved": "moved", "moves": "moved", "rescheduled": "moved", "reschedules": "moved", "postponed": "moved", "postpones": "moved", "shifted": "moved", "brought": "moved", "put": "moved",
			"changed": "changed", "updated": "changed", "changes": "changed", "added": "added", "created": "added", "new": "added",
		}[t.norm]
		if news == "" || seen[news] {
			continue
		}
		seen[news] = true
		tell = append(tell, news)
	}
	if seen["changed"] && w.hasWord("calendar") && len(tell) == 1 { // of the calendar: any change
		return []any{"added", "changed", "moved", "cancelled"}
	}
	return tell
}

// hasWord reports whether a word occurs in the sentence.
func (w *wish) hasWord(word string) bool {
	return slices.ContainsFunc(w.s.tokens, func(t token) bool { return t.norm == word })
}

// leadOf parses a lead time: "10 minutes", "half an hour", "a day".
func leadOf(s string) (string, bool) {
	s = strings.TrimPrefix(s, "about ")
	switch s {
	case "half an hour", "a half hour", "half hour":
		return "30m", true
	case "a quarter of an hour", "quarter of an hour":
		return "15m", true
	case "an hour and a half":
		return "90m", true
	}
	f := strings.Fields(s)
	if len(f) != 2 || len(f[1]) == 0 {
		return "", false
	}
	n := count(f[0])
	switch strings.TrimSuffix(f[1], "s") {
	case "minute", "min":
		return strconv.Itoa(n) + "m", n > 0
	case "hour", "h", "hr":
		return strconv.Itoa(n) + "h", n > 0
	case "day":
		return strconv.Itoa(n) + "d", n > 0
	}
	return "", false
}

// changeWatcher changes when and how often a watcher works.
func changeWatcher(w *wish) (plan, bool) {
	name := w.path("link")
	if name == "" {
		name = bare(w.text("text"))
	}
	c, ok := w.capture("tail")
	p, fine := parsePace(w.s.norms(c.from, c.to))
	if n, limited := w.number("number"); limited && n >= 1 {
		p, ok, fine = paced{perDay: int(n)}, true, true
	}
	if !ok || !fine || anything(name) {
		return not()
	}
	return updating(name, p)
}

// paceLast handles a pace without a watcher, right after a watcher was created; see turn.plan.
func paceLast(w *wish) (plan, bool) {
	c, _ := w.capture("tail")
	p, ok := parsePace(w.s.norms(c.from, c.to))
	if !ok || w.depth > 0 {
		return not()
	}
	return updating("", p)
}

func updating(name string, p paced) (plan, bool) {
	return calling("update_watcher", arguments("watcher", name, "active_hours", p.hours(), "every", p.every, "per_day", p.atMost()))
}

// atMost returns the limit as an argument, nil for none.
func (p paced) atMost() any {
	if p.perDay == 0 {
		return nil
	}
	return p.perDay
}
