package offline

import (
	"slices"
	"strings"

	"hob/platform/text/dateparse"
)

// freeArgs lists the arguments that hold free text and name or describe a record.
var freeArgs = []string{"text", "title", "task", "reminder", "category", "vendor", "habit", "note"}

// timeArgs lists the arguments that hold a time.
var timeArgs = []string{"at", "due", "every", "date", "start"}

// accountFor checks that every word of a request that changes records has been explained. Words in
// free text that may belong to the time or to the request itself (another time, a condition, a
// negation, a second command, a misspelled time) mean that Hob asks.
func (w *intentDraft) accountFor(p plan) plan {
	if p.accounted || w.intent.verbatim || !w.g.changesRecords(p) || w.g.code != "" { // see unaccountedWords for other languages
		return p
	}
	if i := w.indefiniteRequest(); i > 0 && slices.ContainsFunc(p.calls, func(c call) bool { return c.name == "create_reminder" }) {
		p, _ := planQuestion("I am not sure how to read "+quoteText(w.s.originalText(i, len(w.s.tokens)))+" in that. I changed nothing. Can you say one reminder at a time?", nil)
		return p
	}
	timed := func(c call) bool {
		return slices.ContainsFunc(timeArgs, func(name string) bool { return c.args[name] != nil })
	}
	if end := w.endOfSpan(); end != "" && slices.ContainsFunc(p.calls, timed) {
		return w.askAbout(p.calls[0], w.callText(p.calls[0]), end)
	}
	for _, c := range p.calls {
		for _, name := range freeArgs {
			text, _ := c.args[name].(string)
			if text == "" || w.isQuotedText(text) {
				continue
			}
			if rest := w.spentOn(c, text); rest != "" {
				return w.askAbout(c, text, rest)
			}
			if rest := w.g.unexplainedText(w.g.parseSentence(text, w.s.now), timed(c)); rest != "" {
				return w.askAbout(c, text, rest)
			}
		}
	}
	return p
}

// endOfSpan returns "until" and the time after it, or "". Such a time ends a span of time and is not the time of a
// record, unless a record is moved: "push it to until Friday".
func (w *intentDraft) endOfSpan() string {
	if strings.HasPrefix(w.intent.name, "follow.") || strings.HasSuffix(w.intent.name, ".move") {
		return ""
	}
	for _, sp := range w.s.allTimes() {
		words := strings.Fields(strings.ToLower(w.s.text[:sp.match.End]))
		start := len(strings.Fields(w.s.text[:sp.match.Start]))
		for i := max(0, start-2); i <= min(start, len(words)-1); i++ {
			if w.g.lex.containsWord("span-ends", words[i]) && (i >= start-1 || w.g.lex.containsWord("prepositions", words[i+1])) {
				return strings.Join(words[i:], " ")
			}
		}
	}
	if words := strings.Fields(strings.ToLower(w.s.text)); w.g.lex.containsWord("span-ends", words[len(words)-1]) {
		return words[len(words)-1]
	}
	return ""
}

// callText returns the free text of a call.
func (w *intentDraft) callText(c call) string {
	for _, name := range freeArgs {
		if text, _ := c.args[name].(string); text != "" {
			return text
		}
	}
	return ""
}

// indefiniteRequest returns the index of a second request that only refers to the first, such as "and
// another for 5 minutes", or 0.
func (w *intentDraft) indefiniteRequest() int {
	for i := 1; i < len(w.s.tokens); i++ {
		if next, ok := w.s.jointAt(i); ok && next > i && w.g.lex.containsWord("indefinite-requests", w.s.firstWord(next)) {
			return next
		}
	}
	return 0
}

// spentOn returns the first word of a category if the real category follows it: "12 uros on milk".
func (w *intentDraft) spentOn(c call, text string) string {
	f := strings.Fields(strings.ToLower(text))
	if amount, ok := w.captureOf("amount"); ok && len(f) > 0 && (amount.to >= len(w.s.tokens) || w.s.tokens[amount.to].norm != f[0]) { // "fuel for the van 71.20"
		return ""
	}
	if c.name != "log_expense" || len(f) < 3 || f[1] != "on" && f[1] != "for" || w.g.vocab[f[0]] {
		return ""
	}
	return f[0]
}

// isQuotedText reports whether the user wrote text in quotes.
func (w *intentDraft) isQuotedText(text string) bool {
	return slices.ContainsFunc(w.s.tokens, func(t token) bool { return t.kind == quoted && t.inner == text })
}

// unexplainedText returns the part of a free text that may belong to the request instead, or "". timed
// is true if a time was taken from the sentence.
func (g *grammar) unexplainedText(s *sentence, timed bool) string {
	last := len(s.tokens) - 1
	for phrase := range g.lex.lists["inner-corrections"] {
		if strings.Contains(" "+s.normalizedText(0, len(s.tokens))+" ", " "+phrase+" ") {
			return phrase
		}
	}
	dated := slices.ContainsFunc(s.allTimes(), func(sp *span) bool { return !s.isNounTime(sp) })
	for i, t := range s.tokens {
		next := s.firstWord(i + 1)
		if i > 0 && (g.lex.containsWord("telling-verbs", t.norm) && next == "me" && g.lex.containsWord("questions", s.firstWord(i+2)) || t.norm == "set" && next == "a" && s.firstWord(i+2) == "reminder") { // "keep the kids busy tell me what to do"
			return s.originalText(i, len(s.tokens))
		}
		if g.startsCommand(s, i) {
			return s.originalText(i, len(s.tokens))
		}
		if next := i + 1; i < last && (s.tokens[next].norm == "time" || s.tokens[next].norm == "timezone") && timed {
			if _, ok := g.lex.meaningOf("zones", t.norm); ok {
				return s.originalText(i, next+1)
			}
		}
		switch {
		case s.endsSentence(i) && i < last && g.isNearStarter(s.firstWord(i+1)):
			return s.originalText(i+1, len(s.tokens))
		case t.kind != word:
		case i < last && g.lex.containsWord("prepositions", t.norm) && t.norm != "for" && g.startsTime(s.tokens[i+1]) && !s.isInTime(i+1):
			return s.originalText(i, len(s.tokens))
		case i > 0 && g.lex.containsWord("anchors", t.norm) && g.lex.containsWord("typo-units", s.tokens[i-1].norm): // "10 minutes before"
			return s.originalText(i-1, len(s.tokens))
		case i > 0 && dated && g.lex.containsWord("condition-words", t.norm) && t.norm != "when": // "tomorrow unless she calls"
			return s.originalText(i, len(s.tokens))
		case i == last && i > 0 && timed && t.norm == "to" && len(s.tokens) < 4: // "leave at five to" lacks the hour
			return s.originalText(i, i+1)
		case !timed:
		case i == 0 && last > 0 && (g.lex.containsWord("joints", t.norm) || t.norm == "not" && g.startsTime(s.tokens[1])): // "at 5 not 6 to call"
			return s.originalText(0, 2)
		case i == 0 && last > 1 && g.isLength(s): // "every day for a week at 8"
			return s.originalText(0, 2)
		case i == 0 && last > 0 && t.norm != "not" && (g.lex.containsWord("correction-starts", t.norm) || t.norm == "actually"):
			return s.originalText(0, len(s.tokens))
		case g.lex.containsWord("day-words", t.norm) && !s.isInTime(i) && (i == 0 || !g.lex.containsWord("belonging", s.tokens[i-1].norm)):
			return s.originalText(max(0, i-1), len(s.tokens))
		case g.isNearly("anchors", t.norm), i > 0 && g.lex.containsWord("negations", t.norm):
			return s.originalText(i, len(s.tokens))
		case (i == 0 || i == last) && g.isTimeEdge(t.norm):
			return s.originalText(i, i+1)
		case i == last && i > 1 && isDigit(t.norm[0]) && g.lex.containsWord("joints", s.tokens[i-1].norm): // "at 8 and 8"
			return s.originalText(i-1, i+1)
		case i == 0 && last > 0 && (isDigit(t.norm[0]) || g.lex.containsWord("prepositions", t.norm)), i == last && last > 0 && t.norm != "due" && g.lex.containsWord("prepositions", t.norm) && !g.lex.containsWord("phrasal-verbs", s.firstWord(0)) && !g.lex.containsWord("linking-verbs", s.tokens[i-1].norm):
			return s.originalText(i, i+1)
		}
	}
	if timed {
		for _, sp := range s.allTimes() {
			if !s.isNounTime(sp) {
				return sp.originalPhrase()
			}
		}
	}
	return ""
}

// isLength reports whether a text begins with a length of time, such as "a week" or "10 days".
func (g *grammar) isLength(s *sentence) bool {
	_, number := g.lex.meaningOf("numbers", s.firstWord(0))
	unit := s.firstWord(1)
	return (number || isDigit(s.tokens[0].norm[0])) && (g.lex.containsWord("typo-units", unit) || unit == "day" || unit == "year" || unit == "years") && !strings.Contains(unit, "pound") && !strings.Contains(unit, "dollar") && !strings.Contains(unit, "euro")
}

// startsCommand reports whether token i joins a second command: "and cancel ...", "but not ...".
func (g *grammar) startsCommand(s *sentence, i int) bool {
	next := i
	if i > 0 {
		next, _ = s.jointAt(i)
		if next == i || s.tokens[i].norm == "-" {
			return false
		}
	}
	first := s.firstWord(next)
	if len(first) > 2 && !g.vocab[first] && g.isNearly("joint-words", first) && g.starters[s.firstWord(s.skipPunctuation(next)+1)] {
		return true // "and alos add ..."
	}
	second := s.firstWord(s.skipPunctuation(next) + 1)
	return i > 0 && (second == "me" && g.lex.containsWord("telling-verbs", first) || g.lex.containsWord("commands", first) || g.lex.containsWord("negations", first) || first == "do" && second == "not")
}

// isTimeEdge reports whether a word next to a time may belong to it: "nxt" before "monday".
func (g *grammar) isTimeEdge(norm string) bool {
	return g.lex.containsWord("time-edge-typos", norm) || len(norm) > 3 && g.isNearly("time-edges", norm)
}

// startsTime reports whether a token begins a time after a preposition, even if the time as a whole
// is not understood: "in half an our".
func (g *grammar) startsTime(t token) bool {
	return t.kind == word && (isDigit(t.norm[0]) || g.isNearly("time-edges", t.norm))
}

// isNearStarter reports whether a word is the first word of a request, or a typo of one.
func (g *grammar) isNearStarter(norm string) bool {
	if g.lex.containsWord("subjects", norm) || len(norm) < 3 {
		return false
	}
	if g.vocab[norm] {
		return g.starters[norm]
	}
	for w := range g.starters {
		if len(w) > 3 && isNear(norm, w) {
			return true
		}
	}
	return false
}

// isNearly reports whether a word is in a list, or one letter away from a word in it. Short words
// must share the start or the end with that word, and common words are not treated as typos.
func (g *grammar) isNearly(list, norm string) bool {
	if g.lex.containsWord(list, norm) {
		return true
	}
	if len(norm) < 3 || g.vocab[norm] || g.lex.containsWord("edge-look-alikes", norm) {
		return false
	}
	for w := range g.lex.lists[list] {
		if len(w) > 3 && isNear(norm, w) && (len(norm) > 3 || list != "anchors") {
			return true
		}
	}
	return false
}

// isNear reports whether two words differ by one letter or by the order of two letters.
func isNear(a, b string) bool {
	if len(a) > len(b) {
		a, b = b, a
	}
	i := 0
	for i < len(a) && a[i] == b[i] {
		i++
	}
	switch {
	case len(b)-len(a) > 1:
		return false
	case len(b) > len(a):
		return a[i:] == b[i+1:]
	}
	return isSwap(a, b) || i == len(a) || a[i+1:] == b[i+1:]
}

// isInTime reports whether token i is part of a time.
func (s *sentence) isInTime(i int) bool {
	return slices.ContainsFunc(s.spans, func(sp span) bool { return i >= sp.from && i < sp.to })
}

// isNounTime reports whether a time names something instead of giving a moment, as in "the Monday
// report" and "Friday's meeting".
func (s *sentence) isNounTime(sp *span) bool {
	from := sp.from
	for from > 0 && s.lex.containsWord("prepositions", s.tokens[from-1].norm) {
		from--
	}
	return s.isTied(sp, from) || strings.HasSuffix(sp.originalPhrase(), "s") && strings.ContainsAny(sp.originalPhrase(), "'’")
}

// askAbout asks about a part of a request.
func (w *intentDraft) askAbout(c call, text, rest string) plan {
	head := "I am not sure how to read " + quoteText(rest) + " in that. "
	switch c.name {
	case "create_reminder":
		complete := w.timeAnswer(func(when string) string {
			return "remind me " + when + " to " + `"` + strings.ReplaceAll(text, `"`, "") + `"`
		})
		p, _ := planQuestion(head+"When exactly should I remind you?", func(answer string) (string, bool) {
			s := w.g.parseSentence(answer, w.s.now)
			_, err := dateparse.ParseEvery(w.timeIn(answer), w.s.now)
			if w.g.lex.containsWord("joints", s.firstWord(0)) || stringOf(c.args["every"]) != "" && err != nil {
				return "", false // "and 8pm" adds to the times of the request, which would be lost
			}
			return complete(answer)
		})
		return p
	case "create_task":
		p, _ := planQuestion(head+"What should the task be, and when is it due?", fillBetween("add a task to", ""))
		return p
	}
	p, _ := planQuestion(head+"I changed nothing. Can you say it in other words, or one request at a time?", nil)
	return p
}
