package offline

import (
	"cmp"
	"slices"
	"strings"
)

func chatBuilders() map[string]builder {
	plain := func(name string) builder {
		return func(w *intentDraft) (plan, bool) { return planReply(w.g.replyText(name)) }
	}
	refuse := func(name string) builder {
		return func(w *intentDraft) (plan, bool) { return planRefusal(w.g.replyText(name)) }
	}
	refuseUnlessStatement := func(name string) builder {
		return func(w *intentDraft) (plan, bool) {
			if len(w.s.tokens) > 2 && slices.ContainsFunc(w.s.tokens[1:min(len(w.s.tokens), 4)], func(t token) bool { return w.g.lex.containsWord("linking-verbs", t.norm) }) { // "book club is on Friday"
				return noPlan()
			}
			if w.s.firstWord(0) == "book" && w.g.lex.containsWord("book-nouns", w.s.firstWord(1)) { // "book club on Friday"
				return noPlan()
			}
			return planRefusal(w.g.replyText(name))
		}
	}
	return map[string]builder{
		"feeling":       replyFeeling,
		"complaint":     plain("complaint"),
		"negated":       refuse("negated"),
		"scope.home":    refuse("scope.home"),
		"scope.order":   refuseUnlessStatement("scope.order"),
		"scope.contact": refuseUnlessStatement("scope.contact"),
		"scope.write":   refuse("scope.write"),
		"scope.play":    refuse("scope.play"),
		"scope.travel":  refuse("scope.travel"),
		"scope.world":   refuseQuestion,

		"help":       replyHelp,
		"hello":      replyHello,
		"privacy":    plain("privacy"),
		"thanks":     plain("thanks"),
		"ack":        plain("ack"),
		"bye":        plain("bye"),
		"who.maker":  plain("maker"),
		"who.cost":   plain("cost"),
		"who":        plain("who"),
		"nevermind":  neverMind,
		"yes":        plain("yes"),
		"correction": func(w *intentDraft) (plan, bool) { return planRefusal(w.g.replyText("correction")) },
		"summarise":  func(w *intentDraft) (plan, bool) { return planRefusal(w.g.replyText("summarise")) },
	}
}

// neverMind drops the request. Right after an action, the user may want to undo it.
func neverMind(w *intentDraft) (plan, bool) {
	if x, ok := w.g.talk.exchangeAgo(0); ok && len(x.acts) > 0 && !strings.HasSuffix(x.reply, "?") {
		acts := slices.DeleteFunc(slices.Clone(x.acts), func(p pastCall) bool { return !p.changesRecords() || p.tool == "undo" })
		if len(acts) > 0 {
			return confirmUndo(acts), true
		}
	}
	return planReply(w.g.replyText("never-mind"))
}

// refuseQuestion explains why a question has no answer: Hob cannot do what it requests, or it is
// about Hob, about the user or about the world.
func refuseQuestion(w *intentDraft) (plan, bool) {
	first, second := w.s.firstWord(0), w.s.firstWord(1)
	has := func(list string) bool {
		return slices.ContainsFunc(w.s.tokens, func(t token) bool { return w.g.lex.containsWord(list, t.norm) })
	}
	switch {
	case first == "do" && second == "not":
		return planRefusal(w.g.replyText("negated"))
	case w.g.lex.containsWord("condition-words", first) && has("tell-words"):
		return planRefusal(w.g.replyText("scope.condition"))
	case first == "do" && !w.g.lex.containsWord("pronouns", second) && (!w.isQuestion() || w.s.tokens[0].start > 0):
		return planRefusal(w.g.replyText("scope.cannot"))
	case first == "how" && w.g.lex.containsWord("question-verbs", second) && w.s.firstWord(2) == "you": // "how do you spell necessary"
		return planRefusal(w.g.replyText("scope.world"))
	case first == "should" && second == "i":
		return planRefusal(w.g.replyText("scope.advice"))
	case has("hob-words"):
		return planRefusal(w.g.replyText("scope.self"))
	}
	p, _ := planRefusal(w.g.replyText("scope.world"))
	words := slices.DeleteFunc(w.contentWords(), func(f string) bool {
		return w.g.lex.containsWord("open-references", f) || w.g.lex.containsWord("prepositions", f) || w.g.lex.containsWord("saying-words", f)
	})
	if len(words) > 0 && len(words) <= maxSearchWords {
		p.search = strings.Join(words, " ")
	}
	if has("own") || has("open-references") {
		p.say = w.g.replyText("question-unclear", "{words}", quoteText(w.s.text))
		p.unanswered = w.g.denyAnswer(w.s.text)
	}
	return p, true
}

// maxSearchWords is the maximum number of words in a question for which Hob searches if the
// question matches no intent.
const maxSearchWords = 6

// searchBeforeDenial returns a plan that searches all data for the words of a question before it denies
// the answer. A result must contain every word.
func (g *grammar) searchBeforeDenial(p plan) plan {
	if p.search == "" || p.outcome != unknown {
		return p
	}
	words := strings.Fields(p.search)
	look, _ := planLookup(func(results []done) plan {
		p.search = ""
		for _, d := range results {
			if d.result == nil {
				continue
			}
			if d.result.Error {
				p.say = formatFailure(d.result.Text)
				continue
			}
			p.say = cmp.Or(p.unanswered, p.say)
			lines := slices.DeleteFunc(listLines(d.result.Text), func(line string) bool { return !hasEveryWord(line, words) })
			if len(lines) > 0 {
				p.outcome, p.say = chat, datedHits(g.replyText("found", "{lines}", "- "+strings.Join(lines, "\n- ")))
			}
		}
		return p
	}, call{"search_knowledge", argsOf("query", p.search)})
	look.intent = p.intent
	return look
}

func replyHello(w *intentDraft) (plan, bool) {
	words := w.s.normalizedText(0, len(w.s.tokens))
	if strings.Contains(words, "how ") || strings.Contains(words, "are you") || strings.Contains(words, "you ok") {
		return planReply(w.g.replyText("how-are-you"))
	}
	return planReply(w.g.replyText("hello"))
}

func replyFeeling(w *intentDraft) (plan, bool) {
	if w.hasSlot("good") {
		return planReply(w.g.replyText("feeling-good"))
	}
	return planReply(w.g.replyText("feeling-low"))
}

// replyHelp shows the overview of the help text, or the part named by a topic.
func replyHelp(w *intentDraft) (plan, bool) {
	topic := bareName(w.slotString("topic"))
	if w.hasKeyword("say") || w.hasKeyword("ask") {
		return planReply(w.helpForMoment())
	}
	whole := w.g.replyText("help")
	if topic == "" {
		return planReply(whole)
	}
	if part := findSection(whole, topic); part != "" {
		return planReply(part)
	}
	if w.hasKeyword("how") || !w.hasKeyword("help") {
		return noPlan()
	}
	return planReply(whole)
}

// helpForMoment returns what the user can say next: about the record of the conversation, or some examples.
func (w *intentDraft) helpForMoment() string {
	short := w.g.replyText("help-short")
	if it, ok := w.g.talk.focusItem(); ok {
		if hint := w.g.replyText("help-" + it.kind); hint != "" {
			return hint + "\n\n" + short
		}
	}
	return short
}

// findSection finds the part of the help text whose title or first lines have a word in common with
// the topic.
func findSection(whole, topic string) string {
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
