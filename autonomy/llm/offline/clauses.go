package offline

import (
	"maps"
	"slices"
	"strings"
	"time"

	"hob/platform/text/dateparse"
	"hob/platform/text/lazyregexp"
)

// maxReason is the maximum number of words in a clause that only gives a reason.
const maxReason = 10

// planWithoutReason plans a message that consists of a request and a clause that gives the reason:
// "clear the list, we're getting a takeaway", "Paul can't make it, cancel the lunch".
func (g *grammar) planWithoutReason(s *sentence, depth int) (plan, bool) {
	for _, sp := range s.allTimes() { // "wake me up in 20 mins im having a nap"
		if sp.to < len(s.tokens) && s.tokens[sp.to].kind == word && g.lex.containsWord("reason-starts", s.tokens[sp.to].norm) && g.isReason(s, sp.to, len(s.tokens)) {
			if p := g.planSingle(g.parseSentence(s.text[s.tokens[0].start:s.tokens[sp.to-1].end], s.now), depth, false); p.outcome == act && p.intent.rank >= 0 {
				return p, true
			}
		}
	}
	for i := 2; i < len(s.tokens)-2; i++ { // "take the apples off we've got loads"
		if !g.lex.containsWord("reason-starts", s.tokens[i].norm) || s.tokens[i-1].kind != word || !g.isReason(s, i, len(s.tokens)) {
			continue
		}
		p := g.planSingle(g.parseSentence(s.text[s.tokens[0].start:s.tokens[i-1].end], s.now), depth, false)
		if p.outcome == act && p.intent.rank >= 0 && g.changesRecords(p) && !p.createsRecord() {
			return p, true
		}
	}
	for i := 1; i < len(s.tokens)-1; i++ {
		t := s.tokens[i]
		if t.kind != punct && t.norm != "because" || t.kind == punct && !strings.Contains(",;.!-–—", t.norm) {
			continue
		}
		next := s.skipPunctuation(i + 1)
		if next >= len(s.tokens) {
			return noPlan()
		}
		head, tail := s.text[s.tokens[0].start:s.tokens[i-1].end], s.text[s.tokens[next].start:]
		request, from, to := head, next, len(s.tokens)
		if _, past := g.baseForm(s.firstWord(next)); !past && !g.lex.containsWord("clause-starts", s.firstWord(next)) && t.norm != "because" {
			request, from, to = tail, 0, i
		}
		if !g.isReason(s, from, to) && from == 0 && g.isReason(s, next, len(s.tokens)) { // "take the milk off, Maureen got some"
			request, from, to = head, next, len(s.tokens)
		}
		if !g.isReason(s, from, to) {
			if p, ok := g.planWithLabel(s, i, next, depth); ok {
				return p, true
			}
			continue
		}
		asked := g.parseSentence(request, s.now)
		p := g.planSingle(asked, depth, false)
		if p.intent == nil && from == 0 { // "I'm off to bed, wake me at 7 and remind me to bring the umbrella"
			p = g.planAll(request, s.now, depth)
		}
		refers := from == 0 && asked.hasWordOf(0, len(asked.tokens), "references") && p.createsRecord() // "paid the rent, log that as housing"
		if p.intent != nil && (p.outcome != unknown || p.say != "") && (p.intent.rank >= 0 || p.intent.name == "record.cancel") && !refers {
			return p, true
		}
	}
	return noPlan()
}

// planBeforeReason plans a request for a reminder or a task whose reason follows: "remind me to ring Meena on Saturday,
// because she works in the daytime". The reason must contain no time, figure or condition.
func (g *grammar) planBeforeReason(s *sentence, depth int) (plan, bool) {
	if g.code != "" || depth > 0 || strings.Contains(s.text, "?") && !s.requested {
		return noPlan()
	}
	for i := 3; i < len(s.tokens)-3; i++ {
		t := s.tokens[i]
		comma := s.tokens[i-1].kind == punct
		if !g.lex.containsWord("because-words", t.norm) && !(comma && (t.norm == "as" || t.norm == "since")) || g.lex.containsWord("as-words", s.tokens[i+1].norm) {
			continue
		}
		end := len(s.tokens)
		for s.tokens[end-1].kind == punct {
			end--
		}
		plain := end-i > 3 && end-i <= maxReason+3 && !slices.ContainsFunc(s.timesInside(i, len(s.tokens)), func(sp *span) bool { return !usualTime.MatchString(sp.originalPhrase()) }) && !slices.ContainsFunc(s.tokens[i+1:end], func(t token) bool {
			return t.kind != word || g.lex.containsWord("no-reasons", t.norm) || g.lex.containsWord("joints", t.norm) || strings.ContainsAny(t.norm, "0123456789")
		})
		if !plain || g.starters[s.tokens[i+1].norm] && !g.lex.containsWord("clause-starts", s.tokens[i+1].norm) && !g.lex.containsWord("owned-starts", s.tokens[i+1].norm) && s.tokens[i+1].norm != "the" {
			return noPlan()
		}
		heard := s.spanText(0, s.lastWordBefore(i)+1)
		p := g.planSingle(g.parseSentence(heard, s.now), depth, false)
		if p.outcome != act || p.question != nil || p.next != nil || len(p.calls) != 1 || p.calls[0].name != "create_reminder" && p.calls[0].name != "create_task" {
			return noPlan()
		}
		p.heard = heard
		return p, true
	}
	return noPlan()
}

// usualTime matches a part of every day.
var usualTime = lazyregexp.New(`(?i)^(?:in|during) the (?:day|daytime)$|^at night$`)

// planWithLabel plans "set a timer for 25 minutes, glue on the tub": an alarm, a timer or a wake-up call and what it is
// for.
func (g *grammar) planWithLabel(s *sentence, i, next, depth int) (plan, bool) {
	label := s.originalText(next, len(s.tokens))
	first := s.firstWord(next)
	if s.tokens[i].norm != "," || len(strings.Fields(label)) > 5 || len(s.timesInside(next, len(s.tokens))) > 0 || strings.ContainsAny(label, "0123456789?,") ||
		g.lex.containsWord("commands", first) || g.lex.containsWord("questions", first) || g.lex.containsWord("telling-verbs", first) || g.lex.containsWord("setting-verbs", first) || s.hasWordOf(next, len(s.tokens), "no-reasons", "negations") {
		return noPlan()
	}
	p := g.planSingle(g.parseSentence(s.text[s.tokens[0].start:s.tokens[i-1].end], s.now), depth, false)
	if p.outcome != act || p.question != nil || len(p.calls) != 1 || p.calls[0].name != "create_reminder" {
		return noPlan()
	}
	text, _ := p.calls[0].args["text"].(string)
	if _, plain := g.lex.meaningOf("plain-reminders", text); !plain {
		return noPlan()
	}
	if text == "wake up" {
		label = text + ": " + label
	}
	args := maps.Clone(p.calls[0].args)
	args["text"] = label
	p.calls = []call{{"create_reminder", args}}
	return p, true
}

// createsRecord reports whether a plan creates a record.
func (p plan) createsRecord() bool {
	return slices.ContainsFunc(p.calls, func(c call) bool {
		return strings.HasPrefix(c.name, "create_") || strings.HasPrefix(c.name, "log_") || c.name == "remember"
	})
}

// isReason reports whether the tokens [from, to) are a statement that does not affect the adjacent
// request. A time, a condition or a command may affect it.
func (g *grammar) isReason(s *sentence, from, to int) bool {
	if to-from == 2 && g.lex.containsWord("reason-ends", s.tokens[to-1].norm) { // "yoga's cancelled"
		return len(s.timesInside(from, to)) == 0
	}
	if word := s.firstWord(from); to-from == 2 && len(word) > 5 && strings.HasSuffix(word, "ing") && !g.starters[word] { // "having takeaway"
		return len(s.timesInside(from, to)) == 0
	}
	if to-from < 3 || to-from > maxReason || len(s.timesInside(from, to)) > 0 || strings.Contains(s.text, "?") {
		return false
	}
	for from < to-3 && g.lex.containsWord("reason-fillers", s.firstWord(from)) { // "actually Mike's getting him"
		from++
	}
	for to > from+3 && (s.tokens[to-1].kind == punct || s.tokens[to-1].norm == "then") { // "she will be at work then"
		to--
	}
	first := s.firstWord(from)
	if first == "as" && g.lex.containsWord("as-words", s.firstWord(from+1)) { // "as long as the shop is open"
		return false
	}
	if strings.HasSuffix(first, "'s") && len(first) > 3 {
		return !s.hasWordOf(from, to, "no-reasons")
	}
	if g.lex.containsWord("questions", first) || g.lex.containsWord("no-reasons", first) || g.starters[first] && !g.lex.containsWord("clause-starts", first) {
		return false
	}
	if _, past := g.baseForm(first); past { // "found some in the cupboard"
		return !slices.ContainsFunc(s.tokens[from:to], func(t token) bool { return t.kind == word && g.lex.containsWord("no-reasons", t.norm) })
	}
	second := s.firstWord(s.skipPunctuation(from) + 1)
	third := s.firstWord(s.skipPunctuation(from) + 2)
	owned := (first == "the" || g.lex.containsWord("owned-starts", first)) && g.lex.containsWord("clause-verbs", third) // "her meeting is delayed"
	if !owned && !g.lex.containsWord("clause-starts", first) && !g.lex.containsWord("clause-verbs", second) {           // "Paul can't make it"
		return false
	}
	return !slices.ContainsFunc(s.tokens[from:to], func(t token) bool {
		return t.kind == word && g.lex.containsWord("no-reasons", t.norm) || t.kind != word && t.kind != punct
	})
}

// carryDay adds the day of a statement to the text after the connector if the time of day in that
// text has no day: "I have a meeting at 2 tomorrow and then I pick up the kids at 4". A complete
// request has its own day.
func (sp *splitter) carryDay(left *sentence, text string, statement bool) string {
	if !statement || len(left.spans) == 0 {
		return text
	}
	before, err := readMatch(left.spans[len(left.spans)-1].match, sp.now)
	s := sp.g.parseSentence(text, sp.now)
	if err != nil || before.every != "" || before.vague || before.at.IsZero() || sameDay(before.at, sp.now) || len(s.spans) != 1 {
		return text
	}
	span := s.spans[0]
	if span.match.Moment == nil || !isBareClock(span.originalPhrase(), sp.now) {
		return text
	}
	clock := withoutPreposition(span.originalPhrase())
	phrase := "on " + before.at.Format("2 January 2006") + " at " + clock
	m, err := dateparse.Parse(phrase, sp.now)
	if err != nil || !m.HasClock || m.Time.Sub(before.at) < 0 && before.clock {
		return text
	}
	if m.Time.Sub(sp.now) > 400*24*time.Hour {
		return text
	}
	from, to := s.tokens[span.from].start, s.tokens[span.to-1].end
	return strings.TrimSpace(strings.TrimSuffix(strings.TrimRight(text[:from], " "), " at")) + " " + phrase + text[to:]
}
