package autonomy_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"hob/autonomy/guard"
	"hob/autonomy/llm/llmtest"
	"hob/autonomy/replay"
	"hob/autonomy/session"
	"hob/autonomy/turn"
	"hob/tools"
)

// countRows counts the rows of every table that a turn writes to.
func (e *engine) countRows() string {
	e.t.Helper()
	var out []string
	for _, table := range []string{"inbox", "outbox", "ledger", "audit", "approvals", "grants", "messages", "sessions", "windows", "turns", "items", "stamps"} {
		var n int
		failOnError(e.t, e.store.Read().QueryRowContext(e.t.Context(), `SELECT count(*) FROM `+table).Scan(&n))
		out = append(out, fmt.Sprintf("%s %d", table, n))
	}
	return strings.Join(out, ", ")
}

// newReplayer returns the replayer of the engine's store and agent.
func (e *engine) newReplayer() *replay.Replayer {
	e.t.Helper()
	p, err := replay.New(replay.Options{Store: e.store, Bus: e.bus, Sessions: e.sessions, Runner: e.runner})
	failOnError(e.t, err)
	return p
}

func describeDifferences(r replay.Comparison) (out []string) {
	for _, d := range r.Differences {
		out = append(out, strings.TrimSpace(d.What+" "+d.Where))
	}
	return out
}

// A replay without changes has the same result, and leaves no trace.
func TestReplay_WithoutChangesLeavesNoTrace(t *testing.T) {
	for _, tc := range []struct {
		name    string
		answers []llmtest.Answer
		calls   int
	}{
		{"words", []llmtest.Answer{{Text: "hello"}}, 0},
		{"a change", []llmtest.Answer{callsAnswer(newCall("add_item", `{"text":"milk"}`)), {Text: "Added."}}, 1},
		{"reads, failures and untrusted text", []llmtest.Answer{
			callsAnswer(readPage("cats"), readPage("dogs")), callsAnswer(newCall("add_item", `{"text":"bad"}`)), callsAnswer(newCall("nothing_such", `{}`)),
			callsAnswer(newCall("add_item", `{"wrong":1}`)),
			{Text: "I read it."},
		}, 5},
		{"round in circles", []llmtest.Answer{
			callsAnswer(readPage("a")), callsAnswer(readPage("a")), callsAnswer(readPage("a")), callsAnswer(readPage("a")), callsAnswer(readPage("a")), {Text: "Enough."},
		}, 5},
	} {
		t.Run(tc.name, func(t *testing.T) {
			e := startEngine(t, setup{model: scriptedModel(tc.answers...)})
			e.askHob("s", "go")
			before := e.countRows()
			r, err := e.newReplayer().Replay(t.Context(), "s", "")
			failOnError(t, err)
			if !r.Same || r.ModelCalls != len(tc.answers) || r.Calls != tc.calls {
				t.Errorf("%d model calls, %d tool calls: %s", r.ModelCalls, r.Calls, r.Text())
			}
			if after := e.countRows(); after != before {
				t.Errorf("the replay changed the database:\n%s\n%s", before, after)
			}
			if !strings.HasPrefix(r.Text(), "no differences: ") {
				t.Error(r.Text())
			}
		})
	}
}

// A replay shows later changes of tools, verdicts and limits.
func TestReplay_ShowsChanges(t *testing.T) {
	dir := t.TempDir()
	e := startEngine(t, setup{dir: dir, model: scriptedModel(
		llmtest.Answer{Text: "hello"}, callsAnswer(newCall("change_file", `{"text":"x"}`)), callsAnswer(readPage("cats")), callsAnswer(readPage("dogs")), llmtest.Answer{Text: "Done."},
	)})
	e.askHob("s", "hi")
	turnID := e.putMessage("s", "go", "")
	e.awaitSettled(turnID)
	e.stop()
	extra := tools.New(tools.Def[textArgs]{
		Spec: tools.Spec{Name: "write_poem", Category: "test", Description: "Write.", Effects: tools.Read, Core: true},
		Run: func(context.Context, tools.Call, textArgs) (tools.Result, error) {
			return tools.Result{}, errors.New("it ran")
		},
	})
	e = startEngine(t, setup{dir: dir, tools: []tools.Tool{extra}, model: scriptedModel(), limits: turn.Limits{Rounds: 3}, guard: guard.Options{Level: guard.Watch}})
	before := e.countRows()
	r, err := e.newReplayer().Replay(t.Context(), "s", turnID)
	failOnError(t, err)
	got := describeDifferences(r)
	for _, want := range []string{"tools write_poem", "verdict change_file", "result change_file"} {
		if !slices.Contains(got, want) {
			t.Errorf("%q is missing in %v\n%s", want, got, r.Text())
		}
	}
	if r.Same || !strings.Contains(r.Text(), "differences") || !strings.Contains(r.Text(), "+ offered") {
		t.Error(r.Text())
	}
	if after := e.countRows(); after != before || len(e.effects.sent) != 0 {
		t.Errorf("the replay changed the database or sent a text:\n%s\n%s", before, after)
	}
	// The first turn differs only in its tools.
	first, err := e.newReplayer().Replay(t.Context(), "s", e.firstTurn("s"))
	failOnError(t, err)
	if got := describeDifferences(first); !slices.Equal(got, []string{"tools write_poem"}) {
		t.Errorf("describeDifferences = %v", got)
	}
	for _, tc := range []struct {
		session, turn string
		want          error
	}{{"nobody", "", session.ErrNoSession}, {"s", "nothing", session.ErrNoTurn}} {
		if _, err := e.newReplayer().Replay(t.Context(), tc.session, tc.turn); !errors.Is(err, tc.want) {
			t.Errorf("%v: %v", tc, err)
		}
	}
}

func (e *engine) firstTurn(id string) string {
	e.t.Helper()
	rows, err := e.sessions.Messages(e.t.Context(), id, 0, 1000)
	failOnError(e.t, err)
	return rows[len(rows)-1].Turn
}
