package session_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"hob/autonomy/llm"
	"hob/autonomy/llm/llmtest"
	"hob/autonomy/session"
	"hob/platform/provenance"
)

func countBytes(ms []llm.Message) (n int) {
	for _, m := range ms {
		n += session.MessageBytes(m)
	}
	return n
}

// If a model rejects a conversation as too long, older messages are replaced by a summary or,
// without a summary, by their first lines.
func TestShrink_InATurn(t *testing.T) {
	for _, tc := range []struct {
		name   string
		answer llmtest.Answer
		want   string
	}{
		{"a summary", summaryOf("all of that", pin{"constraint", "question 3 q"}), "all of that"},
		{"no summary", llmtest.Answer{Status: 400, Body: `{"error":{"message":"maximum context length"}}`}, "owner (message 1): question 0"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			f := newSessions(t)
			m := newBrain(0, alwaysAnswer(tc.answer))
			c := f.newCompactor(m, session.CompactorOptions{})
			f.addTurns("s", 0, 20, 1500)
			f.addMessages("s", "now", userMessage("and now?"))
			failOnError(t, c.CompactForOverflow(t.Context(), m, "s", "now", 15_000))
			before, recorded := f.historyOfFileAndCache("s", "now")
			wellFormed(t, before)
			if !isSummarized(before) || !strings.Contains(joinTexts(before), tc.want) || len(recorded) != 1 {
				t.Errorf("%d and %d messages: %s", len(before), len(recorded), joinTexts(before))
			}
			if n := countBytes(before) + countBytes(recorded); n > 15_000 {
				t.Errorf("%d bytes remain, want at most 15000", n)
			}
			if len(m.Requests()) != 1 {
				t.Errorf("%d model calls", len(m.Requests()))
			}
		})
	}
}

// A turn of 200 tool calls fits: old results become stubs with a reference to the full text.
func TestShrink_TurnOfTwoHundredCalls(t *testing.T) {
	f := newSessions(t)
	m := newBrain(0, alwaysAnswer(summaryOf("x")))
	c := f.newCompactor(m, session.CompactorOptions{})
	f.addMessages("s", "now", userMessage("look at everything"))
	for k := range 200 {
		call, result := callMessages(fmt.Sprint("c", k))
		result.Parts[0].Result.Text = fmt.Sprintf("file %d: %s", k, strings.Repeat("x", 15_000))
		f.addMessages("s", "now", call, result)
	}
	failOnError(t, c.CompactForOverflow(t.Context(), m, "s", "now", 400_000))
	_, recorded := f.historyOfFileAndCache("s", "now")
	wellFormed(t, recorded)
	if n := countBytes(recorded); len(recorded) != 401 || n > 400_000 {
		t.Errorf("%d messages with %d bytes", len(recorded), n)
	}
	if len(m.Requests()) != 0 {
		t.Error("a model was called")
	}
	first, last := recorded[2].Parts[0], recorded[400].Parts[0]
	if !strings.Contains(first.Result.Text, `search_conversations {"message": 3}`) || first.Source != provenance.Outside {
		t.Errorf("%q %q", first.Source, first.Result.Text)
	}
	if len(last.Result.Text) < 15_000 {
		t.Error("the newest result was cut")
	}
	if _, r, err := f.Message(t.Context(), 3); err != nil || len(r.Message.Parts[0].Result.Text) < 15_000 {
		t.Errorf("the full text is not stored: %v", err)
	}
}

func TestShrink_ReportsWhenNothingCanBeRemoved(t *testing.T) {
	f := newSessions(t)
	short := newBrain(0, alwaysAnswer(llmtest.Answer{Status: 500}))
	f.addMessages("short", "t1", userMessage("hello"), assistantMessage("hello"))
	f.addMessages("short", "now", userMessage("and now?"))
	if err := f.newCompactor(short, session.CompactorOptions{}).CompactForOverflow(t.Context(), short, "short", "now", 10); err != session.ErrNothing { //nolint:errorlint // it comes bare
		t.Errorf("a digest longer than the text: %v, want ErrNothing", err)
	}
	m := newBrain(0, alwaysAnswer(summaryOf("x")))
	c := f.newCompactor(m, session.CompactorOptions{})
	f.addMessages("s", "now", userMessage(strings.Repeat("x", 100_000)))
	if err := c.CompactForOverflow(t.Context(), m, "s", "now", 1000); err != session.ErrNothing { //nolint:errorlint // it comes bare
		t.Errorf("%v", err)
	}
	// After the turn has ended, it can be summarized, and the conversation continues.
	f.addMessages("s", "now", assistantMessage("that is too much"))
	failOnError(t, c.CompactIfNeeded(t.Context(), "s", "now", false))
	if w, _ := f.historyOfFileAndCache("s", "next"); !isSummarized(w) || countBytes(w) > 10_000 {
		t.Errorf("%d bytes", countBytes(w))
	}
}

// Whatever happens in a conversation, its window stays well formed: whole turns, each call with
// its result, newest last, and all untrusted text marked.
func TestHistory_StaysWellFormed(t *testing.T) {
	for seed := range uint64(4) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			h := &randomHistory{fixture: newSessions(t), r: rand.New(rand.NewPCG(seed, 7))}
			h.m = newBrain([]int{0, 0, 9_000, 40_000}[h.r.IntN(4)], h.answerRequest)
			h.c = h.newCompactor(h.m, session.CompactorOptions{Chars: 6000 + h.r.IntN(30_000), Keep: 2 + h.r.IntN(12)})
			for n := range 35 {
				h.addTurn(n)
			}
			rows, err := h.Messages(t.Context(), "s", 0, 10_000)
			if err != nil || len(rows) != h.count {
				t.Errorf("%d of %d messages are stored, %v", len(rows), h.count, err)
			}
		})
	}
}

type randomHistory struct {
	*fixture
	r     *rand.Rand
	m     *brain
	c     *session.Compactor
	count int
	taint int // turns since the last reset that contained untrusted text
}

func (h *randomHistory) randomText(n int) string { return strings.Repeat("w", h.r.IntN(n)) }

// answerRequest answers in every valid and invalid form.
func (h *randomHistory) answerRequest(r llmtest.Request) llmtest.Answer {
	outside := strings.Contains(r.LastUser, "OUTSIDE")
	if outside && strings.Contains(r.LastUser, "ask ") {
		h.t.Error("one request contains trusted and untrusted text")
	}
	state := "fine"
	if outside {
		state = "OUTSIDE says " + h.randomText(300)
	}
	switch h.r.IntN(8) {
	case 0:
		return llmtest.Answer{Status: 400}
	case 1:
		return llmtest.Answer{Text: "no JSON"}
	case 2:
		return summaryOf(state+h.randomText(9000), pin{"decision", "done"}, pin{"task", "ask 1"})
	}
	return summaryOf(state, pin{"constraint", fmt.Sprint("ask ", h.r.IntN(60))}, pin{"decision", "never said"})
}

func (h *randomHistory) randomMessages(id string) []llm.Message {
	msgs := []llm.Message{userMessage("ask " + strings.TrimPrefix(id, "t") + " " + h.randomText(3000))}
	src := provenance.Tool
	if h.r.IntN(4) == 0 {
		src = provenance.Outside
		h.taint++
	}
	for k := range h.r.IntN(9) {
		call, result := callMessages(fmt.Sprintf("%s-%d-a", id, k), fmt.Sprintf("%s-%d-b", id, k))
		for i := range result.Parts {
			result.Parts[i].Source = src
			result.Parts[i].Result.Text = h.randomText(5000)
			if src.Tainted() {
				result.Parts[i].Result.Text = "OUTSIDE " + result.Parts[i].Result.Text
				call.Parts[i].Source = src
			}
		}
		msgs = append(msgs, call, result)
	}
	end := assistantMessage("done")
	if src.Tainted() {
		end.Parts[0] = llm.Part{Text: "OUTSIDE done", Source: src}
	}
	return append(msgs, end)
}

func (h *randomHistory) addTurn(n int) {
	id := fmt.Sprint("t", n)
	msgs := h.randomMessages(id)
	cut := 1 + 2*h.r.IntN((len(msgs)+1)/2) // after the question, or after a result
	h.addMessages("s", id, msgs[:cut]...)
	if h.r.IntN(6) == 0 {
		h.Sessions = session.New(h.store) // a restart
		h.c = h.newCompactor(h.m, session.CompactorOptions{Chars: 8000})
	}
	if h.r.IntN(4) == 0 {
		before, recorded := h.readHistory("s", id)
		err := h.c.CompactForOverflow(h.t.Context(), h.m, "s", id, (countBytes(before)+countBytes(recorded))/(1+h.r.IntN(3)))
		if err != nil && err != session.ErrNothing { //nolint:errorlint // it comes bare
			h.t.Fatal(err)
		}
		h.checkWindow(id, n, len(msgs[:cut]))
	}
	h.addMessages("s", id, msgs[cut:]...)
	h.count += len(msgs)
	if h.r.IntN(20) == 0 {
		h.resetSession("s")
		h.taint = 0
	}
	_ = h.c.CompactIfNeeded(h.t.Context(), "s", id, false) // CompactIfNeeded may fail because the model fails
	h.checkWindow("next", n, 0)
}

func (h *randomHistory) checkWindow(turn string, n, recorded int) {
	h.t.Helper()
	before, own := h.historyOfFileAndCache("s", turn)
	window := append(append([]llm.Message{}, before...), own...)
	wellFormed(h.t, window)
	if len(own) != recorded {
		h.t.Fatalf("turn %d has %d of its %d messages", n, len(own), recorded)
	}
	for i, m := range window {
		if i > 0 && m.Role == llm.User && m.Parts[0].Context {
			h.t.Errorf("turn %d: a summary in the middle", n)
		}
		for _, p := range m.Parts {
			text := p.Text
			if p.Result != nil {
				text = p.Result.Text
			}
			if strings.Contains(text, "OUTSIDE") && !p.Source.Tainted() {
				h.t.Errorf("turn %d: unmarked untrusted text from %q: %.200s", n, p.Source, text)
			}
			if h.taint == 0 && p.Source.Tainted() {
				h.t.Errorf("turn %d: the text has an untrusted source without untrusted text: %.200s", n, text)
			}
			if strings.Contains(text, "never said") {
				h.t.Errorf("turn %d: the summary contains an invented pin", n)
			}
		}
	}
	if w := session.MergeSummary(window); len(w) > 0 && w[0].Role != llm.User {
		h.t.Errorf("turn %d: the window begins with %s", n, w[0].Role)
	}
}
