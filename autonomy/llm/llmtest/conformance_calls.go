package llmtest

import (
	"encoding/json"

	"hob/autonomy/llm"
)

// callChecks returns the cases with valid and invalid tool calls.
func callChecks() []check {
	two := []Call{{ID: "x1", Name: "add", Args: `{"a":1,"b":{"c":[1,2,"}"]}}`}, {ID: "x2", Name: "add", Args: `{"a":3,"b":4}`}}
	whole := func(r *run) {
		res := r.askModel(helloRequest())
		r.requireOK(res)
		r.requireEqual("stop", res.Stop, llm.ToolUse)
		r.requireCalls(res, false, `add{"a":1,"b":{"c":[1,2,"}"]}}`, `add{"a":3,"b":4}`)
	}
	out := []check{
		{"one call", []Answer{{Text: "I look.", Calls: two[:1]}}, func(r *run) {
			res := r.askModel(helloRequest())
			r.requireOK(res)
			r.requireEqual("text", res.Text(), "I look.")
			r.requireEqual("id", res.Calls()[0].ID, "x1")
			r.requireCalls(res, false, `add{"a":1,"b":{"c":[1,2,"}"]}}`)
		}},
		{"no arguments", []Answer{{Calls: []Call{{Name: "get_time"}}}}, func(r *run) {
			res := r.askModel(helloRequest())
			r.requireOK(res)
			r.requireCalls(res, false, `get_time{}`)
		}},
		{"wrong stop reason: stop", []Answer{{Calls: two, Stop: "stop"}}, whole},
		{"wrong stop reason: end_turn", []Answer{{Calls: two, Stop: "end_turn"}}, whole},
		{"wrong stop reason: unknown", []Answer{{Calls: two, Stop: "eos_token"}}, whole},
		{"wrong stop reason: tool_use without calls", []Answer{{Text: "hi", Stop: "tool_use"}}, func(r *run) {
			res := r.askModel(helloRequest())
			r.requireOK(res)
			r.requireEqual("stop", res.Stop, llm.EndTurn)
		}},
	}
	for _, f := range []Fault{"", SameIDs, NoIDs, NoIndex, SameIndex, OneChunk, ObjectArgs, JSON, NoDone, UsageInLast, Odd} {
		out = append(out, check{"two calls " + string(f), []Answer{{Calls: two, Fault: f}}, whole})
	}
	for _, c := range []struct {
		name string
		a    Answer
	}{
		{"cut-off arguments", Answer{Fault: CutArgs, Calls: []Call{{Name: "add", Args: `{"a":1,"text":"hello world"}`}}}},
		{"arguments that are not JSON", Answer{Calls: []Call{{Name: "add", Args: `{"a":1,}`}}}},
		{"arguments that are a list", Answer{Calls: []Call{{Name: "add", Args: `[1,2]`}}}},
		{"arguments that are prose", Answer{Calls: []Call{{Name: "add", Args: `please add 1 and 2`}}}},
		{"two objects", Answer{Calls: []Call{{Name: "add", Args: `{"a":1}{"a":2}`}}}},
		{"the limit right before the arguments", Answer{Stop: "length", Calls: []Call{{Name: "add", Args: ``}}}},
		{"the limit after healed arguments", Answer{Stop: "length", Calls: []Call{{Name: "add", Args: `{"text":"hello wor"}`}}}},
	} {
		out = append(out, check{"truncated: " + c.name, []Answer{c.a}, func(r *run) {
			res := r.askModel(helloRequest())
			r.requireOK(res)
			if len(res.Calls()) != 1 || !res.Calls()[0].Truncated {
				r.t.Errorf("calls %+v, want a truncated one", res.Calls())
			}
		}})
	}
	return append(out, check{"only the last call is cut", []Answer{{Fault: CutArgs, Calls: two}}, func(r *run) {
		res := r.askModel(helloRequest())
		r.requireOK(res)
		r.requireEqual("stop", res.Stop, llm.MaxTokens)
		got := res.Calls()
		if len(got) != 2 || got[0].Truncated || !got[1].Truncated {
			r.t.Errorf("calls %+v, want the first complete and the second truncated", got)
		}
	}})
}

func (r *run) requireCalls(res result, truncated bool, want ...string) {
	r.t.Helper()
	var got []string
	for _, c := range res.Calls() {
		if c.Truncated != truncated {
			r.t.Errorf("call %s%s: truncated %v", c.Name, c.Args, c.Truncated)
		}
		got = append(got, c.Name+compactJSON(c.Args))
	}
	r.requireEqual("calls", got, want)
}

func compactJSON(raw json.RawMessage) string {
	var v any
	if json.Unmarshal(raw, &v) != nil {
		return string(raw)
	}
	b, err := json.Marshal(v)
	if err != nil {
		return string(raw)
	}
	return string(b)
}
