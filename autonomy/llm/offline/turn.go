package offline

import (
	"cmp"
	"encoding/json"
	"fmt"
	"hash/fnv"
	"slices"
	"strings"

	"hob/autonomy/llm"
)

// turn is a request in the form that this model uses: the user's last message, accompanying
// untrusted text, and the calls made so far.
type turn struct {
	g       *grammar
	r       llm.Request
	own     string   // the user's words
	outside []string // other people's words, which are data and never instructions
	picture bool
	begin   int        // index of the first message in the turn
	said    int        // index of the user's last message
	past    []exchange // see listExchanges
	lookups [][2]int   // the calls in this turn that only served plan.next: first index and number
}

func (g *grammar) newTurn(r llm.Request) *turn {
	t := &turn{g: g, r: r, said: -1}
	for i, m := range r.Messages {
		if m.Role == llm.Assistant && !hasCall(m) || slices.ContainsFunc(m.Parts, isWaiting) {
			t.begin = i + 1
		}
	}
	for i, m := range r.Messages {
		if i >= t.begin && m.Role == llm.User && hasUserContent(m) {
			t.said = i
		}
	}
	if t.said >= 0 {
		t.own, t.outside, t.picture = splitWords(r.Messages[t.said])
	}
	return t
}

// isWaiting reports whether a call belongs to an earlier turn that is waiting for the user's
// approval.
func isWaiting(p llm.Part) bool {
	return p.Result != nil && p.Result.Error && strings.HasPrefix(p.Result.Text, llm.WaitingResult)
}

func hasCall(m llm.Message) bool {
	return slices.ContainsFunc(m.Parts, func(p llm.Part) bool { return p.Call != nil })
}

// hasUserContent reports whether a message contains more than Hob's own additions.
func hasUserContent(m llm.Message) bool {
	return slices.ContainsFunc(m.Parts, func(p llm.Part) bool { return !p.Context && (p.Text != "" || p.Image != nil) })
}

// splitWords separates the user's words from untrusted text. Text of unknown origin is treated as
// untrusted.
func splitWords(m llm.Message) (own string, outside []string, picture bool) {
	for _, p := range m.Parts {
		switch {
		case p.Context:
		case p.Image != nil:
			picture = true
		case strings.TrimSpace(p.Text) == "":
		case p.Source.Tainted():
			outside = append(outside, p.Text)
		case own == "":
			own = p.Text
		default:
			own += "\n" + p.Text
		}
	}
	return own, outside, picture
}

// nextStep returns the next step: calls, or text that ends the turn. In a conversation, a question without an answer does
// not lead to the claim that the user said nothing about it.
func (t *turn) nextStep() (string, []llm.ToolCall) {
	say, calls := t.planStep()
	denial, _, _ := strings.Cut(t.g.denyAnswer(""), "“")
	notFound, _, _ := strings.Cut(t.g.replyText("not-found", "{words}", "“"), "“")
	if len(calls) == 0 && strings.HasPrefix(say, denial) && len(t.listExchanges()) > 0 {
		say = t.g.replyText("not-found", "{words}", quoteText(t.own))
	}
	if len(calls) == 0 && (strings.HasPrefix(say, denial) || strings.HasPrefix(say, notFound)) {
		say = cmp.Or(t.g.replyCommand(t.own), say)
	}
	if len(calls) == 0 {
		if near := t.nearCalls(say); len(near) > 0 {
			return "", near
		}
		say = t.withNearest(say)
	}
	return say, calls
}

// planStep returns the next step; see nextStep.
func (t *turn) planStep() (string, []llm.ToolCall) {
	made := t.callsSince(t.said + 1)
	if t.said < 0 && len(made) == 0 {
		return t.g.replyText("nothing-said"), nil
	}
	if t.r.TakenOver && len(made) > 0 {
		return t.reportSteps(made), nil
	}
	p := t.planTurn()
	if len(t.outside) == 0 {
		p = t.g.searchBeforeDenial(p)
	}
	p, made, resumed := t.resumePlan(p, made)
	if len(made) == 0 && (!resumed || len(p.calls) > 0) {
		return t.openingStep(p)
	}
	if next, ok := t.secondStep(p, made); ok {
		if calls, _ := t.toToolCalls([]call{next}); len(calls) > 0 && !t.r.NoTools {
			return "", calls
		}
	}
	return t.composeAnswer(p), nil
}

// resumePlan returns the plan for the rest of the turn and the calls made for it. resumed is true if that plan follows
// actions of the same turn.
func (t *turn) resumePlan(p plan, made []done) (next plan, rest []done, resumed bool) {
	finished := 0
	for {
		if p.next != nil {
			p.calls = t.availableCalls(p.calls)
			before := len(made)
			p, made = p.afterLookup(made)
			if n := before - len(made); n > 0 {
				t.lookups = append(t.lookups, [2]int{finished, n})
				finished += n
			}
		}
		n := len(t.availableCalls(p.calls))
		if p.after == nil || len(made) < n {
			return p, made, resumed
		}
		made, p, resumed = made[n:], *p.after, true
		finished += n
	}
}

// planTurn interprets the user's words, which may be the answer to Hob's last question.
func (t *turn) planTurn() plan {
	if t.own == "" {
		return plan{outcome: unknown}
	}
	g := t.g.inDialogue(&dialogue{past: t.listExchanges()})
	own := g.tidySpeech(t.own)
	if p, ok := g.chooseOne(own); ok {
		return p
	}
	if p, ok := t.chooseForeign(g); ok {
		return p
	}
	p := g.answerTo(t.pendingQuestion(), own, t.r.Now)
	if p.intent != nil && p.intent.name == "watch.pace" && !t.followsWatcher() {
		return plan{outcome: unknown}
	}
	return p
}

// chooseForeign interprets the answer to a question that lists several records, if the message that
// led to the question was in another language.
func (t *turn) chooseForeign(g *grammar) (plan, bool) {
	x, _ := g.talk.exchangeAgo(0)
	if _, list := g.talk.openChoices(); len(list) == 0 || len(g.languages) == 0 {
		return noPlan()
	}
	before, ok := g.planForeign(x.own, t.r.Now)
	if !ok {
		return noPlan()
	}
	p, ok := before.lang.chooseOne(t.own)
	p.lang = before.lang
	return p, ok
}

// followsWatcher reports whether the user's previous message created a watcher. A message such as
// "only on weekdays" then changes that watcher.
func (t *turn) followsWatcher() bool {
	past := t.listExchanges()
	if len(past) == 0 {
		return false
	}
	p := t.g.planRequests(past[len(past)-1].own, t.r.Now, 0)
	return slices.ContainsFunc(p.calls, func(c call) bool { return c.name == "create_watcher" || c.name == "update_watcher" })
}

// openingStep returns the first step in a turn.
func (t *turn) openingStep(p plan) (string, []llm.ToolCall) {
	if len(p.calls) == 0 {
		return t.withoutCalls(p), nil
	}
	if t.r.NoTools {
		return t.g.replyText("no-tools"), nil
	}
	calls, missing := t.toToolCalls(p.calls)
	if len(calls) == 0 {
		return t.g.replyText("missing-tool", "{tool}", strings.Join(missing, ", ")), nil
	}
	return "", calls
}

// withoutCalls returns the text for a plan that needs no tool.
func (t *turn) withoutCalls(p plan) string {
	reporting := p.intent != nil && p.intent.name == "summarise"
	switch {
	case len(t.outside) > 0 && (t.own == "" || reporting):
		return t.g.replyText("outside", "{words}", t.quoteUntrusted())
	case len(t.outside) > 0 && p.outcome == unknown:
		return t.g.replyText("outside-unclear", "{words}", quoteText(t.own), "{event}", t.quoteUntrusted())
	case t.own == "" && t.picture:
		return t.g.replyText("picture")
	case t.own == "":
		return t.g.replyText("nothing-said")
	}
	say := t.g.planText(p, t.own)
	if note := t.unrecordedNote(); note != "" && p.lang == nil && p.outcome == chat && p.question == nil { // "Yes, you are free"
		return say + "\n\n" + note
	}
	return say
}

// quoteUntrusted returns the untrusted text as a quotation on one line.
func (t *turn) quoteUntrusted() string {
	return "“" + oneLine(strings.Join(t.outside, " "), 300) + "”"
}

// planText returns the text for a plan without calls.
func (g *grammar) planText(p plan, said string) string {
	switch {
	case p.question != nil:
		return strings.TrimSpace(p.say + " " + p.question.text)
	case p.say != "":
		return p.say
	}
	return g.replyUnknown(said)
}

// toToolCalls converts planned calls to tool calls. A call is direct if the request offers the
// tool, and otherwise uses use_tool.
func (t *turn) toToolCalls(planned []call) (calls []llm.ToolCall, missing []string) {
	have := map[string]bool{}
	for _, tool := range t.r.Tools {
		have[tool.Name] = true
	}
	for i, c := range planned {
		if !have[c.name] && have["use_tool"] {
			c = call{"use_tool", map[string]any{"name": c.name, "arguments": c.encodeArgs()}}
		}
		if !have[c.name] {
			missing = append(missing, c.name)
			continue
		}
		calls = append(calls, llm.ToolCall{ID: t.callID(i, c), Name: c.name, Args: c.encodeArgs()})
	}
	return calls, missing
}

// availableCalls returns the calls whose tools the request offers.
func (t *turn) availableCalls(planned []call) (out []call) {
	for _, c := range planned {
		if calls, _ := t.toToolCalls([]call{c}); len(calls) > 0 {
			out = append(out, c)
		}
	}
	return out
}

// callID returns the id of a call. It is the same for the same request and unique within a
// conversation.
func (t *turn) callID(i int, c call) string {
	h := fnv.New64a()
	fmt.Fprintf(h, "%d/%d/%d/%s/%s", t.r.Now.UnixNano(), len(t.r.Messages), i, c.name, c.encodeArgs())
	return fmt.Sprintf("off_%016x", h.Sum64())
}

// done is a call in this turn with its result, which is nil if the call has none yet.
type done struct {
	name   string // name of the tool that the call uses, directly or through use_tool
	result *llm.ToolResult
}

// callsSince lists the calls since message from, in order.
func (t *turn) callsSince(from int) []done {
	var out []done
	index := map[string]int{}
	for _, m := range t.r.Messages[min(from, len(t.r.Messages)):] {
		for _, p := range m.Parts {
			switch {
			case p.Call != nil && isNearSearch(m): // see nearResults
			case p.Call != nil && m.Role == llm.Assistant:
				index[p.Call.ID] = len(out)
				out = append(out, done{name: toolOf(*p.Call)})
			case p.Result != nil:
				if i, ok := index[p.Result.ID]; ok && out[i].result == nil {
					shown := *p.Result
					shown.Text, _, _ = strings.Cut(shown.Text, "\n[hint] ") // hints are for language models
					out[i].result = &shown
				}
			}
		}
	}
	return out
}

// toolOf returns the name of the tool that a call uses, directly or through use_tool.
func toolOf(c llm.ToolCall) string {
	if c.Name != "use_tool" {
		return c.Name
	}
	var in struct {
		Name string `json:"name"`
	}
	if json.Unmarshal(c.Args, &in) != nil || in.Name == "" {
		return c.Name
	}
	return in.Name
}
