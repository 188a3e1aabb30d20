package offline

import (
	"strings"
	"time"

	"hob/autonomy/llm"
)

// exchange is one earlier message from the user together with Hob's answer.
type exchange struct{ own, reply string }

// remembered is the maximum number of exchanges in a chain of questions.
const remembered = 6

// pendingQuestion returns the question in Hob's last answer, or nil if it contains none. It parses
// the user's earlier message again, because the model is stateless.
func (t *turn) pendingQuestion() *question {
	past := t.listExchanges()
	from := len(past)
	for from > 0 && len(past)-from < remembered && strings.HasSuffix(past[from-1].reply, "?") {
		from--
	}
	var q *question
	for _, x := range past[from:] {
		p := t.g.answerTo(q, x.own, t.r.Now)
		q = nil
		if p.question != nil && strings.HasSuffix(x.reply, p.question.text) {
			q = p.question
		}
	}
	return q
}

// listExchanges lists the exchanges before this turn.
func (t *turn) listExchanges() []exchange {
	var out []exchange
	own := ""
	for _, m := range t.r.Messages[:t.begin] {
		switch {
		case m.Role == llm.User && hasUserContent(m):
			own, _, _ = splitWords(m)
		case m.Role == llm.Assistant && !hasCall(m):
			var reply strings.Builder
			for _, p := range m.Parts {
				reply.WriteString(p.Text)
			}
			out = append(out, exchange{own, strings.TrimSpace(reply.String())})
			own = ""
		}
	}
	return out
}

// answerTo interprets text as the answer to a question, unless it is clearly a new request.
func (g *grammar) answerTo(q *question, text string, now time.Time) plan {
	direct := g.planRequests(text, now, 0)
	if q == nil || q.complete == nil {
		return direct
	}
	if direct.intent != nil && direct.intent.rank >= 0 && direct.outcome != unknown && direct.intent.name != "yes" {
		return direct
	}
	wish, ok := q.complete(strings.TrimSpace(text))
	if ok {
		if p := g.planRequests(wish, now, 0); p.outcome != unknown && p.outcome != chat {
			return p
		}
	}
	if direct.outcome == act || direct.outcome == ask {
		return direct
	}
	return plan{outcome: ask, say: "I cannot use " + quoteText(text) + " as an answer to that.", question: q}
}
