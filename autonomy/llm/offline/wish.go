package offline

import (
	"strings"
)

// wish is one reading of a sentence while its builder converts it to a plan.
type wish struct {
	reading
	g *grammar
	// depth counts the requests around this one ("every day at 8 brief me" contains "brief
	// me").
	depth int
}

// builder converts a reading to a plan, or declines it.
type builder func(w *wish) (plan, bool)

// builders maps each intent of the grammar to its builder.
func builders() map[string]builder {
	all := map[string]builder{}
	for _, part := range []map[string]builder{
		taskBuilders(), reminderBuilders(), scheduleBuilders(), memoryBuilders(), noteBuilders(), moneyBuilders(),
		healthBuilders(), fileBuilders(), watchBuilders(), goalBuilders(), whyBuilders(), accountBuilders(), desktopBuilders(), machineBuilders(), browserBuilders(), dayBuilders(), chatBuilders(),
	} {
		for name, b := range part {
			all[name] = b
		}
	}
	return all
}

func (w *wish) capture(name string) (capture, bool) {
	for _, c := range w.caps {
		if c.name == name {
			return c, true
		}
	}
	return capture{}, false
}

func (w *wish) has(name string) bool {
	_, ok := w.capture(name)
	return ok
}

// text returns the original text of a slot.
func (w *wish) text(name string) string {
	c, ok := w.capture(name)
	if !ok {
		return ""
	}
	return w.s.original(c.from, c.to)
}

// norm returns the normalized form of a slot.
func (w *wish) norm(name string) string {
	c, ok := w.capture(name)
	if !ok {
		return ""
	}
	return w.s.norms(c.from, c.to)
}

func (w *wish) path(name string) string {
	c, _ := w.capture(name)
	return c.path
}

// number returns a number slot's value; ok is false if the slot is missing.
func (w *wish) number(name string) (float64, bool) {
	c, ok := w.capture(name)
	return c.value, ok
}

// spans returns the times in front of the sentence and those in the time slots.
func (w *wish) spans() []*span {
	out := w.lead
	for _, c := range w.caps {
		if c.span != nil {
			out = append(out[:len(out):len(out)], c.span)
		}
	}
	return out
}

// noLead declines sentences that begin with a time if the intent has no use for one.
func (w *wish) noLead() bool { return len(w.lead) == 0 }

// asks reports whether the sentence is a question, so that it does not count as a statement
// ("the report is done").
func (w *wish) asks() bool {
	return w.g.lex.has("questions", w.s.firstWord(0))
}

// negated: "I did not pay the plumber" must not be read as "I did X". Only intents that keep
// the text verbatim may begin with "not".
func (w *wish) negated() bool {
	if w.intent.verbatim || w.intent.name == "reminder.add" || w.intent.name == "task.add" {
		return false
	}
	for _, c := range w.caps {
		switch w.s.firstWord(c.from) {
		case "not", "never", "no":
			return true
		}
	}
	return false
}

// edge tries an edge intent of the grammar on text and returns its slots.
func (w *wish) edge(name string, tokens capture) (map[string]capture, bool) {
	part := *w.s
	part.tokens = w.s.tokens[:tokens.to]
	for _, in := range w.g.edges {
		if in.name != name {
			continue
		}
		for _, p := range in.patterns {
			r := run{s: &part, vocab: w.g.vocab}
			if !r.try(p.node, tokens.from) {
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

// bare removes articles and possessives in front of a name, and punctuation after it: "the
// dentist" becomes "dentist".
func bare(s string) string {
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

// thing returns a bare name without its category noun: "the report task" becomes "report".
func thing(s string, nouns ...string) string {
	s = strings.Trim(bare(s), `"'“”‘’`)
	for _, noun := range nouns {
		if n := len(s) - len(noun) - 1; n > 0 && s[n] == ' ' && strings.EqualFold(s[n+1:], noun) {
			return strings.TrimSpace(s[:n])
		}
	}
	return s
}

// named returns the item that a slot names, without the time after it: "I finished the report
// today" is about the report.
func (w *wish) named(slot string, nouns ...string) string {
	c, ok := w.capture(slot)
	if !ok {
		return ""
	}
	_, to, _ := w.s.lift(c.from, c.to)
	if t := thing(w.s.original(c.from, to), nouns...); t != "" {
		return t
	}
	return thing(w.text(slot), nouns...)
}

// arguments returns a map without the empty values.
func arguments(pairs ...any) map[string]any {
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

// anything reports whether the words name no specific item.
func anything(s string) bool {
	switch strings.ToLower(strings.TrimSpace(s)) {
	case "", "my", "all my", "my own", "task", "todo", "reminder", "note", "habit", "schedules", "watchers", "reminders", "tasks", "all of them", "again", "it", "this", "that", "them", "something", "anything", "everything", "one", "all", "these", "those", "stuff", "me", "a", "the":
		return true
	}
	return false
}

// fill returns a question's completion that puts the answer between two pieces.
func fill(before, after string) func(string) (string, bool) {
	return func(answer string) (string, bool) {
		answer = strings.TrimSpace(answer)
		if answer == "" {
			return "", false
		}
		return strings.TrimSpace(before + " " + answer + " " + after), true
	}
}
