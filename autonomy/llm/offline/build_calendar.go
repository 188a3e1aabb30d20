package offline

import (
	"slices"
	"strconv"
	"strings"

	"hob/watchers"
)

func watchCalendar(w *intentDraft) (plan, bool) {
	v := w.newSource(watchers.Meetings)
	if !v.parseTail() || !w.noLead() {
		return noPlan()
	}
	if c, ok := w.captureOf("few_lead"); ok {
		lead, ok := leadOf(w.s.normalizedText(c.from, c.to))
		if !ok {
			return noPlan()
		}
		v.config["before"] = []any{lead}
	}
	if w.hasSlot("few_text") {
		v.config["words"] = splitNames(w.slotString("few_text"), false)
	}
	tell := w.calendarNews()
	if w.hasKeyword("before") {
		tell = append(tell, "starts")
	}
	if len(tell) > 0 {
		v.config["tell"] = tell
	} else if w.hasSlot("few_which") {
		return noPlan()
	}
	return v.buildPlan()
}

// calendarNews returns the kinds of calendar changes that a sentence names.
func (w *intentDraft) calendarNews() (tell []any) {
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
	if seen["changed"] && w.hasWord("calendar") && len(tell) == 1 { // a change to the calendar means any change
		return []any{"added", "changed", "moved", "cancelled"}
	}
	return tell
}

// hasWord reports whether a word occurs in the sentence.
func (w *intentDraft) hasWord(word string) bool {
	return slices.ContainsFunc(w.s.tokens, func(t token) bool { return t.norm == word })
}

// leadOf parses a lead time such as "10 minutes", "half an hour" or "a day".
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
	n := parseCount(f[0])
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

// changeWatcher handles requests to change when and how often a watcher runs.
func changeWatcher(w *intentDraft) (plan, bool) {
	name := w.pathOf("link")
	if name == "" {
		name = bareName(w.slotString("text"))
	}
	c, ok := w.captureOf("tail")
	p, fine := parsePace(w.s.normalizedText(c.from, c.to))
	if n, limited := w.numberOf("number"); limited && n >= 1 {
		p, ok, fine = cadence{perDay: int(n)}, true, true
	}
	if !ok || !fine || w.g.isUnspecific(name) {
		return noPlan()
	}
	return updateWatcher(name, p)
}

// paceLast handles a message that contains only a pace and follows the creation of a watcher; see
// turn.planTurn.
func paceLast(w *intentDraft) (plan, bool) {
	c, _ := w.captureOf("tail")
	p, ok := parsePace(w.s.normalizedText(c.from, c.to))
	if !ok || w.depth > 0 {
		return noPlan()
	}
	return updateWatcher("", p)
}

func updateWatcher(name string, p cadence) (plan, bool) {
	return planCall("update_watcher", argsOf("watcher", name, "active_hours", p.activeHours(), "every", p.every, "per_day", p.atMost()))
}

// atMost returns the limit as an argument, or nil if there is none.
func (p cadence) atMost() any {
	if p.perDay == 0 {
		return nil
	}
	return p.perDay
}
