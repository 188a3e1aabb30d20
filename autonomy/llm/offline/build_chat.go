package offline

import "strings"

func chatBuilders() map[string]builder {
	plain := func(name string) builder {
		return func(w *wish) (plan, bool) { return saying(w.g.prose(name)) }
	}
	return map[string]builder{
		"help":       help,
		"hello":      hello,
		"thanks":     plain("thanks"),
		"bye":        plain("bye"),
		"who":        plain("who"),
		"nevermind":  plain("never-mind"),
		"yes":        plain("yes"),
		"correction": func(w *wish) (plan, bool) { return refusing(w.g.prose("correction")) },
		"summarise":  func(w *wish) (plan, bool) { return refusing(w.g.prose("summarise")) },
	}
}

func hello(w *wish) (plan, bool) {
	words := w.s.norms(0, len(w.s.tokens))
	if strings.Contains(words, "how ") || strings.Contains(words, "are you") || strings.Contains(words, "you ok") {
		return saying(w.g.prose("how-are-you"))
	}
	return saying(w.g.prose("hello"))
}

// help shows the overview, or the part of it that a topic names.
func help(w *wish) (plan, bool) {
	topic := bare(w.text("topic"))
	whole := w.g.prose("help")
	if topic == "" {
		return saying(whole)
	}
	if part := section(whole, topic); part != "" {
		return saying(part)
	}
	if w.says("how") || !w.says("help") {
		return not()
	}
	return saying(whole)
}

// section finds the part of the help text whose title or first lines share a word with the
// topic.
func section(whole, topic string) string {
	parts := strings.Split(whole, "\n\n")
	for _, word := range strings.Fields(strings.ToLower(topic)) {
		word = strings.TrimRight(word, "s?.!")
		if len(word) < 4 {
			continue
		}
		for _, part := range parts {
			if title, _, ok := strings.Cut(part, "\n"); ok && strings.Contains(strings.ToLower(title), word) {
				return part
			}
		}
	}
	return ""
}
