package offline

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"hob/autonomy/llm"
)

func eventKinds(t *testing.T, b *Model, r llm.Request) []llm.EventKind {
	t.Helper()
	var out []llm.EventKind
	for e, err := range b.Stream(t.Context(), r) {
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, e.Kind)
	}
	return out
}

func TestStream_Calls(t *testing.T) {
	b := New(testOptions(""))
	r := newRequest(corpusTime(t), userMessage("add a task to buy milk and remind me at 6pm to cook"))
	want := []llm.EventKind{llm.CallStart, llm.CallDelta, llm.CallDone, llm.CallStart, llm.CallDelta, llm.CallDone, llm.Done}
	if d := cmp.Diff(want, eventKinds(t, b, r)); d != "" {
		t.Error(d)
	}
	got, err := llm.Collect(b.Stream(t.Context(), r))
	if err != nil {
		t.Fatal(err)
	}
	if got.Stop != llm.ToolUse || !got.Usage.Known || got.Text() != "" {
		t.Errorf("stop %q, usage %+v, text %q", got.Stop, got.Usage, got.Text())
	}
	calls := got.Calls()
	if calls[0].ID == calls[1].ID || calls[0].ID == "" {
		t.Errorf("call ids %q and %q are not unique", calls[0].ID, calls[1].ID)
	}
	again, err := llm.Collect(b.Stream(t.Context(), r))
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(got, again); d != "" {
		t.Errorf("two answers to the same request differ: %s", d)
	}
}

func TestStream_Text(t *testing.T) {
	got := eventKinds(t, New(testOptions("")), newRequest(corpusTime(t), userMessage("help")))
	n := len(got) - 1
	if n < 2 || got[n] != llm.Done || slices.ContainsFunc(got[:n], func(k llm.EventKind) bool { return k != llm.TextDelta }) {
		t.Errorf("events %v", got)
	}
}

func TestStream_DeltasAreTheArguments(t *testing.T) {
	var deltas string
	var done llm.ToolCall
	for e, err := range New(testOptions("")).Stream(t.Context(), newRequest(corpusTime(t), userMessage("spent 12.50 on lunch"))) {
		if err != nil {
			t.Fatal(err)
		}
		switch e.Kind {
		case llm.CallDelta:
			deltas += e.Text
		case llm.CallDone:
			done = e.Call
		}
	}
	if deltas != string(done.Args) || !json.Valid(done.Args) {
		t.Errorf("deltas %q, call %q", deltas, done.Args)
	}
}

func TestStream_EndsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var kinds []llm.EventKind
	var last error
	for e, err := range New(testOptions("")).Stream(ctx, newRequest(corpusTime(t), userMessage("help"))) {
		if last = err; err != nil {
			continue
		}
		kinds = append(kinds, e.Kind)
		cancel()
	}
	if len(kinds) != 1 || llm.KindOf(last) != llm.Interrupted {
		t.Errorf("events %v, then %v", kinds, last)
	}
	for _, err := range New(testOptions("")).Stream(ctx, newRequest(corpusTime(t), userMessage("help"))) {
		if llm.KindOf(err) != llm.Interrupted {
			t.Errorf("error with a canceled context = %v", err)
		}
	}
}

func TestStream_StopsWithTheReader(t *testing.T) {
	for range New(testOptions("")).Stream(t.Context(), newRequest(corpusTime(t), userMessage("add tasks: a, b and c"))) {
		break
	}
	for range New(testOptions("")).Stream(t.Context(), newRequest(corpusTime(t), userMessage("help"))) {
		break
	}
}

func TestStream_OutputLimit(t *testing.T) {
	r := newRequest(corpusTime(t), userMessage("help"))
	r.MaxTokens = 10
	got, err := llm.Collect(New(testOptions("")).Stream(t.Context(), r))
	if err != nil {
		t.Fatal(err)
	}
	if got.Stop != llm.MaxTokens || len(got.Text()) > 40 || got.Text() == "" {
		t.Errorf("stop %q after %q", got.Stop, got.Text())
	}
}

func TestInfo(t *testing.T) {
	info := New(testOptions("")).Info()
	if info.Name() != "offline" || !info.Local || !info.Tools || info.Vision {
		t.Errorf("%+v", info)
	}
}

func TestStream_CallsOnlyOfferedTools(t *testing.T) {
	tests := []struct {
		name     string
		tools    []string
		noTools  bool
		call     string
		text     string
		sentence string
	}{
		{name: "offered", tools: []string{"create_task", "use_tool"}, sentence: "add a task to buy milk", call: `create_task{"title":"buy milk"}`},
		{
			name: "through use_tool", tools: []string{"create_task", "use_tool"}, sentence: "spent 12.50 on lunch",
			call: `use_tool{"arguments":{"amount":12.5,"category":"lunch"},"name":"log_expense"}`,
		},
		{name: "empty arguments through use_tool", tools: []string{"use_tool"}, sentence: "status", call: `use_tool{"arguments":{},"name":"status"}`},
		{name: "missing", tools: []string{"create_task"}, sentence: "spent 12.50 on lunch", text: "log_expense"},
		{name: "no tools", sentence: "status", text: "not available"},
		{name: "must not be called", tools: []string{"create_task"}, noTools: true, sentence: "add a task to buy milk", text: "I did nothing"},
	}
	for _, tc := range tests {
		t.Run(tc.name, func(t *testing.T) {
			r := requestWithTools(corpusTime(t), tc.tools, userMessage(tc.sentence))
			r.NoTools = tc.noTools
			got, err := llm.Collect(New(testOptions("")).Stream(t.Context(), r))
			if err != nil {
				t.Fatal(err)
			}
			call := ""
			for _, c := range got.Calls() {
				call += c.Name + string(c.Args)
			}
			if call != tc.call || !strings.Contains(got.Text(), tc.text) {
				t.Errorf("got %s and %q", call, got.Text())
			}
		})
	}
}

func TestStream_UsesTheConfiguredName(t *testing.T) {
	b := New(testOptions("Jeeves"))
	for _, s := range []string{"Jeeves, add a task to buy milk", "hey jeeves could you add a task to buy milk", "Hob, add a task to buy milk"} {
		got, err := llm.Collect(b.Stream(t.Context(), newRequest(corpusTime(t), userMessage(s))))
		if err != nil || len(got.Calls()) != 1 || string(got.Calls()[0].Args) != `{"title":"buy milk"}` {
			t.Errorf("%q: %+v, %v", s, got.Parts, err)
		}
	}
	got, err := llm.Collect(b.Stream(t.Context(), newRequest(corpusTime(t), userMessage("who are you?"))))
	if err != nil || !strings.Contains(got.Text(), "I am Jeeves") {
		t.Errorf("%q, %v", got.Text(), err)
	}
	for _, odd := range []string{"", "  ", "(x|", "a b c", "{time}", "#1", "@show"} {
		New(testOptions(odd)).grammar()
	}
}
