package autonomy_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"hob/autonomy/bus"
	"hob/autonomy/llm"
	"hob/autonomy/llm/llmtest"
	"hob/autonomy/turn"
	"hob/tools"
)

// addThenTell adds one item and then reports the result.
func addThenTell() *llmtest.Scripted {
	return modelFrom(func(r llmtest.Request) llmtest.Answer {
		if r.Round == 0 {
			return callsAnswer(newCall("use_tool", `{"name":"add_item","arguments":{"text":"milk"}}`))
		}
		return llmtest.Answer{Text: "it came to: " + r.Results[0].Text}
	})
}

func TestHook_SeesTheTurn(t *testing.T) {
	var mu sync.Mutex
	var seen []string
	note := func(format string, args ...any) {
		mu.Lock()
		defer mu.Unlock()
		seen = append(seen, fmt.Sprintf(format, args...))
	}
	h := turn.Hook{
		Name: "witness",
		BeforeModel: func(_ context.Context, m turn.ModelCall) error {
			note("before model %d", m.Round)
			return nil
		},
		AfterModel: func(_ context.Context, m turn.ModelCall) {
			note("after model %d, output known: %v", m.Round, m.Usage.Known)
		},
		BeforeTool: func(_ context.Context, c turn.ToolCall) error {
			note("before %s %s", c.Tool, c.Args)
			clear(c.Args) // its own copy
			return nil
		},
		AfterTool: func(_ context.Context, c turn.ToolCall) { note("after %s: %s %v", c.Tool, c.Text, c.Err) },
	}
	e := startEngine(t, setup{model: addThenTell(), hooks: []turn.Hook{h}})
	if got := e.askHob("s", "get milk"); got != "it came to: Added milk." {
		t.Error(got)
	}
	want := []string{
		"before model 1", "after model 1, output known: true", `before add_item {"text":"milk"}`, "after add_item: Added milk. <nil>",
		"before model 2", "after model 2, output known: true",
	}
	if d := cmp.Diff(want, seen); d != "" {
		t.Error(d)
	}
}

func TestHook_FailureRefusesTheCall(t *testing.T) {
	tests := []struct {
		name string
		hook func(context.Context, turn.ToolCall) error
		want string
		code tools.Code
	}{
		{"an error", func(context.Context, turn.ToolCall) error { return errors.New("no room") }, "no room", tools.PolicyDenied},
		{"a panic", func(context.Context, turn.ToolCall) error { panic("boom") }, "boom", tools.PolicyDenied},
		{"an error of its own", func(context.Context, turn.ToolCall) error { return tools.Errorf(tools.Conflict, "not now") }, "not now", tools.Conflict},
	}
	for _, tc := range tests {
		t.Run(tc.name, func(t *testing.T) {
			asked := false
			later := turn.Hook{Name: "later", BeforeTool: func(context.Context, turn.ToolCall) error {
				asked = true
				return nil
			}}
			e := startEngine(t, setup{model: addThenTell(), hooks: []turn.Hook{{Name: "gate", BeforeTool: tc.hook}, later}})
			id := e.putMessage("s", "get milk", "")
			if got := e.awaitSettled(id).Answer; !strings.Contains(got, tc.want) {
				t.Error(got)
			}
			if len(e.listItems()) != 0 || asked {
				t.Errorf("items %v, the next hook ran: %v", e.listItems(), asked)
			}
			rows, err := e.bus.Ledger.Calls(t.Context(), id)
			failOnError(t, err)
			if len(rows) != 1 || rows[0].State != bus.CallDenied || rows[0].Code != string(tc.code) || rows[0].Decision != "deny: gate" {
				t.Errorf("ledger %+v", rows)
			}
		})
	}
}

func TestHook_RefusesTheModelCall(t *testing.T) {
	for name, hook := range map[string]func(context.Context, turn.ModelCall) error{
		"an error": func(context.Context, turn.ModelCall) error {
			return &llm.Error{Kind: llm.Budget, Provider: "test", Message: "the budget is used up"}
		},
		"a panic": func(context.Context, turn.ModelCall) error { panic("the budget is used up") },
	} {
		t.Run(name, func(t *testing.T) {
			m := addThenTell()
			e := startEngine(t, setup{model: m, hooks: []turn.Hook{{Name: "budget", BeforeModel: hook}}})
			if got := e.askHob("s", "get milk"); !strings.Contains(got, "the budget is used up") {
				t.Error(got)
			}
			if n := len(m.Asked()); n != 0 {
				t.Errorf("%d model calls", n)
			}
		})
	}
}

func TestHook_FailureAfterTheCallIsIgnored(t *testing.T) {
	h := turn.Hook{
		Name:       "clumsy",
		AfterModel: func(context.Context, turn.ModelCall) { panic("after model") },
		AfterTool:  func(context.Context, turn.ToolCall) { panic("after tool") },
	}
	e := startEngine(t, setup{model: addThenTell(), hooks: []turn.Hook{h}})
	if got := e.askHob("s", "get milk"); got != "it came to: Added milk." || len(e.listItems()) != 1 {
		t.Error(got, e.listItems())
	}
}
