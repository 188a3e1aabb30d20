package session_test

import (
	"encoding/json"
	"strings"
	"testing"

	"hob/autonomy/llm"
	"hob/autonomy/llm/llmtest"
	"hob/autonomy/session"
	"hob/knowledge"
	"hob/platform/store"
	"hob/platform/store/erase"
)

// forgetPhrase erases a phrase from the conversations in the same way as the program. If dry is true, it
// only previews the erasure.
func (f *fixture) forgetPhrase(phrase string, dry bool) {
	f.t.Helper()
	base, err := knowledge.New(f.store, knowledge.Options{})
	failOnError(f.t, err)
	ers := knowledge.NewErasing(f.store, knowledge.ErasingOptions{Erasers: func() []knowledge.Eraser { return []knowledge.Eraser{f.Eraser(base), base.Eraser()} }})
	e := knowledge.Erasure{Phrases: []string{phrase}}
	if dry {
		n, err := ers.PreviewErasure(f.t.Context(), e)
		failOnError(f.t, err)
		if n.Scrubbed == 0 {
			f.t.Errorf("no text was redacted for %q", phrase)
		}
		return
	}
	f.writeTx(func(tx *store.Tx) error {
		_, err := ers.BeginTx(tx, base, e, "", true)
		return err
	})
	failOnError(f.t, ers.FinishAll(f.t.Context()))
}

// A summary in progress is discarded if its messages are erased, and kept if the erasure was
// only previewed.
func TestErase_WhileASummaryIsMade(t *testing.T) {
	for _, dry := range []bool{true, false} {
		f := newSessions(t)
		asked := 0
		m := newBrain(0, func(llmtest.Request) llmtest.Answer {
			if asked++; asked == 1 {
				f.forgetPhrase("question 3 q", dry)
			}
			return summaryOf("much was said of question 3 qqqq")
		})
		c := f.newCompactor(m, session.CompactorOptions{})
		f.addTurns("s", 0, 50, 1500)
		_ = c.CompactIfNeeded(t.Context(), "s", "t49", false)
		w, _ := f.historyOfFileAndCache("s", "next")
		if kept := isSummarized(w) && strings.Contains(joinTexts(w), "much was said"); kept != dry || asked != 1 {
			t.Errorf("dry run %v: summary kept %v, %d model calls", dry, kept, asked)
		}
	}
}

// An erasure terminates and the conversation can continue, regardless of the arguments in a model's
// calls.
func TestErase_WithinArguments(t *testing.T) {
	for args, want := range map[string]string{
		`{"pin":4711,"door":"of 4711"}`: `{"pin":0,"door":"of ` + erase.Mark + `"}`,
		`4711`:                          `{}`,
	} {
		f := newSessions(t)
		f.addMessages("s", "t0", userMessage("the pin is 4711"), llm.Message{Role: llm.Assistant, Parts: []llm.Part{{Call: &llm.ToolCall{ID: "c1", Name: "open", Args: json.RawMessage(args)}}}},
			llm.Message{Role: llm.User, Parts: []llm.Part{{Result: &llm.ToolResult{ID: "c1", Text: "opened with 4711"}}}}, assistantMessage("done"))
		f.forgetPhrase("4711", false)
		w, _ := f.historyOfFileAndCache("s", "next")
		if got := string(w[1].Parts[0].Call.Args); got != want || strings.Contains(joinTexts(w), "4711") {
			t.Errorf("%s became %s: %s", args, got, joinTexts(w))
		}
	}
}
