package offline

import (
	"strings"
)

// intentDraft is one reading of a sentence while its builder converts the reading to a plan.
type intentDraft struct {
	interpretation
	g *grammar
	// depth is the number of requests that contain this one: "every day at 8 brief me" contains
	// "brief me".
	depth int
}

// builder converts a reading to a plan, or declines it.
type builder func(w *intentDraft) (plan, bool)

// builderTable maps each intent of the grammar to its builder.
func builderTable() map[string]builder {
	all := map[string]builder{}
	for _, part := range []map[string]builder{
		taskBuilders(), reminderBuilders(), scheduleBuilders(), memoryBuilders(), noteBuilders(), moneyBuilders(),
		healthBuilders(), fileBuilders(), watchBuilders(), intentBuilders(), goalBuilders(), whyBuilders(), accountBuilders(), mailBuilders(), desktopBuilders(), machineBuilders(), browserBuilders(), dayBuilders(), agendaBuilders(), bulkBuilders(), chatBuilders(), pickBuilders(), followBuilders(), everydayBuilders(), newsBuilders(), listBuilders(), figureBuilders(), commandBuilders(),
	} {
		for name, b := range part {
			all[name] = b
		}
	}
	return all
}

func (w *intentDraft) captureOf(name string) (capture, bool) {
	for _, c := range w.caps {
		if c.name == name {
			return c, true
		}
	}
	return capture{}, false
}

func (w *intentDraft) hasSlot(name string) bool {
	_, ok := w.captureOf(name)
	return ok
}

// slotString returns the original text of a slot.
func (w *intentDraft) slotString(name string) string {
	c, ok := w.captureOf(name)
	if !ok {
		return ""
	}
	return w.s.originalText(c.from, c.to)
}

// slotNorm returns the normalized form of a slot.
func (w *intentDraft) slotNorm(name string) string {
	c, ok := w.captureOf(name)
	if !ok {
		return ""
	}
	return w.s.normalizedText(c.from, c.to)
}

func (w *intentDraft) pathOf(name string) string {
	c, _ := w.captureOf(name)
	return c.path
}

// numberOf returns a number slot's value; ok is false if the slot is missing.
func (w *intentDraft) numberOf(name string) (float64, bool) {
	c, ok := w.captureOf(name)
	return c.value, ok
}

// allSpans returns the times at the start of the sentence and those in the time slots.
func (w *intentDraft) allSpans() []*span {
	out := w.lead
	for _, c := range w.caps {
		if c.span != nil {
			out = append(out[:len(out):len(out)], c.span)
		}
	}
	return out
}

// noLead reports whether the sentence does not begin with a time. It is for intents that cannot use
// a leading time.
func (w *intentDraft) noLead() bool { return len(w.lead) == 0 }

// isAsking reports whether the sentence is a question, which must not be treated as a statement
// such as "the report is done".
func (w *intentDraft) isAsking() bool {
	return w.g.isNearly("questions", w.s.firstWord(0))
}

// isNegated reports whether a slot begins with "not", "never" or "no", because "I did not pay the
// plumber" must not be read as "I did X". Only intents that keep the text verbatim may begin with
// "not".
func (w *intentDraft) isNegated() bool {
	if w.intent.verbatim || w.intent.name == "reminder.add" || w.intent.name == "task.add" {
		return false
	}
	for _, c := range w.caps {
		if c.name == "oops" || c.name == "not" { // "no, dad", "I never eat fish"
			continue
		}
		if w.g.lex.containsWord("negations", w.s.firstWord(c.from)) {
			return true
		}
	}
	return false
}

// tryEdge tries to match an edge intent of the grammar with tokens and returns its slots.
func (w *intentDraft) tryEdge(name string, tokens capture) (map[string]capture, bool) {
	part := *w.s
	part.tokens = w.s.tokens[:tokens.to]
	for _, in := range w.g.edges {
		if in.name != name {
			continue
		}
		for _, p := range in.patterns {
			r := run{s: &part, g: w.g}
			if !r.tryMatch(p, tokens.from) {
				continue
			}
			out := map[string]capture{}
			for _, c := range r.caps {
				if _, dup := out[c.name]; !dup {
					out[c.name] = c
				}
			}
			return out, true
		}
	}
	return nil, false
}

// bareName removes articles and possessives before a name and punctuation after it: "the dentist"
// becomes "dentist".
func bareName(s string) string {
	s = strings.TrimSpace(s)
	for {
		head, tail, ok := strings.Cut(s, " ")
		switch strings.ToLower(head) {
		case "the", "my", "our", "a", "an", "your", "this", "that":
			if ok && strings.TrimSpace(tail) != "" {
				s = strings.TrimSpace(tail)
				continue
			}
		}
		return strings.TrimRight(s, ".!?,;: ")
	}
}

// thingName returns a name without its category noun. For example, "the report task" becomes
// "report".
func thingName(s string, nouns ...string) string {
	s = strings.Trim(bareName(s), `"'“”‘’`)
	for _, noun := range nouns {
		if n := len(s) - len(noun) - 1; n > 0 && s[n] == ' ' && strings.EqualFold(s[n+1:], noun) {
			return strings.TrimSpace(s[:n])
		}
	}
	return s
}

// namedThing returns the item that a slot names, without the time that follows it. For example, "I
// finished the report today" is about the report.
func (w *intentDraft) namedThing(slot string, nouns ...string) string {
	c, ok := w.captureOf(slot)
	if !ok {
		return ""
	}
	_, to, _ := w.s.liftTimes(c.from, c.to)
	if t := thingName(w.s.originalText(c.from, to), nouns...); t != "" {
		return t
	}
	return thingName(w.slotString(slot), nouns...)
}

// argsOf returns the pairs as a map, without empty values.
func argsOf(pairs ...any) map[string]any {
	out := map[string]any{}
	for i := 0; i+1 < len(pairs); i += 2 {
		switch v := pairs[i+1].(type) {
		case nil:
			continue
		case string:
			if v == "" {
				continue
			}
		case bool:
			if !v {
				continue
			}
		}
		out[pairs[i].(string)] = pairs[i+1]
	}
	return out
}

// isUnspecific reports whether s does not name a specific item.
func (g *grammar) isUnspecific(s string) bool {
	lower := strings.ToLower(strings.TrimSpace(s))
	return lower == "" || g.lex.containsWord("unspecific", lower)
}

// fillBetween returns a function that completes a question by inserting the answer between two
// pieces of text.
func fillBetween(before, after string) func(string) (string, bool) {
	return func(answer string) (string, bool) {
		answer = strings.TrimSpace(answer)
		if answer == "" {
			return "", false
		}
		return strings.TrimSpace(before + " " + answer + " " + after), true
	}
}
