package offline

import (
	"maps"
	"slices"
	"strings"
	"time"

	"hob/platform/text/lazyregexp"
)

// planRequests interprets text, which contains one request, or several joined by "and", commas and
// full stops. depth is above 0 for a request inside another one. planRequests uses the first
// language that can interpret all of text, and tries English last. If no language can, the reply is
// in the language of text.
func (g *grammar) planRequests(text string, now time.Time, depth int) plan {
	if depth > 2 {
		return plan{outcome: unknown}
	}
	if depth > 0 || g.code != "" {
		return g.planAll(text, now, depth)
	}
	text = g.tidySpeech(text)
	if p, ok := g.planCommand(text); ok {
		p.intent = g.intentNamed("command.run")
		return p
	}
	foreign, ok := g.planForeign(text, now)
	p := plan{}
	few := ok && foreign.lang.countSignals(text)*6 < len(strings.Fields(text)) // "Note: Bethan is bringing the glue guns and I ..."
	if few {
		p = g.dropWithdrawn(g.planAll(text, now, 0), text)
	}
	if ok && foreign.outcome != unknown && p.outcome != act {
		return foreign
	}
	if !few {
		p = g.dropWithdrawn(g.planAll(text, now, 0), text)
	}
	if ok && p.outcome != act && p.outcome != ask {
		return foreign
	}
	if state, ok := g.stateForeign(text, now); ok && (p.intent == nil || p.intent.name == "memory.state") {
		return state
	}
	if p.outcome == act && p.intent.name == "memory.add" { // "remember that Mein Geburtstag ist am 3. Mai"
		return p
	}
	// "ich mag Eier" must not be learned as an English statement.
	if l, mostly := g.languageOf(text); l != nil && (mostly || p.intent == nil) {
		if p.outcome == act || p.outcome == ask || p.outcome == unknown && p.say == "" {
			return plan{outcome: unknown, say: l.replyText("not-understood", "{words}", quoteText(text)), lang: l}
		}
	}
	if p, ok := g.askImpossibleDay(p, text); ok {
		return p
	}
	return g.askTypo(p, text, now)
}

// withdrawal matches the end of a message that withdraws what precedes it.
var withdrawal = lazyregexp.New(`(?:[,.;!?–—-]|\b(?:no|actually|wait)\b)\s*(?:(?:oh|ah|no|nah|wait|sorry|actually|on second thoughts?|and|but|please|ok|well)[ ,]+)*(?:never ?mind|nvm|(?:forget|scrap|scratch|ignore) (?:it|that|about it)|(?:please )?(?:don['’]?t|do not) (?:save|record|note|store|keep|log|add|write|set|create|bother with) (?:it|that|this)(?: down)?)(?:[ ,]+(?:please|pls|thanks|sorry|then|after all|never ?mind|nvm|forget it|forget that))*[ .!]*$`)

// dropWithdrawn records nothing if the end of text withdraws the rest: "note to self ..., no, scratch that".
func (g *grammar) dropWithdrawn(p plan, text string) plan {
	if p.outcome != act && p.outcome != ask || p.intent == nil || p.intent.name == "nevermind" || strings.HasPrefix(p.intent.name, "follow.") {
		return p
	}
	if at := withdrawal.FindStringIndex(strings.ToLower(text)); at == nil || len(strings.Fields(text[:min(at[0], len(text))])) < 3 {
		return p
	}
	return plan{outcome: chat, say: g.replyText("withdrawn"), intent: g.intentNamed("nevermind"), accounted: true}
}

// planAll interprets text in the language of the grammar.
func (g *grammar) planAll(text string, now time.Time, depth int) plan {
	s := g.parseSentence(text, now)
	if p, ok := g.planReworded(s, depth); ok {
		return p
	}
	if p, ok := g.planKept(s, depth); ok {
		return p
	}
	if p, ok := g.planBeforeReason(s, depth); ok {
		return p
	}
	whole := g.planSingle(s, depth, true)
	if whole.intent == nil || whole.intent.rank < 0 {
		if part, ok := g.withoutEnding(s); ok {
			if p := g.planSingle(part, depth, true); p.intent != nil {
				return p
			}
		}
	}
	// A follow-up covers all of the text, so that the "no" in "no, I meant 6pm" is not also treated
	// as an answer.
	correction := whole.intent != nil && whole.outcome == act && strings.HasPrefix(whole.intent.name, "follow.")
	if len(s.tokens) > closely/2 || whole.joined || correction {
		return whole
	}
	sp := splitter{g: g, now: now, depth: depth, memo: map[string]plan{}}
	if p, ok := sp.splitRequests(s, whole); ok {
		return p
	}
	if whole.outcome == unknown && (whole.say == "" || whole.intent != nil && whole.intent.rank == fallbackRank) {
		if p, ok := g.planWithoutReason(s, depth); ok {
			p.accounted = true // the reason is not part of a record
			return p
		}
	}
	if next := s.skipPunctuation(1); whole.outcome == unknown && depth == 0 && next < len(s.tokens) && g.lex.containsWord("hesitations", s.firstWord(0)) { // "wait, what's 180 celsius in fahrenheit"
		if p := g.planAll(s.text[s.tokens[next].start:], now, depth+1); p.outcome != unknown {
			return p
		}
	}
	return whole
}

// planSingle interprets a sentence as one request. If no reading matches and forgiving is set, it
// accepts a typo.
func (g *grammar) planSingle(s *sentence, depth int, forgiving bool) plan {
	if s.skipPunctuation(0) == len(s.tokens) {
		return plan{outcome: unknown}
	}
	var fallback []interpretation
	class := g.classOf(s)
	for _, loose := range []bool{false, true} {
		if loose && (!forgiving || !g.hasSlip(s)) {
			break
		}
		for _, r := range g.allReadings(s, loose) {
			if r.intent.rank == fallbackRank {
				if !loose {
					fallback = append(fallback, r)
				}
				continue
			}
			w := intentDraft{interpretation: r, g: g, depth: depth}
			if w.isNegated() {
				continue
			}
			if p, ok := g.build[r.intent.name](&w); ok {
				if loose && g.runsSomething(p) {
					continue
				}
				if !g.mayLeadTo(class, s, r.intent, p) {
					continue
				}
				p = w.accountFor(p)
				p.intent = r.intent
				return p
			}
		}
	}
	for _, r := range fallback {
		if p, ok := g.build[r.intent.name](&intentDraft{interpretation: r, g: g, depth: depth}); ok {
			p.intent = r.intent
			return p
		}
	}
	return plan{outcome: unknown}
}

// runsSomething reports whether a plan starts an app, opens a page, sends, erases or schedules
// something. Such a plan must not depend on a corrected typo.
func (g *grammar) runsSomething(p plan) bool {
	return slices.ContainsFunc(p.calls, func(c call) bool { return g.lex.containsWord("run-tools", c.name) })
}

// hasSlip reports whether a word in s is unknown to the grammar and one letter different from a
// known word.
func (g *grammar) hasSlip(s *sentence) bool {
	for _, t := range s.tokens {
		if t.kind != word || len(t.norm) < 4 || g.vocab[t.norm] {
			continue
		}
		for w := range g.vocab {
			if isTypo(t.norm, w) {
				return true
			}
		}
	}
	return false
}

// splitter finds the boundaries between requests.
type splitter struct {
	g     *grammar
	now   time.Time
	depth int
	memo  map[string]plan // plans for the text after a cut
}

// maxCuts is the maximum number of boundaries that are tried in a request.
const maxCuts = 16

// splitRequests tries each joint (a possible boundary) from the left. The text before the joint
// must be a request, and the text after it must begin like one.
func (sp *splitter) splitRequests(s *sentence, whole plan) (plan, bool) {
	cuts := 0
	for i := 1; i < len(s.tokens) && cuts < maxCuts; i++ {
		next, ok := s.jointAt(i)
		if !ok || next >= len(s.tokens) {
			continue
		}
		cuts++
		before := sp.g.parseSentence(s.text[:s.tokens[i-1].end], sp.now)
		left := sp.g.planSingle(before, sp.depth, false)
		if left.outcome == unknown || left.intent.rank < 0 && left.intent.name != "schedule.add" && left.intent.name != "memory.state" {
			continue
		}
		own := s.tokens[next].norm == "i" || s.tokens[next].norm == "we"
		right, ok := sp.planFollowing(before, left, sp.carryDay(before, s.text[s.tokens[next].start:], own || left.outcome != act))
		if p, is := sp.remindOfTask(before, left, right, s.text[s.tokens[next].start:]); ok && is {
			return p, true
		}
		if ok && !sp.belongsToWhole(whole, right, s, next) {
			if p, is := sp.g.joinFact(left, right, sp.now); is {
				return p, true
			}
			if left.isFact() && right.question != nil && right.question.text == whatToNote { // "Bran weighs 28 kilos, note that"
				return left, true
			}
			if left.removesRecord() && right.outcome == ask { // "cancel the meeting and reschedule it for Thursday"
				p, _ := planQuestion("I am not sure how to read "+quoteText(s.originalText(next, len(s.tokens)))+" in that, so I changed nothing. Can you send one request at a time?", nil)
				p.intent = left.intent
				return p, true
			}
			if right.intent.isReminder() && right.outcome == ask && left.isFact() && len(before.allTimes()) > 0 { // "my tablets are at 8 and at 20, remind me both times"
				return right, true
			}
			if left.isUnnamedExpense() && right.isExpense() { // "spent 3 and 4 on coffee"
				p, _ := planQuestion("I am not sure what "+quoteText(before.originalText(0, len(before.tokens)))+" was for, so I logged nothing. Can you send one expense at a time?", nil)
				p.intent = left.intent
				return p, true
			}
			if !own {
				left = shareDate(before, left, right)
			}
			return joinPlans(left, right), true
		}
		i = next - 1
	}
	return plan{}, false
}

// removesRecord reports whether a plan removes a record.
func (p plan) removesRecord() bool {
	return slices.ContainsFunc(p.calls, func(c call) bool { return slices.Contains(removedKinds, c.name) || c.name == "delete_calendar_event" })
}

// isExpense reports whether a plan only logs expenses.
func (p plan) isExpense() bool {
	return len(p.calls) > 0 && !slices.ContainsFunc(p.calls, func(c call) bool { return c.name != "log_expense" })
}

// isFact reports whether a plan only stores a fact.
func (p plan) isFact() bool {
	return len(p.calls) > 0 && !slices.ContainsFunc(p.calls, func(c call) bool { return c.name != "remember" })
}

// isUnnamedExpense reports whether a plan only logs expenses without a purpose and a payee.
func (p plan) isUnnamedExpense() bool {
	return p.isExpense() && !slices.ContainsFunc(p.calls, func(c call) bool { return c.args["category"] != nil || c.args["vendor"] != nil })
}

// shareDate gives the expenses before a joint the day after it: "4 on coffee and 12 on lunch yesterday".
func shareDate(before *sentence, left, right plan) plan {
	if len(before.allTimes()) > 0 || !left.isExpense() || !right.isExpense() || right.calls[0].args["date"] == nil {
		return left
	}
	left.calls = slices.Clone(left.calls)
	for i, c := range left.calls {
		args := maps.Clone(c.args)
		args["date"] = right.calls[0].args["date"]
		left.calls[i] = call{c.name, args}
	}
	return left
}

// jointAt reports whether a request may end before token i, and where the next request would begin.
func (s *sentence) jointAt(i int) (next int, ok bool) {
	next = i
	for next < len(s.tokens) {
		switch t := s.tokens[next]; {
		case t.kind == punct && strings.Contains(",;.!?-–—•*", t.norm):
		case s.lex.containsWord("joints", t.norm):
		default:
			newline := next == i && strings.Contains(s.text[s.tokens[i-1].end:t.start], "\n")
			return next, next > i || newline
		}
		next++
	}
	return next, false
}

// planFollowing plans the text after a joint if that text is a separate request.
func (sp *splitter) planFollowing(before *sentence, left plan, text string) (plan, bool) {
	if p, ok := sp.planAnother(before, left, text); ok {
		return p, true
	}
	if p, ok := sp.planOwn(left, text); ok {
		return p, true
	}
	if left.outcome != act || left.intent.again == "" || !left.intent.canRepeat(text) {
		return plan{}, false
	}
	if p := sp.planRest(text); p.outcome == act && p.intent == left.intent { // "parking 4.50, sandwich 3.95"
		return p, true
	}
	again := left.intent.again + " " + text
	p := sp.planRest(again)
	return p, p.outcome == act && p.intent == left.intent
}

// planAnother plans "another for 5 minutes" after a request for a reminder, an alarm or a timer.
func (sp *splitter) planAnother(before *sentence, left plan, text string) (plan, bool) {
	if left.outcome != act || len(left.calls) == 0 || left.calls[0].name != "create_reminder" {
		return plan{}, false
	}
	noun := "reminder"
	for _, t := range before.tokens {
		if kind, ok := sp.g.lex.meaningOf("plain-reminders", t.norm); ok {
			noun = kind
		}
	}
	said, _ := left.calls[0].args["text"].(string)
	wish, ok := sp.g.wishForAnother(text, noun, quoteFree(said), sp.g.timerUnit(before.tokens))
	if !ok {
		return plan{}, false
	}
	p := sp.planRest(wish)
	return p, p.outcome == act || p.outcome == ask
}

// planOwn plans text if it begins like a request.
func (sp *splitter) planOwn(left plan, text string) (plan, bool) {
	s := sp.g.parseSentence(text, sp.now)
	if !sp.g.startsRequest(s) {
		return plan{}, false
	}
	p := sp.planRest(text)
	switch {
	case p.outcome == chat && p.intent.rank == 0 && left.intent.rank == 0 && !left.intent.verbatim && sp.g.asksSomething(s):
		return p, true // "... and tell me what day it is"
	case p.outcome != act && p.outcome != ask, p.intent.rank < 0, p.intent.name == "memory.add.none": // "I cannot eat nuts, remember that"
		return plan{}, false
	case strings.HasPrefix(p.intent.name, "follow.") && slices.ContainsFunc(left.calls, func(c call) bool { return createdKinds[c.name][0] != "" }):
		return plan{}, false // "..., due tomorrow" belongs to the record before it, and not to an older one
	case left.intent.verbatim && s.tokens[s.skipPunctuation(0)].norm == "i":
		return plan{}, false // the text to remember contains a statement
	case left.intent.verbatim && p.intent.isStatement():
		return plan{}, false
	}
	return p, true
}

// asksSomething reports whether a sentence asks a question, with or without "tell me" before it.
func (g *grammar) asksSomething(s *sentence) bool {
	first := s.firstWord(0)
	return g.classOf(s) == aQuestion || g.lex.containsWord("telling-verbs", first) && g.lex.containsWord("questions", s.firstWord(2))
}

// planRest plans the remaining text, which may again contain several requests.
func (sp *splitter) planRest(text string) plan {
	if p, ok := sp.memo[text]; ok {
		return p
	}
	s := sp.g.parseSentence(text, sp.now)
	p := sp.g.planSingle(s, sp.depth, false)
	if q, ok := sp.splitRequests(s, p); ok {
		p = q
	}
	sp.memo[text] = p
	return p
}

// belongsToWhole reports whether the following text is part of a schedule or watcher, as in "every
// day at 8 brief me and list my tasks". Text with its own time is a separate request.
func (sp *splitter) belongsToWhole(whole, right plan, s *sentence, next int) bool {
	if whole.outcome == act && whole.intent.name == "goal.add" { // the rest of the message belongs to the goal
		return true
	}
	if whole.outcome != act || whole.intent.name != "schedule.add" && whole.intent.name != "watch.add" {
		return false
	}
	return len(s.timesInside(next, len(s.tokens))) == 0 || right.intent.name == whole.intent.name && len(whole.calls) > 1
}

// isStatement reports whether the intent is a statement instead of a request. A statement may be
// part of what the user wants to remember.
func (in *intent) isStatement() bool {
	return strings.HasPrefix(in.name, "money.add") || strings.HasPrefix(in.name, "habit.log") || in.name == "task.done" ||
		in.name == "memory.add" && in.verbatim
}

// canRepeat reports whether text may continue the intent before it.
func (in *intent) canRepeat(text string) bool {
	if len(in.againWith) == 0 {
		return true
	}
	head, _, _ := strings.Cut(strings.ToLower(strings.TrimSpace(text)), " ")
	for _, w := range in.againWith {
		if w == head {
			return true
		}
	}
	return false
}

// joinLookups joins two plans of which at least one reads first. The right one reads after the calls of the left one, so
// that "cancel it, what alarms are left?" gets the alarms after the change.
func joinLookups(left, right plan) plan {
	p := plan{outcome: act, intent: left.intent}
	switch {
	case left.next != nil:
		p.calls = left.calls
		p.next = func(results []done) plan {
			first := left.next(results)
			if first.intent = left.intent; first.outcome == unknown && first.say == "" {
				return first
			}
			return joinPlans(first, right)
		}
	case len(left.calls) > 0:
		p = left
		if left.say != "" || left.question != nil {
			right = joinLookups(plan{outcome: chat, say: left.say, question: left.question}, right)
		}
		p.after = &right
	default:
		p.calls = right.calls
		p.next = func(results []done) plan {
			second := right.next(results)
			second.intent = right.intent
			return joinPlans(left, second)
		}
	}
	return p
}

func joinPlans(left, right plan) plan {
	for i, p := range []plan{left, right} {
		if p.intent == nil || p.intent.name != "nevermind" {
			continue
		}
		if i == 0 && right.outcome != unknown { // "forget it, delete it", "never mind. What time is it?"
			right.answered = true
			return right
		}
		return p // "delete it, no, leave it"
	}
	if left.next != nil || right.next != nil {
		return joinLookups(left, right)
	}
	p := plan{outcome: act, intent: left.intent}
	p.calls = left.calls[:len(left.calls):len(left.calls)]
	for _, c := range right.calls { // "morning! what's my day like?" asks for one briefing
		if c.name != "daily_briefing" || !slices.ContainsFunc(left.calls, func(o call) bool { return o.name == c.name && string(o.encodeArgs()) == string(c.encodeArgs()) }) {
			p.calls = append(p.calls, c)
		}
	}
	p.say = strings.TrimSpace(left.say + "\n\n" + right.say)
	if left.question != nil && right.question != nil { // one of the questions would be lost
		asked, _ := planQuestion(oneRequest, nil)
		asked.intent = left.intent
		return asked
	}
	p.question = left.question
	if p.question == nil {
		p.question = right.question
	}
	switch {
	case len(p.calls) > 0:
	case p.question != nil:
		p.outcome = ask
	default:
		p.outcome = chat
	}
	return p
}
