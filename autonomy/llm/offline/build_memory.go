package offline

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

func memoryBuilders() map[string]builder {
	return map[string]builder{
		"memory.add":        addMemory,
		"memory.add.none":   func(*wish) (plan, bool) { return asking("What should I remember?", fill("remember that", "")) },
		"memory.all":        func(*wish) (plan, bool) { return calling("recall", everything()) },
		"memory.about":      aboutMemory,
		"memory.ask":        askMemory,
		"memory.forget":     forget,
		"memory.forget.all": forgetAll,
		"memory.forget.every": func(w *wish) (plan, bool) {
			return calling("forget", arguments("query", bare(w.text("query")), "everything", true))
		},
		"search.all": searchAll,
	}
}

// everything returns the arguments that list the whole memory.
func everything() map[string]any { return map[string]any{"query": "", "limit": 100} }

func addMemory(w *wish) (plan, bool) {
	text := w.text("text")
	if key := w.text("few_key"); key != "" { // "my shoe size is 43"
		if text == "" || w.question() || w.g.lex.has("own-kinds", strings.ToLower(key)) || w.g.lex.has("finished", strings.ToLower(text)) {
			return not()
		}
		return calling("remember", arguments("text", w.s.original(0, len(w.s.tokens))))
	}
	lower := strings.ToLower(text)
	if strings.HasPrefix(lower, "to ") { // "remember to call mum"
		return not()
	}
	if anything(text) {
		return asking("What should I remember?", fill("remember that", ""))
	}
	return calling("remember", arguments("text", text))
}

// question reports whether the sentence ends in a question mark.
func (w *wish) question() bool {
	return strings.HasSuffix(strings.TrimRight(w.s.text, " \t\n"), "?")
}

func aboutMemory(w *wish) (plan, bool) {
	c, _ := w.capture("query")
	query := bare(w.trimQuestion(c))
	switch strings.ToLower(query) {
	case "me", "us", "myself":
		return calling("recall", everything())
	case "me before", "us before", "me earlier", "me previously":
		return calling("recall", arguments("query", "before"))
	case "you", "yourself", "hob":
		return not()
	}
	if anything(query) {
		return asking("About what?", fill("what do you know about", ""))
	}
	if words := " " + w.norm("query"); w.says("remind") && (strings.Contains(words, " to ") || !w.question() && w.says("when") && !strings.HasSuffix(words, " is")) {
		return not() // "remind me when I get home to feed the cat"
	}
	return calling("recall", arguments("query", query))
}

// askMemory answers questions about the user's own data from memory. Questions about the world
// need a language model.
func askMemory(w *wish) (plan, bool) {
	c, ok := w.capture("query")
	if !ok || len(w.s.tokens) > 40 || !w.private(c) {
		return not()
	}
	query := bare(w.trimQuestion(c))
	if anything(query) || w.onlyTime(c) || query == "I" || strings.HasPrefix(strings.ToLower(query), "if ") {
		return not()
	}
	return calling("recall", arguments("query", query))
}

// private reports whether a question is about the user's data: "my", "I", another person's
// item, or data that people note down, such as a password.
func (w *wish) private(query capture) bool {
	if w.norm("ask") == "who" && w.person(query) {
		return true
	}
	for _, t := range w.s.tokens[query.from:query.to] {
		switch {
		case t.norm == "you" || t.norm == "your" || t.norm == "hob":
			return false
		case w.g.lex.has("own", t.norm), w.g.lex.has("private", t.norm), strings.HasSuffix(t.norm, "'s") && len(t.norm) > 2, strings.HasSuffix(t.norm, "s'"):
			return true
		}
	}
	return false
}

// onlyTime: "what did I do yesterday?" has no subject.
func (w *wish) onlyTime(c capture) bool {
	for from := c.from; from < c.to; from++ {
		if sp := w.s.spanAt(from); sp != nil && sp.to >= c.to {
			return !slices.ContainsFunc(w.s.tokens[c.from:from], func(t token) bool { return !w.g.lex.has("auxiliaries", t.norm) })
		}
	}
	return false
}

// person: a name of one or two capitalized words, as in "who is Anna?".
func (w *wish) person(query capture) bool {
	words := strings.Fields(w.s.original(query.from, query.to))
	for _, f := range words {
		if r, _ := utf8.DecodeRuneInString(f); !unicode.IsUpper(r) {
			return false
		}
	}
	return len(words) == 1 || len(words) == 2
}

// trimQuestion removes the question words: "did I park the car" becomes "park the car".
func (w *wish) trimQuestion(c capture) string {
	from, to := c.from, c.to
	for from < to-1 {
		switch w.s.tokens[from].norm {
		case "is", "are", "was", "were", "did", "do", "does", "has", "have", "i", "we", "me", "us", "about", "again", "the", "my", "our", "a", "an", "am", "it", "there", "call", "called", "where", "when", "who", "what", "which", "whose", "whether":
			from++
			continue
		}
		break
	}
	for to-1 > from {
		switch w.s.tokens[to-1].norm {
		case "is", "are", "was", "again", "called", "were", "located", "like", "have", "has", "to", "?":
			to--
			continue
		}
		break
	}
	query := w.s.original(from, to)
	for _, aux := range []string{" did I ", " do I ", " have I ", " did we ", " do we ", " have we "} {
		query = strings.Replace(query, aux, " ", 1) // "which level did I park on"
	}
	return query
}

func forget(w *wish) (plan, bool) {
	query := w.text("query")
	lower := strings.ToLower(query)
	for _, head := range []string{"about ", "that ", "the fact that "} {
		if strings.HasPrefix(lower, head) {
			query, lower = query[len(head):], lower[len(head):]
		}
	}
	all := false
	for _, head := range []string{"everything about ", "everything you know about ", "all about ", "all you know about "} {
		if strings.HasPrefix(lower, head) {
			query, lower, all = query[len(head):], lower[len(head):], true
		}
	}
	for _, head := range []string{"everything from ", "all from "} {
		if strings.HasPrefix(lower, head) {
			return forgetFrom(strings.TrimSpace(query[len(head):]))
		}
	}
	if anything(query) || strings.HasPrefix(lower, "to ") {
		return not()
	}
	if all {
		return calling("forget", arguments("query", bare(query), "everything", true))
	}
	return calling("forget", arguments("query", bare(query)))
}

// forgetFrom erases everything from a source named unambiguously: "file:/a/b", an address, a
// path.
func forgetFrom(place string) (plan, bool) {
	kind, rest, _ := strings.Cut(place, ":")
	switch {
	case strings.Contains(place, " "):
		return not()
	case strings.HasPrefix(rest, "//"):
		return calling("forget", arguments("source", "url:"+place))
	case rest != "" && slices.Contains([]string{"event", "session", "mail", "file", "url", "import"}, kind):
		return calling("forget", arguments("source", place))
	case strings.HasPrefix(place, "/"):
		return calling("forget", arguments("source", "file:"+place))
	}
	return not()
}

func forgetAll(w *wish) (plan, bool) {
	if len(w.s.tokens) > 1 {
		return refusing(w.g.prose("forget-all"))
	}
	return asking("What should I forget?", fill("forget", ""))
}

func searchAll(w *wish) (plan, bool) {
	query := bare(w.text("query"))
	lower := strings.ToLower(query)
	for _, head := range []string{"for ", "about ", "on ", "anything about ", "everything about ", "mentions of "} {
		if strings.HasPrefix(lower, head) {
			query, lower = bare(query[len(head):]), lower[len(head):]
		}
	}
	if anything(query) {
		return asking("What should I search for?", fill("search for", ""))
	}
	if strings.Contains(lower, " on the web") || strings.HasPrefix(lower, "the web") || strings.HasPrefix(lower, "the internet") ||
		strings.HasSuffix(lower, " online") || strings.HasPrefix(lower, "web for") || strings.HasPrefix(lower, "internet for") || strings.HasPrefix(lower, "google") {
		return refusing(w.g.prose("no-web"))
	}
	return calling("search_knowledge", arguments("query", query))
}
