package autonomy_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"hob/autonomy/bus"
	"hob/autonomy/guard"
	"hob/autonomy/llm"
	"hob/autonomy/llm/llmtest"
	"hob/autonomy/turn"
	"hob/platform/provenance"
)

// summaryAsked reports whether a request asks for a summary.
func summaryAsked(r llmtest.Request) bool {
	return strings.Contains(r.LastUser, "# What was said since")
}

// summaryAnswer returns a model's summary, in which quotes are pinned as constraints.
func summaryAnswer(state string, quotes ...string) llmtest.Answer {
	pins := []map[string]string{}
	for _, q := range quotes {
		pins = append(pins, map[string]string{"kind": "constraint", "quote": q})
	}
	b, err := json.Marshal(map[string]any{"goal": "g", "state": state, "pins": pins})
	if err != nil {
		panic(err)
	}
	return llmtest.Answer{Text: string(b)}
}

// awaitCompactions waits until the conversation was compacted n times, and returns the audit records about
// that, newest first.
func (e *engine) awaitCompactions(session string, n int) (out []guard.Record) {
	e.t.Helper()
	deadline := time.Now().Add(60 * time.Second)
	for time.Now().Before(deadline) {
		lines, err := e.guard.Audit(e.t.Context(), "", 0, 1000)
		failOnError(e.t, err)
		out = slices.DeleteFunc(lines, func(r guard.Record) bool { return r.Action != "compact" || r.Session != session })
		if len(out) >= n {
			return out
		}
		time.Sleep(time.Millisecond)
	}
	e.t.Fatalf("%d of %d compactions after the timeout", len(out), n)
	return nil
}

func overflowAnswer() llmtest.Answer {
	return llmtest.Answer{Status: 400, Body: `{"error":{"message":"This model's maximum context length is 8192 tokens.","code":"context_length_exceeded"}}`}
}

// An answer is sent before its conversation is summarized. The next turn has the summary and the
// newest messages.
func TestSummary_IsMadeAfterTheAnswer(t *testing.T) {
	gate := make(chan struct{})
	m := modelFrom(func(r llmtest.Request) llmtest.Answer {
		if summaryAsked(r) {
			<-gate
			return summaryAnswer("we spoke of many things", "never on Mondays")
		}
		return llmtest.Answer{Text: "ok"}
	})
	e := startEngine(t, setup{model: m, chars: 8000})
	e.askHob("s", "never on Mondays, please")
	for i := range 6 {
		e.askHob("s", fmt.Sprint("note ", i, strings.Repeat(" lorem", 300)))
	}
	e.askHob("s", "still here?") // the summary is being made
	close(gate)
	lines := e.awaitCompactions("s", 1)
	if l := lines[len(lines)-1]; !strings.Contains(l.Outcome, " to ") || l.Rule != "summary" {
		t.Errorf("%+v", l)
	}
	e.askHob("s", "and now?")
	asked := m.Asked()
	text := textsOf(asked[len(asked)-1].Messages)
	for want, there := range map[string]bool{"we spoke of many things": true, "“never on Mondays”": true, "note 0": false, "still here?": true} {
		if strings.Contains(text, want) != there {
			t.Errorf("%q in the request: %v, want %v", want, !there, there)
		}
	}
	if _, err := e.guard.Verify(t.Context()); err != nil {
		t.Error(err)
	}
}

func textsOf(ms []llm.Message) string {
	var b strings.Builder
	for _, m := range ms {
		for _, p := range m.Parts {
			b.WriteString(p.Text + "\n")
		}
	}
	return b.String()
}

// If a model rejects the conversation as too long, it is called again once, in the same turn, with
// a shorter conversation.
func TestOverflow_CompactsOnce(t *testing.T) {
	for _, tc := range []struct {
		name     string
		refusals int
		summary  llmtest.Answer
		answer   string
	}{
		{"once", 1, summaryAnswer("many notes were made"), "ok"},
		{"once, without a summary", 1, llmtest.Answer{Status: 500}, "ok"},
		{"twice", 2, summaryAnswer("many notes were made"), "larger window"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			refusals, rounds := tc.refusals, []int{}
			m := modelFrom(func(r llmtest.Request) llmtest.Answer {
				switch {
				case summaryAsked(r):
					return tc.summary
				case r.LastUser == "last" || strings.HasSuffix(r.LastUser, "\nlast"):
					rounds = append(rounds, len(textsOf(r.Messages)))
					if refusals--; refusals >= 0 {
						return overflowAnswer()
					}
				}
				return llmtest.Answer{Text: "ok"}
			})
			e := startEngine(t, setup{model: m})
			for i := range 6 {
				e.askHob("s", fmt.Sprint("note ", i, strings.Repeat(" lorem", 300)))
			}
			ev := e.awaitSettled(e.putMessage("s", "last", ""))
			if !strings.Contains(ev.Answer, tc.answer) || ev.State != bus.Done || ev.Attempts != 1 {
				t.Errorf("%s after %d attempts: %s", ev.State, ev.Attempts, ev.Answer)
			}
			if len(rounds) != 2 || rounds[1] >= rounds[0]*2/3 {
				t.Errorf("the requests had %v characters", rounds)
			}
			if tc.refusals == 2 {
				return
			}
			e.askHob("s", "go on")
			asked := m.Asked()
			if text := textsOf(asked[len(asked)-1].Messages); !strings.Contains(text, "last") || !strings.Contains(text, "stands for") {
				t.Errorf("conversation after the overflow: %.300s", text)
			}
		})
	}
}

// A turn with many long results stays within the model's window, and each call keeps its result.
func TestTurn_WithLongResultsFitsTheWindow(t *testing.T) {
	const rounds = 40
	var longest atomic.Int64 // requests of other turns run concurrently
	m := llmtest.NewScripted(llmtest.Options{
		Info: llm.Info{Provider: "p", Model: "m", Context: 20_000, Tools: true},
		Reply: func(r llmtest.Request) (llmtest.Answer, bool) {
			size := 0
			for _, msg := range r.Messages {
				for _, p := range msg.Parts {
					size += len(p.Text)
					if p.Result != nil {
						size += len(p.Result.Text)
					}
				}
			}
			for was := longest.Load(); int64(size) > was && !longest.CompareAndSwap(was, int64(size)); was = longest.Load() {
			}
			if r.Round < rounds {
				return callsAnswer(readPage(fmt.Sprint(r.Round, strings.Repeat(" page", 1200)))), true
			}
			return llmtest.Answer{Text: "read it all"}, true
		},
	})
	e := startEngine(t, setup{model: m, limits: turn.Limits{Rounds: rounds + 10, Tokens: 1_000_000}})
	if got := e.askHob("s", "read everything"); got != "read it all" {
		t.Fatalf("the answer: %s", got)
	}
	if n := longest.Load(); n > 80_000 {
		t.Errorf("a request of %d characters", n)
	}
	for _, r := range m.Asked() {
		for i, msg := range r.Messages {
			for _, p := range msg.Parts {
				if p.Result != nil && (r.Messages[i-1].Role != llm.Assistant || p.Source != provenance.Outside) {
					t.Fatalf("message %d: %s after %s", i, msg.Role, r.Messages[i-1].Role)
				}
			}
		}
	}
}

// A turn continues after a restart, from a window that begins with a summary.
func TestSummary_SurvivesARestart(t *testing.T) {
	answer := func(r llmtest.Request) llmtest.Answer {
		if summaryAsked(r) {
			return summaryAnswer("old things")
		}
		return llmtest.Answer{Text: "ok"}
	}
	dir := t.TempDir()
	e := startEngine(t, setup{dir: dir, model: modelFrom(answer), chars: 8000})
	for i := range 6 {
		e.askHob("s", fmt.Sprint("note ", i, strings.Repeat(" lorem", 300)))
	}
	e.awaitCompactions("s", 1)
	e.stop()
	m := modelFrom(answer)
	e = startEngine(t, setup{dir: dir, model: m, chars: 8000})
	e.askHob("s", "and now?")
	if text := textsOf(m.Asked()[0].Messages); !strings.Contains(text, "old things") {
		t.Errorf("textsOf = %.300s", text)
	}
}
