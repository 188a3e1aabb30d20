package autonomy_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"hob/autonomy/llm"
	"hob/autonomy/llm/llmtest"
	"hob/autonomy/turn"
	"hob/platform/provenance"
	"hob/platform/store"
	"hob/tools"
)

// modelFrom makes a model from a function that returns the answer to a request.
func modelFrom(f func(r llmtest.Request) llmtest.Answer) *llmtest.Scripted {
	return llmtest.NewScripted(llmtest.Options{Reply: func(r llmtest.Request) (llmtest.Answer, bool) { return f(r), true }})
}

func newCall(name, args string) llmtest.Call { return llmtest.Call{Name: name, Args: args} }

func callsAnswer(cs ...llmtest.Call) llmtest.Answer { return llmtest.Answer{Calls: cs} }

func readPage(text string) llmtest.Call {
	return newCall("read_page", fmt.Sprintf(`{"text":%q}`, text))
}

// listHints lists the loop's notes in each request's last tool results.
func listHints(m *llmtest.Scripted) (out []string) {
	for i, r := range m.Asked() {
		last := r.Messages[len(r.Messages)-1]
		for _, p := range last.Parts {
			if p.Result == nil {
				continue
			}
			if _, h, ok := strings.Cut(p.Result.Text, "[hint] "); ok {
				out = append(out, fmt.Sprintf("%d: %s", i, h))
			}
		}
	}
	return out
}

func TestLimits_RoundsRunOut(t *testing.T) {
	for _, rounds := range []int{1, 3, 10, 20} {
		t.Run(fmt.Sprint(rounds), func(t *testing.T) {
			m := modelFrom(func(r llmtest.Request) llmtest.Answer {
				if r.NoTools {
					return llmtest.Answer{Text: "that is all", Calls: []llmtest.Call{readPage("one more")}}
				}
				return callsAnswer(readPage(fmt.Sprint(r.Round)))
			})
			e := startEngine(t, setup{model: m, limits: turn.Limits{Rounds: rounds}})
			if got := e.askHob("s", "go on for ever"); got != "that is all" {
				t.Errorf("answer %q", got)
			}
			asked := m.Asked()
			if len(asked) != rounds+1 || !asked[rounds].NoTools || asked[rounds-1].NoTools {
				t.Errorf("%d model calls", len(asked))
			}
			want := []string{fmt.Sprintf("%d: No more tools in this turn. Answer now in words: what is done, what failed and why.", rounds)}
			if rounds >= 10 {
				want = append([]string{
					fmt.Sprintf("%d: Most of the tool budget of this turn is used: start to wrap up.", rounds*7/10),
					fmt.Sprintf("%d: The tool budget of this turn is nearly used up: answer now.", rounds*9/10),
				}, want...)
			}
			if got := listHints(m); rounds >= 10 && !cmp.Equal(want, got) || got[len(got)-1] != want[len(want)-1] {
				t.Error(cmp.Diff(want, got))
			}
		})
	}
}

// newFlakyTool returns a tool that fails if its argument begins with "bad".
func newFlakyTool() tools.Tool {
	return tools.New(tools.Def[textArgs]{
		Spec: tools.Spec{Name: "flaky", Category: "test", Description: "Sometimes works.", Effects: tools.Read, Core: true},
		Run: func(_ context.Context, _ tools.Call, in textArgs) (tools.Result, error) {
			if strings.HasPrefix(in.Text, "bad") {
				return tools.Result{}, tools.Errorf(tools.NotFound, "there is no %s", tools.Clean(in.Text))
			}
			return tools.Result{Source: provenance.Tool, Text: "fine"}, nil
		},
	})
}

func TestLimits_HintAfterThreeFailures(t *testing.T) {
	script := []string{"bad 1", "bad 2", "good", "bad 3", "bad 4", "bad 5", "bad 6"}
	m := modelFrom(func(r llmtest.Request) llmtest.Answer {
		if r.Round < len(script) {
			return callsAnswer(newCall("flaky", fmt.Sprintf(`{"text":%q}`, script[r.Round])))
		}
		return llmtest.Answer{Text: "I see"}
	})
	e := startEngine(t, setup{model: m, tools: []tools.Tool{newFlakyTool()}})
	e.askHob("s", "try")
	want := []string{"6: flaky has failed 3 times in a row. Try something else, or say what is in the way."}
	if diff := cmp.Diff(want, listHints(m)); diff != "" {
		t.Error(diff)
	}
}

// lastResults lists the results at the end of each request, up to the first colon.
func lastResults(m *llmtest.Scripted) (out []string) {
	for _, r := range m.Asked() {
		for _, p := range r.Messages[len(r.Messages)-1].Parts {
			if p.Result != nil {
				text := p.Result.Text
				if strings.HasPrefix(text, "<outside-") { // within its fence
					_, text, _ = strings.Cut(text, "\n")
				}
				text, _, _ = strings.Cut(text, ":")
				out = append(out, text)
			}
		}
	}
	return out
}

func TestLimits_RepeatedCalls(t *testing.T) {
	const (
		page    = "page about "
		refused = "error repeated_call"
	)
	tests := []struct {
		name  string
		call  func(round int) string
		want  []string // results
		hints []string
		asked int
	}{
		{
			"the same call", func(int) string { return "a" },
			[]string{page + "a", page + "a", page + "a", refused, refused},
			[]string{"3: You have made exactly this call three times. Its result will not change; use what you have.", "5: No more tools in this turn. Answer now in words: what is done, what failed and why."},
			6,
		},
		{
			"two calls in turns", func(n int) string { return []string{"a", "b"}[n%2] },
			[]string{page + "a", page + "b", page + "a", page + "b", page + "a", refused, refused},
			[]string{
				"4: You are going back and forth between two calls. Their results will not change; use what you have.",
				"5: You have made exactly this call three times. Its result will not change; use what you have.",
				"7: No more tools in this turn. Answer now in words: what is done, what failed and why.",
			},
			8,
		},
		{
			"occasional repeats are no loop", func(n int) string { return []string{"a", fmt.Sprint(n), fmt.Sprint("x", n), fmt.Sprint("y", n)}[n%4] },
			nil, nil, 19,
		},
	}
	for _, tc := range tests {
		t.Run(tc.name, func(t *testing.T) {
			m := modelFrom(func(r llmtest.Request) llmtest.Answer {
				if r.NoTools || r.Round == 18 {
					return llmtest.Answer{Text: "enough"}
				}
				return callsAnswer(readPage(tc.call(r.Round)))
			})
			e := startEngine(t, setup{model: m, limits: turn.Limits{Rounds: 100}})
			if got := e.askHob("s", "go"); got != "enough" {
				t.Errorf("answer %q", got)
			}
			if got := lastResults(m); tc.want != nil && !cmp.Equal(tc.want, got) {
				t.Error(cmp.Diff(tc.want, got))
			}
			if diff := cmp.Diff(tc.hints, listHints(m)); diff != "" {
				t.Error(diff)
			}
			if n := len(m.Asked()); n != tc.asked {
				t.Errorf("%d model calls, want %d", n, tc.asked)
			}
		})
	}
}

// Reads in one answer run in parallel. Their results keep their order and ids.
func TestReads_RunInParallel(t *testing.T) {
	const n = 4
	var mu sync.Mutex
	waiting, all := 0, make(chan struct{})
	meet := func(ctx context.Context, text string) (tools.Result, error) {
		mu.Lock()
		if waiting++; waiting == n {
			close(all)
		}
		mu.Unlock()
		select {
		case <-all: // wait until all have started
			return tools.Result{Source: provenance.Tool, Text: "met " + text}, nil
		case <-ctx.Done():
			return tools.Result{}, ctx.Err()
		}
	}
	spec := func(name string) tools.Spec {
		return tools.Spec{Name: name, Category: "test", Description: "Meet.", Effects: tools.Read, Core: true}
	}
	own := tools.New(tools.Def[textArgs]{Spec: spec("own_read"), RunTx: func(_ context.Context, tx *store.Tx, _ tools.Call, in textArgs) (tools.Result, error) {
		var n int
		err := tx.QueryRow(`SELECT count(*) FROM items`).Scan(&n)
		return tools.Result{Source: provenance.Tool, Text: fmt.Sprintf("%s: %d items", in.Text, n)}, err
	}})
	together := tools.New(tools.Def[textArgs]{Spec: spec("meet"), Run: func(ctx context.Context, _ tools.Call, in textArgs) (tools.Result, error) {
		return meet(ctx, in.Text)
	}})
	m := scriptedModel(
		callsAnswer(newCall("meet", `{"text":"a"}`), newCall("own_read", `{"text":"own"}`), newCall("meet", `{"text":"b"}`), newCall("use_tool", `{"name":"meet","arguments":{"text":"c"}}`), newCall("flaky", `{"text":"bad"}`), newCall("nothing", `{}`), newCall("meet", `{"text":"d"}`)),
		llmtest.Answer{Text: "done"})
	e := startEngine(t, setup{model: m, tools: []tools.Tool{own, together, newFlakyTool()}})
	id := e.putMessage("s", "go", "")
	if got := e.awaitClosed(id).Answer; got != "done" {
		t.Fatalf("answer %q", got)
	}
	msgs := m.Asked()[1].Messages
	asked, answered := msgs[len(msgs)-2].Parts, msgs[len(msgs)-1].Parts
	want := []string{"met a", "own: 0 items", "met b", "met c", "error not_found: there is no bad", `error not_found: there is no tool "nothing"; call find_tools with a few words`, "met d"}
	if len(asked) != len(want) || len(answered) != len(want) {
		t.Fatalf("%d calls, %d results", len(asked), len(answered))
	}
	seen := map[string]bool{}
	for i := range want {
		c, r := asked[i].Call, answered[i].Result
		if c.ID != r.ID || seen[c.ID] || r.Text != want[i] {
			t.Errorf("%d: call %s, result %s: %q, want %q", i, c.ID, r.ID, r.Text, want[i])
		}
		seen[c.ID] = true
	}
	ledger, err := e.bus.Ledger.Calls(t.Context(), id)
	if err != nil || len(ledger) != len(want) {
		t.Errorf("%d rows in the ledger, %v", len(ledger), err)
	}
	if lines, err := e.guard.Verify(t.Context()); err != nil || int(lines) != len(want) {
		t.Errorf("%d audit lines, %v", lines, err)
	}
}

func TestLimits_EmptyAnswers(t *testing.T) {
	for _, tc := range []struct {
		name    string
		answers []llmtest.Answer
		want    string
	}{
		{"once", []llmtest.Answer{{}, {Text: "here I am"}}, "here I am"},
		{"only white space", []llmtest.Answer{{Text: " \n"}, {Text: "here I am"}}, "here I am"},
		{"always", []llmtest.Answer{{Times: -1}}, "The model gave an empty answer. Ask again, or choose another model with `hob config set agent.model`."},
		{"only thoughts", []llmtest.Answer{{Reasoning: "hm", Times: -1}}, "The model gave an empty answer. Ask again, or choose another model with `hob config set agent.model`."},
		{"after failures", []llmtest.Answer{
			callsAnswer(newCall("flaky", `{"text":"bad 1"}`)), callsAnswer(newCall("flaky", `{"text":"bad 2"}`), newCall("nothing", `{}`)), {Times: -1},
		}, "I could not finish this. What failed: flaky: not_found (2×), nothing: not_found (1×)."},
	} {
		t.Run(tc.name, func(t *testing.T) {
			m := scriptedModel(tc.answers...)
			e := startEngine(t, setup{model: m, tools: []tools.Tool{newFlakyTool()}})
			if got := e.askHob("s", "hello"); got != tc.want {
				t.Errorf("answer %q, want %q", got, tc.want)
			}
			if n := len(m.Asked()); n > len(tc.answers)+1 {
				t.Errorf("%d model calls", n)
			}
		})
	}
}

func TestLimits_TokensOfATurn(t *testing.T) {
	for _, tc := range []struct {
		name   string
		answer llmtest.Answer
	}{
		{"counted by the provider", llmtest.Answer{Usage: llm.Usage{Input: 1, Output: 60}}},
		{"without token counts", llmtest.Answer{Text: strings.Repeat("word ", 48), Fault: llmtest.NoUsage}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			m := modelFrom(func(r llmtest.Request) llmtest.Answer {
				if r.NoTools {
					return llmtest.Answer{Text: "that is all"}
				}
				a := tc.answer
				a.Calls = []llmtest.Call{readPage(fmt.Sprint(r.Round))}
				return a
			})
			e := startEngine(t, setup{model: m, limits: turn.Limits{Tokens: 100}})
			if got := e.askHob("s", "go on"); got != "that is all" {
				t.Errorf("answer %q", got)
			}
			if n := len(m.Asked()); n != 3 {
				t.Errorf("%d model calls, want 3", n)
			}
			if got := listHints(m); len(got) != 1 || !strings.HasPrefix(got[0], "2: No more tools") {
				t.Errorf("hints %v", got)
			}
		})
	}
}
