package offline

import (
	"encoding/json"
	"fmt"
	"hash/fnv"
	"slices"
	"strings"

	"hob/autonomy/llm"
)

// turn is a request as this model uses it: the user's last message, accompanying untrusted
// text, and the calls made so far.
type turn struct {
	g       *grammar
	r       llm.Request
	own     string   // the user's words
	outside []string // other people's words: data, never instructions
	picture bool
	begin   int // index of the first message of the turn
	said    int // index of the user's last message
}

func (g *grammar) turn(r llm.Request) *turn {
	t := &turn{g: g, r: r, said: -1}
	for i, m := range r.Messages {
		if m.Role == llm.Assistant && !hasCall(m) {
			t.begin = i + 1
		}
	}
	for i, m := range r.Messages {
		if i >= t.begin && m.Role == llm.User && speaks(m) {
			t.said = i
		}
	}
	if t.said >= 0 {
		t.own, t.outside, t.picture = words(r.Messages[t.said])
	}
	return t
}

func hasCall(m llm.Message) bool {
	return slices.ContainsFunc(m.Parts, func(p llm.Part) bool { return p.Call != nil })
}

// speaks reports whether a message contains more than Hob's own additions.
func speaks(m llm.Message) bool {
	return slices.ContainsFunc(m.Parts, func(p llm.Part) bool { return !p.Context && (p.Text != "" || p.Image != nil) })
}

// words separates the user's words from untrusted text. Text of unknown origin is untrusted.
func words(m llm.Message) (own string, outside []string, picture bool) {
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

// step returns the next step: calls, or text that ends the turn.
func (t *turn) step() (string, []llm.ToolCall) {
	made := t.made(t.said + 1)
	if t.said < 0 && len(made) == 0 {
		return t.g.prose("nothing-said"), nil
	}
	p := t.plan()
	if len(made) == 0 {
		return t.open(p)
	}
	if next, ok := t.second(p, made); ok {
		if calls, _ := t.offered([]call{next}); len(calls) > 0 && !t.r.NoTools {
			return "", calls
		}
	}
	return t.answer(p), nil
}

// plan interprets the user's words, also as the answer to Hob's last question.
func (t *turn) plan() plan {
	if t.own == "" {
		return plan{outcome: unknown}
	}
	p := t.g.answerTo(t.pending(), t.own, t.r.Now)
	if p.intent != nil && p.intent.name == "watch.pace" && !t.watching() {
		return plan{outcome: unknown}
	}
	return p
}

// watching reports whether the user's previous message created a watcher, which a following
// "only on weekdays" then changes.
func (t *turn) watching() bool {
	past := t.exchanges()
	if len(past) == 0 {
		return false
	}
	p := t.g.plan(past[len(past)-1].own, t.r.Now, 0)
	return slices.ContainsFunc(p.calls, func(c call) bool { return c.name == "create_watcher" || c.name == "update_watcher" })
}

// open returns the first step of a turn.
func (t *turn) open(p plan) (string, []llm.ToolCall) {
	if len(p.calls) == 0 {
		return t.withoutCalls(p), nil
	}
	if t.r.NoTools {
		return t.g.prose("no-tools"), nil
	}
	calls, missing := t.offered(p.calls)
	if len(calls) == 0 {
		return t.g.prose("missing-tool", "{tool}", strings.Join(missing, ", ")), nil
	}
	return "", calls
}

// withoutCalls returns the text of a plan that needs no tool.
func (t *turn) withoutCalls(p plan) string {
	reporting := p.intent != nil && p.intent.name == "summarise"
	switch {
	case len(t.outside) > 0 && (t.own == "" || reporting):
		return t.g.prose("outside", "{words}", t.report())
	case len(t.outside) > 0 && p.outcome == unknown:
		return t.g.prose("outside-unclear", "{words}", quote(t.own), "{event}", t.report())
	case t.own == "" && t.picture:
		return t.g.prose("picture")
	case t.own == "":
		return t.g.prose("nothing-said")
	}
	return t.g.wording(p, t.own)
}

// report quotes untrusted text in one line.
func (t *turn) report() string { return "“" + oneLine(strings.Join(t.outside, " "), 300) + "”" }

// wording returns the text of a plan without calls.
func (g *grammar) wording(p plan, said string) string {
	switch {
	case p.question != nil:
		return strings.TrimSpace(p.say + " " + p.question.text)
	case p.say != "":
		return p.say
	}
	return g.prose("not-understood", "{words}", quote(said), "{example}", quote(g.nearest(said)))
}

// offered converts planned calls to tool calls: directly if the request offers the tool,
// otherwise through use_tool.
func (t *turn) offered(planned []call) (calls []llm.ToolCall, missing []string) {
	have := map[string]bool{}
	for _, tool := range t.r.Tools {
		have[tool.Name] = true
	}
	for i, c := range planned {
		if !have[c.name] && have["use_tool"] {
			c = call{"use_tool", map[string]any{"name": c.name, "arguments": c.json()}}
		}
		if !have[c.name] {
			missing = append(missing, c.name)
			continue
		}
		calls = append(calls, llm.ToolCall{ID: t.id(i, c), Name: c.name, Args: c.json()})
	}
	return calls, missing
}

// id is the same for the same request and differs within a conversation.
func (t *turn) id(i int, c call) string {
	h := fnv.New64a()
	fmt.Fprintf(h, "%d/%d/%d/%s/%s", t.r.Now.UnixNano(), len(t.r.Messages), i, c.name, c.json())
	return fmt.Sprintf("off_%016x", h.Sum64())
}

// done is a call of this turn with its result, nil without one.
type done struct {
	name   string // of the tool itself, also behind use_tool
	result *llm.ToolResult
}

// made lists the calls since message from, in order.
func (t *turn) made(from int) []done {
	var out []done
	index := map[string]int{}
	for _, m := range t.r.Messages[min(from, len(t.r.Messages)):] {
		for _, p := range m.Parts {
			switch {
			case p.Call != nil && m.Role == llm.Assistant:
				index[p.Call.ID] = len(out)
				out = append(out, done{name: toolOf(*p.Call)})
			case p.Result != nil:
				if i, ok := index[p.Result.ID]; ok && out[i].result == nil {
					out[i].result = p.Result
				}
			}
		}
	}
	return out
}

// toolOf returns the tool that a call uses, also behind use_tool.
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
