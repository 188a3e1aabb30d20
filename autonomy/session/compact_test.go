package session_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"hob/autonomy/llm"
	"hob/autonomy/llm/llmtest"
	"hob/autonomy/session"
	"hob/platform/provenance"
	"hob/platform/store"
)

// brain is a model with scripted summaries.
type brain struct {
	*llmtest.Scripted
	answer func(r llmtest.Request) llmtest.Answer
}

func newBrain(tokens int, answer func(r llmtest.Request) llmtest.Answer) *brain {
	b := &brain{answer: answer}
	b.Scripted = llmtest.NewScripted(llmtest.Options{
		Info:  llm.Info{Provider: "p", Model: "m", Context: tokens, Tools: true},
		Reply: func(r llmtest.Request) (llmtest.Answer, bool) { return b.answer(r), true },
	})
	return b
}

type pin struct {
	Kind  string `json:"kind"`
	Quote string `json:"quote"`
}

func summaryOf(state string, pins ...pin) llmtest.Answer {
	b, err := json.Marshal(map[string]any{"goal": "the goal", "state": state, "facts": []string{"a fact"}, "refs": []string{"/a/path"}, "pins": pins})
	if err != nil {
		panic(err)
	}
	return llmtest.Answer{Text: "```json\n" + string(b) + "\n```"}
}

func alwaysAnswer(a llmtest.Answer) func(llmtest.Request) llmtest.Answer {
	return func(llmtest.Request) llmtest.Answer { return a }
}

// newCompactor creates a compactor with the model.
func (f *fixture) newCompactor(m llm.Model, o session.CompactorOptions) *session.Compactor {
	f.t.Helper()
	o.Model = func(context.Context, string) (llm.Model, error) { return m, nil }
	c, err := session.NewCompactor(f.Sessions, o)
	failOnError(f.t, err)
	return c
}

// addTurns adds turns of one question and one answer, each of about n bytes.
func (f *fixture) addTurns(id string, from, to, n int) {
	f.t.Helper()
	for i := from; i < to; i++ {
		f.addMessages(id, fmt.Sprint("t", i), userMessage(fmt.Sprintf("question %d %s", i, strings.Repeat("q", n))), assistantMessage(fmt.Sprintf("answer %d", i)))
	}
}

// joinTexts returns the text of all messages.
func joinTexts(ms []llm.Message) string {
	var b strings.Builder
	for _, m := range ms {
		for _, p := range m.Parts {
			b.WriteString(p.Text + "\n")
			if p.Result != nil {
				b.WriteString(p.Result.Text + "\n")
			}
		}
	}
	return b.String()
}

func isSummarized(ms []llm.Message) bool {
	return len(ms) > 0 && ms[0].Role == llm.User && ms[0].Parts[0].Context && strings.Contains(ms[0].Parts[0].Text, "stands for")
}

func TestCompact_SummarizesALongWindow(t *testing.T) {
	f := newSessions(t)
	m := newBrain(0, alwaysAnswer(summaryOf("much was said", pin{"constraint", "question 2 q"}, pin{"decision", "never said"})))
	var rep session.Report
	c := f.newCompactor(m, session.CompactorOptions{Record: func(_ *store.Tx, r session.Report) error { rep = r; return nil }})
	f.addTurns("s", 0, 30, 1500)
	failOnError(t, c.CompactIfNeeded(t.Context(), "s", "t29", false))
	if w, _ := f.historyOfFileAndCache("s", "next"); len(w) != 60 || len(m.Requests()) != 0 {
		t.Fatalf("a window within its limits was compacted: %d messages", len(w))
	}
	f.addTurns("s", 30, 50, 1500)
	failOnError(t, c.CompactIfNeeded(t.Context(), "s", "t49", false))
	w, _ := f.historyOfFileAndCache("s", "next")
	wellFormed(t, w)
	if !isSummarized(w) || len(w) != 11 {
		t.Fatalf("%d messages: %s", len(w), joinTexts(w))
	}
	text := joinTexts(w)
	for _, want := range []string{"much was said", "a fact", "/a/path", "constraint: “question 2 q”", "message 5", "question 49"} {
		if !strings.Contains(text, want) {
			t.Errorf("the window lacks %q", want)
		}
	}
	if strings.Contains(text, "never said") {
		t.Error("the summary contains an invented pin")
	}
	if rep.How != "summary" || rep.Model != "p/m" || rep.Before < session.MaxChars || rep.After > rep.Before/2 || rep.After <= 0 || rep.Tainted {
		t.Errorf("%+v", rep)
	}
	if rows, err := f.Messages(t.Context(), "s", 0, 200); err != nil || len(rows) != 100 {
		t.Errorf("%d messages are stored, %v; want 100", len(rows), err)
	}
	for _, msg := range w {
		for _, p := range msg.Parts {
			if p.Source.Tainted() {
				t.Errorf("a clean conversation became tainted: %q", p.Text)
			}
		}
	}
}

// Pins survive ten compactions, regardless of the rest of the model's answers.
func TestCompact_PinsSurviveTenTimes(t *testing.T) {
	f := newSessions(t)
	round := 0
	m := newBrain(0, func(r llmtest.Request) llmtest.Answer {
		round++
		if round == 1 {
			return summaryOf("first", pin{"constraint", "never on Mondays"}, pin{"task", "book  the\nflight"}, pin{"correction", "no, his name is Jonas"}, pin{"decision", "We take the train"})
		}
		return summaryOf(fmt.Sprint("round ", round))
	})
	c := f.newCompactor(m, session.CompactorOptions{Chars: 8000})
	f.addMessages("s", "t", userMessage("Plan it, but never on Mondays. Still open: book the flight. And no, his name is Jonas."), assistantMessage("We take the train, then."))
	n := 0
	for range 10 {
		f.addTurns("s", n, n+12, 900)
		n += 12
		failOnError(t, c.CompactIfNeeded(t.Context(), "s", fmt.Sprint("t", n-1), false))
	}
	if round != 10 {
		t.Fatalf("%d compactions", round)
	}
	w, _ := f.historyOfFileAndCache("s", "next")
	for _, want := range []string{"constraint: “never on Mondays”", "task: “book the flight”", "correction: “no, his name is Jonas”", "decision: “We take the train”", "round 10"} {
		if !strings.Contains(joinTexts(w), want) {
			t.Errorf("lost: %q", want)
		}
	}
	// A completed task is removed, a constraint is kept.
	m.answer = alwaysAnswer(llmtest.Answer{Text: `{"goal":"g","done":[1,2,3,4]}`})
	f.addTurns("s", n, n+12, 900)
	failOnError(t, c.CompactIfNeeded(t.Context(), "s", fmt.Sprint("t", n+11), false))
	w, _ = f.historyOfFileAndCache("s", "next")
	if text := joinTexts(w); strings.Contains(text, "book the flight") || !strings.Contains(text, "never on Mondays") || !strings.Contains(text, "We take the train") {
		t.Errorf("window after the task was done: %s", text)
	}
}

func TestCompact_FailureChangesNothing(t *testing.T) {
	for _, tc := range []struct {
		name   string
		answer llmtest.Answer
		record error
	}{
		{"the model fails", llmtest.Answer{Status: 500}, nil},
		{"prose", llmtest.Answer{Text: "They talked about this and that."}, nil},
		{"half a summary", llmtest.Answer{Text: `{"goal": "x", "state": "y"`}, nil},
		{"empty", llmtest.Answer{Text: `{}`}, nil},
		{"nothing", llmtest.Answer{Text: " "}, nil},
		{"a crash before the commit", summaryOf("x"), errors.New("no")},
	} {
		t.Run(tc.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := newSessions(t)
				m := newBrain(0, alwaysAnswer(tc.answer))
				record := tc.record
				c := f.newCompactor(m, session.CompactorOptions{Chars: 8000, Record: func(*store.Tx, session.Report) error { return record }})
				f.addTurns("s", 0, 20, 900)
				before, _ := f.historyOfFileAndCache("s", "next")
				if err := c.CompactIfNeeded(t.Context(), "s", "t19", false); err == nil {
					t.Error("CompactIfNeeded succeeded")
				}
				if w, _ := f.historyOfFileAndCache("s", "next"); !equalMessages(before, w) {
					t.Errorf("the window changed: %s", joinTexts(w))
				}
				m.answer, record = alwaysAnswer(summaryOf("better")), nil
				asked := len(m.Requests())
				time.Sleep(9 * time.Minute)
				failOnError(t, c.CompactIfNeeded(t.Context(), "s", "t19", false))
				if len(m.Requests()) != asked {
					t.Error("compaction was retried within 10 min")
				}
				time.Sleep(2 * time.Minute)
				failOnError(t, c.CompactIfNeeded(t.Context(), "s", "t19", false))
				if w, _ := f.historyOfFileAndCache("s", "next"); !isSummarized(w) {
					t.Error("compaction was not retried")
				}
			})
		})
	}
}

// A summary that is longer than its messages is rejected.
func TestCompact_RejectsALongerSummary(t *testing.T) {
	f := newSessions(t)
	facts := slices.Repeat([]string{strings.Repeat("words and words ", 24)}, 30)
	b, err := json.Marshal(map[string]any{"goal": "g", "facts": facts})
	failOnError(t, err)
	m := newBrain(0, alwaysAnswer(llmtest.Answer{Text: string(b)}))
	c := f.newCompactor(m, session.CompactorOptions{Chars: 4000})
	for i := range 40 {
		f.addMessages("s", fmt.Sprint("t", i), userMessage("hi"), assistantMessage(strings.Repeat("a", 10)))
	}
	f.addTurns("s", 40, 43, 1300)
	before, _ := f.historyOfFileAndCache("s", "next")
	if err := c.CompactIfNeeded(t.Context(), "s", "t42", false); err == nil {
		t.Error("CompactIfNeeded accepted a longer summary")
	}
	if w, _ := f.historyOfFileAndCache("s", "next"); !equalMessages(before, w) {
		t.Error("the window changed")
	}
}

// The provider's token count determines when the window is shortened: before the model's context
// window is full.
func TestCompact_LimitFollowsTheModel(t *testing.T) {
	f := newSessions(t)
	m := newBrain(8000, alwaysAnswer(summaryOf("short")))
	c := f.newCompactor(m, session.CompactorOptions{})
	f.addTurns("s", 0, 10, 1200) // 12,500 bytes are 5,000 tokens at the initial estimate
	failOnError(t, c.CompactIfNeeded(t.Context(), "s", "t9", false))
	if w, _ := f.historyOfFileAndCache("s", "next"); isSummarized(w) {
		t.Fatal("summarized although the window is not full")
	}
	f.RecordTokenCount("s", 14_000, 1_500, 7_000) // two bytes per token: 80 % are exceeded
	failOnError(t, c.CompactIfNeeded(t.Context(), "s", "t9", false))
	if w, _ := f.historyOfFileAndCache("s", "next"); !isSummarized(w) {
		t.Error("not summarized although the model's window is full")
	}
}

func outsideTurn(f *fixture, id, turn, text string) {
	call, result := callMessages("c-" + turn)
	result.Parts[0].Result.Text = text
	said := assistantMessage("I have read it: " + text)
	said.Parts[0].Source = provenance.Outside
	f.addMessages(id, turn, userMessage("read the page, and always answer in French"), call, result, said)
}

// Untrusted text stays untrusted in a summary, separate from the owner's text, and is hidden
// once the conversation has long been about other subjects.
func TestSummary_KeepsProvenance(t *testing.T) {
	f := newSessions(t)
	m := newBrain(0, func(r llmtest.Request) llmtest.Answer {
		if strings.Contains(r.LastUser, "EVIL") {
			if strings.Contains(r.LastUser, "question") {
				t.Error("one request contains the user's words and untrusted text")
			}
			return summaryOf("EVIL orders", pin{"decision", "I have read it"})
		}
		return summaryOf("clean state", pin{"constraint", "always answer in French"})
	})
	c := f.newCompactor(m, session.CompactorOptions{Chars: 8000})
	f.addTurns("s", 0, 3, 500)
	outsideTurn(f, "s", "page", "EVIL "+strings.Repeat("x", 3000))
	f.addTurns("s", 3, 12, 900)
	failOnError(t, c.CompactIfNeeded(t.Context(), "s", "t11", false))
	w, _ := f.historyOfFileAndCache("s", "next")
	sources := map[provenance.Source]string{}
	for _, p := range w[0].Parts {
		sources[p.Source] += p.Text
	}
	if !strings.Contains(sources[provenance.Outside], "EVIL orders") || strings.Contains(sources[provenance.Hob]+sources[provenance.Owner], "EVIL") {
		t.Errorf("%v", sources)
	}
	if !strings.Contains(sources[provenance.Owner], "always answer in French") || !strings.Contains(sources[provenance.Hob], "clean state") {
		t.Errorf("%v", sources)
	}
	f.addTurns("s", 12, 30, 900)
	failOnError(t, c.CompactIfNeeded(t.Context(), "s", "t29", false))
	w, _ = f.historyOfFileAndCache("s", "next")
	for _, msg := range w {
		for _, p := range msg.Parts {
			if p.Source.Tainted() || strings.Contains(p.Text, "EVIL") {
				t.Errorf("untrusted text is still visible: %q", p.Text)
			}
		}
	}
	if text := joinTexts(w); !strings.Contains(text, "always answer in French") || !strings.Contains(text, "Outside texts were read") {
		t.Errorf("%s", text)
	}
	// The summary of untrusted text is shown again when the next untrusted text arrives, and is
	// marked as untrusted.
	outsideTurn(f, "s", "page2", "EVIL two "+strings.Repeat("x", 300))
	f.addTurns("s", 30, 50, 900)
	failOnError(t, c.CompactIfNeeded(t.Context(), "s", "t49", false))
	w, _ = f.historyOfFileAndCache("s", "next")
	if p := w[0].Parts[len(w[0].Parts)-1]; p.Source != provenance.Outside || !strings.Contains(p.Text, "I have read it") {
		t.Errorf("%q %q", p.Source, p.Text)
	}
}

// A conversation never contains the summary of another one.
func TestSummary_StaysInItsConversation(t *testing.T) {
	f := newSessions(t)
	m := newBrain(0, func(r llmtest.Request) llmtest.Answer {
		if strings.Contains(r.LastUser, "secret-a") && strings.Contains(r.LastUser, "secret-b") {
			t.Error("one request contains texts of two conversations")
		}
		if strings.Contains(r.LastUser, "secret-a") {
			return summaryOf("secret-a")
		}
		return summaryOf("secret-b")
	})
	c := f.newCompactor(m, session.CompactorOptions{Chars: 8000})
	for _, id := range []string{"a", "b"} {
		for range 3 {
			f.addMessages(id, "first"+id, userMessage("secret-"+id))
			f.addTurns(id, 0, 12, 900)
		}
		failOnError(t, c.CompactIfNeeded(t.Context(), id, "t11", false))
	}
	for id, other := range map[string]string{"a": "secret-b", "b": "secret-a"} {
		w, _ := f.historyOfFileAndCache(id, "next")
		if !isSummarized(w) || strings.Contains(joinTexts(w), other) {
			t.Errorf("%s: %s", id, joinTexts(w))
		}
	}
}

// A conversation reset during a summary stays reset.
func TestSummary_ResetMeanwhile(t *testing.T) {
	f := newSessions(t)
	m := newBrain(0, func(llmtest.Request) llmtest.Answer {
		f.resetSession("s")
		return summaryOf("old things")
	})
	c := f.newCompactor(m, session.CompactorOptions{Chars: 8000})
	f.addTurns("s", 0, 20, 900)
	failOnError(t, c.CompactIfNeeded(t.Context(), "s", "t19", false))
	if w, _ := f.historyOfFileAndCache("s", "next"); len(w) != 0 {
		t.Errorf("%v", formatMessages(w))
	}
}

// Messages that arrive during a summary stay complete.
func TestSummary_TurnMeanwhile(t *testing.T) {
	f := newSessions(t)
	m := newBrain(0, func(llmtest.Request) llmtest.Answer {
		f.addMessages("s", "running", userMessage("wait, one more thing"))
		return summaryOf("old things")
	})
	c := f.newCompactor(m, session.CompactorOptions{Chars: 8000})
	f.addTurns("s", 0, 20, 900)
	failOnError(t, c.CompactIfNeeded(t.Context(), "s", "t19", false))
	w, recorded := f.historyOfFileAndCache("s", "running")
	if !isSummarized(w) || !slices.Equal(formatMessages(recorded), []string{"user: wait, one more thing"}) {
		t.Errorf("%v, then %v", len(w), formatMessages(recorded))
	}
}

func TestCompact_BuiltInBrainTrims(t *testing.T) {
	f := newSessions(t)
	m := llmtest.NewScripted(llmtest.Options{Info: llm.Info{Provider: "offline", Model: "offline"}})
	c := f.newCompactor(m, session.CompactorOptions{})
	f.addTurns("s", 0, 80, 900)
	failOnError(t, c.CompactIfNeeded(t.Context(), "s", "t79", false))
	w, _ := f.historyOfFileAndCache("s", "next")
	if len(w) == 0 || len(w) >= 160 || isSummarized(w) {
		t.Errorf("%d messages", len(w))
	}
}

func TestCompactNow_WorksWithAndWithoutAModel(t *testing.T) {
	for name, tc := range map[string]struct {
		model llm.Model
		how   string
		want  string
	}{
		"with a model":            {newBrain(0, alwaysAnswer(summaryOf("much was said"))), "summary", "much was said"},
		"with a model that fails": {newBrain(0, alwaysAnswer(llmtest.Answer{Text: "no JSON"})), "digest", "question 3 q"},
		"without a model":         {llmtest.NewScripted(llmtest.Options{Info: llm.Info{Provider: "offline", Model: "offline"}}), "digest", "question 3 q"},
	} {
		t.Run(name, func(t *testing.T) {
			f := newSessions(t)
			c := f.newCompactor(tc.model, session.CompactorOptions{})
			if _, err := c.CompactNow(t.Context(), "s"); !errors.Is(err, session.ErrNoSession) {
				t.Errorf("an unknown conversation: %v", err)
			}
			f.writeTx(func(tx *store.Tx) error { return f.TouchTx(tx, "s", "cli", "", true) })
			f.addTurns("s", 0, 5, 300)
			if _, err := c.CompactNow(t.Context(), "s"); !errors.Is(err, session.ErrNothing) {
				t.Errorf("a short conversation: %v", err)
			}
			f.addTurns("s", 5, 20, 300)
			rep, err := c.CompactNow(t.Context(), "s")
			failOnError(t, err)
			if rep.How != tc.how || rep.Session != "s" || rep.After >= rep.Before || rep.After == 0 {
				t.Errorf("%+v", rep)
			}
			w, _ := f.historyOfFileAndCache("s", "next")
			wellFormed(t, w)
			if text := joinTexts(w); len(w) != 11 || !strings.Contains(text, tc.want) || !strings.Contains(text, "answer 19") {
				t.Errorf("%d messages: %s", len(w), text)
			}
			if rows, err := f.Messages(t.Context(), "s", 0, 200); err != nil || len(rows) != 40 {
				t.Errorf("%d messages are left, %v", len(rows), err)
			}
			if _, err := c.CompactNow(t.Context(), "s"); !errors.Is(err, session.ErrNothing) {
				t.Errorf("again: %v", err)
			}
		})
	}
}
