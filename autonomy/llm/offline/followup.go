package offline

import (
	"cmp"
	"strconv"
	"strings"
	"time"

	"hob/platform/text/lazyregexp"
)

// These limits determine how long a question stays open: the number of exchanges after it, the
// number of exchanges that do not answer it, and its age.
const (
	remembered  = 6
	unrelated   = 2
	questionAge = 10 * time.Minute
)

// pendingQuestion returns the question that is still open, or nil. It parses the user's earlier
// messages again, because the model is stateless.
func (t *turn) pendingQuestion() *question {
	past := t.listExchanges()
	from := max(0, len(past)-remembered)
	for from < len(past) && !strings.HasSuffix(past[from].reply, "?") {
		from++
	}
	var q *question
	age := 0
	for i, x := range past[from:] {
		then := t.r.Now
		if !x.at.IsZero() {
			if then = x.at.In(then.Location()); t.r.Now.Sub(then) > questionAge {
				q = nil
				continue
			}
		}
		p := t.g.inDialogue(&dialogue{past: past[:from+i]}).answerTo(q, x.own, then)
		replay := *t
		p, _, _ = replay.resumePlan(p, x.doneCalls())
		if n := len(x.acts); n > 0 && x.acts[n-1].before != "" && p.question == nil {
			p.question = &question{text: x.reply, agree: &plan{outcome: act, accounted: true, calls: []call{{"undo", argsOf("id", x.acts[n-1].before)}}}}
		}
		switch {
		case p.question != nil && strings.HasSuffix(x.reply, p.question.text):
			if p.question != q || x.reply == q.text { // a new question, or asked again at the user's request
				age = 0
			}
			q = p.question
		case p.answered, p.intent != nil && p.intent.name == "nevermind", strings.HasSuffix(x.reply, "?"):
			q = nil
		}
		if age++; age > unrelated || age > 1 && q != nil && q.agree != nil && q.offer == nil && !strings.HasSuffix(x.reply, q.text) { // "yes" must follow the question
			q = nil
		}
	}
	return q
}

// halfAnswer matches an answer that is only a half of the day.
var halfAnswer = lazyregexp.New(`^(?:no|sorry|oh|it is|it's|its|i mean|i meant|,| )*(?:in the |at )?(am|pm|morning|afternoon|evening)(?:[ ,]+(?:i mean|i meant|obviously|of course|please|sorry))*[ .!]*$`)

// answerTo returns the plan for text, which may be the answer to a question. A plan that is not plain asks first.
func (g *grammar) answerTo(q *question, text string, now time.Time) plan {
	p := g.interpretAnswer(q, text, now)
	if p.answered && q != nil && (q.agree != nil || len(q.options) > 0) {
		return p
	}
	p = g.tellUnanswered(q, g.keepWaiting(q, g.confirmUnlessPlain(q, p, text, now)))
	return g.tellKept(g.askHalf(g.declineCondition(p, text), text, now))
}

// interpretAnswer interprets text as the answer to a question, unless the text is clearly something else.
// The complete text must be part of the answer.
func (g *grammar) interpretAnswer(q *question, text string, now time.Time) plan {
	if len(g.talk.past) > 0 && g.code == "" {
		text = spellDay(text)
	}
	text = g.replaceSame(q, text, now)
	switch m := halfAnswer.FindStringSubmatch(strings.ToLower(text)); {
	case m == nil || g.code != "":
	case q != nil && q.offer != nil && len(q.offer.times) == 1:
		if at, err := time.Parse(time.RFC3339, stringOf(q.offer.times[0]["at"])); err == nil && (strings.HasSuffix(m[1], "m") || at.In(now.Location()).Hour()%12 >= 4 && at.In(now.Location()).Hour()%12 < 10) { // "coffee at 10", "in the evening" is another time
			half := "pm"
			if m[1] == "am" || m[1] == "morning" {
				half = "am"
			}
			text = "no, at " + at.In(now.Location()).Format("3:04") + half
		}
	case q != nil && q.complete != nil || q == nil && m[1] == "am": // "am i mean"
		text = "in the " + cmp.Or(map[string]string{"am": "morning", "pm": "afternoon"}[m[1]], m[1])
	}
	if q == nil {
		return g.planRequests(text, now, 0)
	}
	if p, ok := g.chooseOption(q, text); ok {
		return p
	}
	if head, tail, ok := strings.Cut(text, ":"); ok && q.complete != nil { // "back to the ferry: tomorrow at 11"
		if p := g.planSingle(g.parseSentence(head, now), 0, false); p.intent != nil && p.intent.name == "follow.resume" {
			text = strings.TrimSpace(tail)
		}
	}
	if q.complete == nil && q.agree == nil {
		return g.planRequests(text, now, 0)
	}
	if p, ok := g.amendQuestion(q, text, now); ok {
		p.answered = true
		return p
	}
	if p := g.planSingle(g.parseSentence(text, now), 0, false); p.intent != nil && p.intent.name == "follow.resume" || q.offer != nil && g.talk.onlyAsked() && g.asksWhen(text, now) { // "what did you ask?"
		return plan{outcome: ask, question: q}
	}
	alone := g.inDialogue(nil)
	direct := alone.planRequests(text, now, 0)
	if q.lang != nil && (direct.lang == nil || direct.intent == nil) { // "no" is Spanish too
		if p := q.lang.inDialogue(nil).planAll(text, now, 0); p.intent != nil {
			p.lang = q.lang
			direct = p
		}
	}
	if direct.intent != nil && direct.intent.name == "undo" && g.talk.onlyAsked() && len(direct.calls) == 1 && direct.calls[0].args == nil { // "undo that" means the question
		return g.planNeverMind()
	}
	if q.agree != nil {
		if direct.intent != nil && direct.intent.name == "yes" && direct.outcome != act || q.offer != nil && g.isYes(text, now) {
			p := *q.agree
			p.answered = true
			return p
		}
		if p, ok := g.amendPending(q, text, now); ok {
			p.answered = true
			return p
		}
		return g.planRequests(text, now, 0)
	}
	if direct.intent != nil && direct.intent.name == "help" && direct.lang == nil {
		direct.say = g.replyText("help-question", "{question}", q.text)
		return direct
	}
	if g.isQuestionText(text, now) && !g.changesRecords(direct) { // "and when is her birthday?" is about the conversation
		if p := g.planRequests(text, now, 0); p.intent != nil && (p.outcome == act || p.outcome == chat) && !g.changesRecords(p) {
			return p
		}
	}
	if direct.intent != nil && direct.intent.name == "nevermind" && !g.isLatest(q) { // it is about what Hob did since the question
		return g.planRequests(text, now, 0)
	}
	if direct.intent != nil && direct.intent.rank >= 0 && direct.outcome != unknown && direct.intent.name != "yes" {
		if p := g.planRequests(text, now, 0); p.intent == direct.intent && p.outcome == chat { // "what did you do?" is about the conversation
			return p
		}
		return direct
	}
	if !g.isQuestionText(text, now) {
		if wish, ok := q.complete(strings.TrimSpace(text)); ok {
			if p := alone.planRequests(wish, now, 0); p.outcome != unknown && (p.outcome != chat || p.intent != nil && strings.HasPrefix(p.intent.name, "figure.")) {
				p.answered = true
				return p
			}
		}
	}
	if direct.outcome == act || direct.outcome == ask {
		return direct
	}
	if p := g.planRequests(text, now, 0); p.outcome == act || p.outcome == ask || p.outcome == chat {
		if p.intent != nil && p.intent.name == "follow.resume" {
			return plan{outcome: ask, question: q}
		}
		return p
	}
	if direct.say != "" && (direct.lang == nil || direct.intent != nil) || g.isQuestionText(text, now) {
		return direct
	}
	if q.lang != nil {
		return plan{outcome: ask, say: q.lang.replyText("no-answer", "{words}", quoteText(text)), question: q, lang: q.lang}
	}
	return plan{outcome: ask, say: "I cannot use " + quoteText(text) + " as an answer to that.", question: q}
}

// asksWhen reports whether a message asks for the time in the last reply.
func (g *grammar) asksWhen(text string, now time.Time) bool {
	for _, r := range g.allReadings(g.parseSentence(text, now), false) {
		return r.intent.name == "follow.ask_when"
	}
	return false
}

// chooseOption returns the plan of the numbered choice that text names.
func (g *grammar) chooseOption(q *question, text string) (plan, bool) {
	lines := make([]item, len(q.options))
	for i, o := range q.options {
		lines[i] = item{ref: strconv.Itoa(i), line: o.line}
	}
	it, ok := g.pickItem(lines, text)
	if !ok {
		return noPlan()
	}
	i, err := strconv.Atoi(it.ref)
	if err != nil {
		return noPlan()
	}
	p := q.options[i].plan
	p.answered = true
	return p, true
}
