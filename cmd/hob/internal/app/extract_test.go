package app

import (
	"strings"
	"testing"
	"time"

	"hob/autonomy/llm/llmtest"
	"hob/knowledge"
)

// listFacts returns the facts, after facts were extracted from all turns and forgotten text was
// erased.
func (s *scenarioRun) listFacts() string {
	s.t.Helper()
	s.awaitExtraction()
	gone, err := s.d.erasing.List(s.t.Context(), 100)
	failOnError(s.t, err)
	for _, e := range gone {
		_, err := s.d.erasing.Wait(s.t.Context(), e.ID)
		failOnError(s.t, err)
	}
	all, err := s.d.base.ListFacts(s.t.Context(), 1000, true)
	failOnError(s.t, err)
	var b strings.Builder
	for _, f := range all {
		b.WriteString(string(f.Provenance) + " ")
		if f.Kind != knowledge.KindFact {
			b.WriteString(f.Kind + " ")
		}
		if !f.RetiredAt.IsZero() {
			b.WriteString("was ")
		}
		b.WriteString(f.Text + "\n")
	}
	return b.String()
}

// awaitExtraction waits until facts were extracted from every turn.
func (h *daemonFixture) awaitExtraction() {
	h.t.Helper()
	for deadline := time.Now().Add(60 * time.Second); ; {
		var n int
		where := "ruled = 0"
		if h.d.opt.Config.Knowledge.ExtractionTurns == 1 { // the model extracts after each turn
			where = "1 = 1"
		}
		failOnError(h.t, h.d.store.Reader(h.t.Context()).QueryRow(`SELECT count(*) FROM extractions WHERE tries = 0 AND `+where).Scan(&n))
		if n == 0 {
			return
		}
		if time.Now().After(deadline) {
			h.t.Fatalf("%d turns were not read", n)
		}
		time.Sleep(5 * time.Millisecond)
	}
}

// Turns that wait for the model are sent to it at once.
func TestMemoryFlush_AsksTheModelAtOnce(t *testing.T) {
	model := llmtest.NewServer(t, llmtest.Options{Key: llmtest.Key, Reply: func(r llmtest.Request) (llmtest.Answer, bool) {
		if strings.HasPrefix(r.LastUser, `[{"turn":1`) {
			return llmtest.Answer{Text: `{"items":[{"turn":1,"quote":"Uwe next door does our roofs","text":"Uwe next door does our roofs","kind":"fact","from":"","relation":"","to":""}]}`}, true
		}
		return llmtest.Answer{Text: "Good to know."}, true
	}})
	h := openScripted(t, t.TempDir(), model.URL, listPlayWays()[0], "[knowledge]\nextraction = \"model\"\nextraction_turns = 50\nextraction_wait = \"24h\"\n")
	h.askHob("You know, Uwe next door does our roofs.")
	if r, err := h.d.service.MemoryFlush(t.Context(), "other"); err == nil {
		t.Errorf("an unknown conversation: %+v", r)
	}
	r, err := h.d.service.MemoryFlush(t.Context(), "home")
	failOnError(t, err)
	if r.Turns != 1 || r.Left != 0 || len(r.Facts) != 1 || r.Facts[0].Text != "Uwe next door does our roofs" {
		t.Errorf("%+v", r)
	}
	if r, err = h.d.service.MemoryFlush(t.Context(), ""); err != nil || r.Turns != 0 || len(r.Facts) != 0 {
		t.Errorf("again: %+v, %v", r, err)
	}
}
