package offline

import (
	"slices"
	"strings"

	"hob/platform/text/lazyregexp"
)

// planReworded plans a question in a polite or indirect form, with its figures before it or with a remark around it:
// "could you tell me how many days there are until Christmas?", "102 km, how much is that in miles?". The plan changes no
// record.
func (g *grammar) planReworded(s *sentence, depth int) (plan, bool) {
	if g.code != "" || depth > 0 || len(s.tokens) > maxQuestion {
		return noPlan()
	}
	from, to := s.skipPunctuation(0), len(s.tokens)
	for to > from && s.tokens[to-1].kind == punct {
		to--
	}
	text, reworded := s.spanText(from, to), false
	for _, step := range []func(string) (string, bool){g.questionOfFigures, g.withoutAside(s), g.directQuestion(s)} {
		if next, ok := step(text); ok {
			text, reworded = next, true
		}
	}
	if !reworded {
		return noPlan()
	}
	asked := g.parseSentence(text, s.now)
	if len(asked.tokens) == 0 || g.hasSecondRequest(asked) {
		return noPlan()
	}
	p := g.planSingle(asked, depth, false)
	if p.intent == nil || p.intent.rank < 0 || p.outcome != chat && p.outcome != act || p.question != nil || g.changesRecords(p) || strings.HasPrefix(p.intent.name, "follow.") {
		return noPlan()
	}
	if strings.HasPrefix(p.intent.name, "memory.") && p.intent.name != "memory.debt" || strings.HasPrefix(p.intent.name, "watch.") || p.intent.talk || p.intent.name == "calendar.when" && len(asked.tokens) > 8 {
		return noPlan()
	}
	p.accounted = true
	return p, true
}

// maxQuestion is the maximum number of tokens of a question that is reworded.
const maxQuestion = 40

// hasSecondRequest reports whether a request follows a connector in the sentence.
func (g *grammar) hasSecondRequest(s *sentence) bool {
	for i := 1; i < len(s.tokens); i++ {
		next, ok := s.jointAt(i)
		if ok && next < len(s.tokens) && (g.starters[s.tokens[next].norm] && !g.lex.containsWord("linking-verbs", s.tokens[next].norm) || g.lex.containsWord("reminder-words", s.tokens[next].norm)) {
			return true
		}
	}
	return false
}

var (
	// figuresFirst matches a question after its figures: "212 km at 43 cent a km, how much is that?".
	figuresFirst = lazyregexp.New(`(?i)^([^?]*\d[^?]*?)[,;.:–-]* *(?:and |so )?(?:how much|what)(?: is|'s|’s| does| would| will|s) (?:that|it|this)(?: be| come to| make| cost)?(?: altogether| in all| in total| total)?(?: in (\pL+))?[ ?.!]*$`)
	// measureInText matches a measure.
	measureInText = lazyregexp.New(`(?i)-?\d[\d.,]* ?(?:degrees? |° ?)?[\pL°]+`)
)

// questionOfFigures moves the figures of a question to its end.
func (g *grammar) questionOfFigures(text string) (string, bool) {
	m := figuresFirst.FindStringSubmatch(text)
	if m == nil {
		return text, false
	}
	if m[2] == "" {
		return "what is " + m[1], true
	}
	var found []string
	for _, f := range measureInText.FindAllString(m[1], -1) {
		figure := strings.TrimLeft(f, "-0123456789., ")
		if _, ok := g.findUnit(figure); ok {
			found = append(found, f)
		}
	}
	if len(found) != 1 {
		return text, false
	}
	return "convert " + found[0] + " to " + m[2], true
}

// withoutAside returns a function that drops a remark before or after a question: "what time is it in Boston, my sister
// is over there". The remark must contain no figure, time or condition.
func (g *grammar) withoutAside(s *sentence) func(string) (string, bool) {
	return func(text string) (string, bool) {
		part := g.parseSentence(text, s.now)
		for i := 2; i < len(part.tokens)-2; i++ {
			if t := part.tokens[i]; t.kind != punct || !strings.Contains(",;.!?:–—-", t.norm) {
				continue
			}
			next := part.skipPunctuation(i)
			head := g.asksDirectly(part, 0)
			tail := next < len(part.tokens) && g.asksDirectly(part, next)
			switch {
			case head && !tail && g.isAside(part, next, len(part.tokens)):
				return part.text[part.tokens[0].start:part.tokens[i-1].end], true
			case tail && !head && g.isAside(part, 0, i) && !part.hasWordOf(next, len(part.tokens), "references"):
				return part.text[part.tokens[next].start:part.tokens[len(part.tokens)-1].end], true
			}
		}
		if n := len(part.tokens); n > 3 && g.lex.containsWord("vague-words", part.tokens[n-1].norm) { // "102 fahrenheit in celsius quick"
			return part.text[part.tokens[0].start:part.tokens[part.lastWordBefore(n-1)].end], true
		}
		return text, false
	}
}

// lastWordBefore returns the index of the last word before token i.
func (s *sentence) lastWordBefore(i int) int {
	for i--; i > 0 && s.tokens[i].kind == punct; i-- {
	}
	return i
}

// asksDirectly reports whether a question, with or without "tell me" before it, begins at token i.
func (g *grammar) asksDirectly(s *sentence, i int) bool {
	first := s.firstWord(i)
	if g.skipInquiry(s, i) > i || g.lex.containsWord("w-words", first) {
		return true
	}
	_, sum := g.lex.meaningOf("numbers", s.firstWord(i+1))
	return g.lex.containsWord("figure-verbs", first) && (sum || isDigit((s.firstWord(i+1) + " ")[0])) || isQuestionVerb(first) && s.firstWord(i+1) != ""
}

// isAside reports whether the tokens [from, to) are a remark that changes nothing about a question.
func (g *grammar) isAside(s *sentence, from, to int) bool {
	for to > from && s.tokens[to-1].kind == punct {
		to--
	}
	first := s.firstWord(from)
	known := slices.ContainsFunc([]string{"clause-starts", "aside-starts", "owned-starts", "articles"}, func(list string) bool { return g.lex.containsWord(list, first) })
	if to-from < 3 || to-from > maxReason+2 || len(s.timesInside(from, to)) > 0 || g.starters[first] && !known {
		return false
	}
	verb := g.lex.containsWord("aside-starts", first) || first == "i" || first == "we"
	for i := from; i < to; i++ {
		t := s.tokens[i]
		switch {
		case t.kind != word && (t.kind != punct || !strings.Contains("',’-", t.norm)), strings.ContainsAny(t.norm, "0123456789"), g.lex.containsWord("no-reasons", t.norm), g.lex.containsWord("reminder-words", t.norm), g.lex.containsWord("w-words", t.norm):
			return false
		case i > from && i < from+4 && g.lex.containsWord("clause-verbs", t.norm):
			verb = true
		}
	}
	return verb
}

// skipInquiry returns the index of the question after words such as "tell me", or i.
func (g *grammar) skipInquiry(s *sentence, i int) int {
	i = s.skipPunctuation(i)
	for _, p := range g.inquiry {
		end := i
		r := run{s: s, g: g}
		p.matchAt(&r, i, func(j int) bool { end = max(end, s.skipPunctuation(j)); return false })
		if end > i && end < len(s.tokens) && g.lex.containsWord("w-words", s.tokens[end].norm) {
			return end
		}
	}
	return i
}

// directQuestion returns a function that turns an indirect question into a direct one: "tell me what day the 4th is"
// becomes "what day is the 4th".
func (g *grammar) directQuestion(s *sentence) func(string) (string, bool) {
	return func(text string) (string, bool) {
		part := g.parseSentence(text, s.now)
		from := g.skipInquiry(part, 0)
		first := part.firstWord(from)
		indirect := from > part.skipPunctuation(0)
		if !g.lex.containsWord("w-words", first) || first == "when" && part.firstWord(from+1) == "there" { // "tell me when there is a new release"
			return text, false
		}
		end := len(part.tokens)
		for end > from && part.tokens[end-1].kind == punct {
			end--
		}
		if end-from < 3 {
			return text, false
		}
		swap := func(i, j, k int) string { // exchanges [i, j) and [j, k)
			pieces := []string{part.spanText(from, i), part.spanText(j, k), part.spanText(i, j), part.spanText(k, end)}
			return strings.Join(slices.DeleteFunc(pieces, func(p string) bool { return p == "" }), " ")
		}
		head := from + 1
		if first == "how" || first == "what" && g.lex.containsWord("asked-nouns", part.firstWord(head)) || first == "which" {
			head++
		}
		for i := from + 1; i+1 < end; i++ {
			verb, subject := part.tokens[i+1].norm, part.tokens[i].norm
			if g.lex.containsWord("linking-verbs", subject) || g.lex.containsWord("perfect-verbs", subject) || subject == "do" || subject == "did" || subject == "does" { // already direct
				return part.spanText(from, end), indirect
			}
			switch linked := g.lex.containsWord("linking-verbs", verb); {
			case subject == "there" && linked, subject == "it" && linked && i > from+1:
				return swap(i, i+1, i+2), true
			case subject == "i" && indirect && (verb == "have" || verb == "need" || verb == "owe"):
				return strings.TrimSpace(part.spanText(from, i) + " do i " + part.spanText(i+1, end)), true
			case subject == "i" && indirect:
				if base, past := g.lex.meaningOf("asked-past", verb); past {
					return strings.TrimSpace(part.spanText(from, i) + " did i " + base + " " + part.spanText(i+2, end)), true
				}
				if base, past := g.baseForm(verb); past {
					return strings.TrimSpace(part.spanText(from, i) + " did i " + base[0] + " " + part.spanText(i+2, end)), true
				}
			}
		}
		if last := part.tokens[end-1].norm; indirect && g.lex.containsWord("linking-verbs", last) && head < end-1 {
			return swap(head, end-1, end), true
		}
		return part.spanText(from, end), indirect && first != "when"
	}
}

// spanText returns the text of the tokens [from, to) as written.
func (s *sentence) spanText(from, to int) string {
	if from >= to {
		return ""
	}
	return s.text[s.tokens[from].start:s.tokens[to-1].end]
}
