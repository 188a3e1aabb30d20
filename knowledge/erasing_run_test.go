package knowledge_test

import (
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"

	"hob/knowledge"
	"hob/platform/provenance"
	"hob/platform/store"
	"hob/platform/store/erase"
)

// fakeTurns simulates the running turns.
type fakeTurns struct {
	mu   sync.Mutex
	list []string
	seen func(*fakeTurns) // called after each read
}

func (r *fakeTurns) runningTurns(store.Querier) ([]string, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	now := slices.Clone(r.list)
	if r.seen != nil {
		r.seen(r)
	}
	return now, nil
}

func (r *fakeTurns) endTurns() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.list, r.seen = nil, nil
}

// beginErasure starts an erasure of a phrase, which continues in the background.
func (h erasureFixture) beginErasure(t *testing.T, phrase string) (id string) {
	t.Helper()
	err := h.st.Write(t.Context(), func(tx *store.Tx) (err error) {
		id, err = h.ers.BeginTx(tx, h.base, knowledge.Erasure{Phrases: []string{phrase}}, "", true)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return id
}

func (h erasureFixture) runErasures(t *testing.T) {
	t.Helper()
	done := make(chan struct{})
	go func() {
		defer close(done)
		if err := h.ers.Run(t.Context()); err != nil {
			t.Error(err)
		}
	}()
	t.Cleanup(func() { <-done })
}

func (h erasureFixture) writeNote(t *testing.T, text string) {
	t.Helper()
	err := h.st.Write(t.Context(), func(tx *store.Tx) error {
		return h.base.IndexTx(tx, knowledge.Doc{Kind: "note", Ref: "n1", Text: text, Provenance: provenance.Owner})
	})
	if err != nil {
		t.Fatal(err)
	}
}

// A turn that starts during the sweep has read the texts and may write them once more.
func TestErasure_WaitsForRunningTurns(t *testing.T) {
	h := newFixture(t)
	h.writeNote(t, "the gate opens with Kestrel-9981")
	swept := make(chan struct{})
	var once sync.Once
	late := &fakeTurns{}
	late.seen = func(r *fakeTurns) { r.list = []string{"late"} } // the turn starts right after the check
	h.ers = knowledge.NewErasing(h.st, knowledge.ErasingOptions{Running: late.runningTurns, Erasers: func() []knowledge.Eraser {
		return []knowledge.Eraser{h.base.Eraser(), erase.Owned{Forgot: func() { once.Do(func() { close(swept) }) }}}
	}})
	id := h.beginErasure(t, "Kestrel-9981")
	h.runErasures(t)
	<-swept
	h.writeNote(t, "as was said, Kestrel-9981") // the turn held the text in memory
	late.endTurns()
	s, err := h.ers.Wait(t.Context(), id)
	if err != nil || s.State != knowledge.EraseDone {
		t.Fatalf("Wait = %+v %v", s, err)
	}
	if in := h.filesContaining(t, "Kestrel-9981"); in != nil {
		t.Errorf("the text is still stored in %v", in)
	}
}

// The erasure mark changes with each sweep, so that text read between two sweeps is rejected.
func TestErasure_MarkChangesWithEachSweep(t *testing.T) {
	h := newFixture(t)
	running := &fakeTurns{list: []string{"other"}}
	var marks []string
	var rewrite bool
	h.ers = knowledge.NewErasing(h.st, knowledge.ErasingOptions{Running: running.runningTurns, Erasers: func() []knowledge.Eraser {
		return []knowledge.Eraser{h.base.Eraser(), erase.Owned{Forgot: func() {
			m, err := knowledge.ErasureMark(h.st.Reader(t.Context()))
			if err != nil {
				t.Error(err)
			}
			marks = append(marks, m)
			if !rewrite { // the other turn writes the text and ends
				rewrite = true
				h.writeNote(t, "as was said, Kestrel-9981")
				running.endTurns()
			}
		}}}
	}})
	id := h.beginErasure(t, "Kestrel-9981")
	h.runErasures(t)
	if _, err := h.ers.Wait(t.Context(), id); err != nil {
		t.Fatal(err)
	}
	if len(marks) != 2 || marks[0] == marks[1] {
		t.Errorf("%v", marks)
	}
}

// A failing erasure reports its error and does not block others.
func TestErasure_ReportsItsError(t *testing.T) {
	h := newFixture(t)
	broken := errors.New("the disk is gone")
	mend := broken
	h.ers = knowledge.NewErasing(h.st, knowledge.ErasingOptions{Erasers: func() []knowledge.Eraser {
		return []knowledge.Eraser{h.base.Eraser(), failingEraser{err: &mend}}
	}})
	bad, good := h.beginErasure(t, "Kestrel-9981"), h.beginErasure(t, "Heron-1234")
	if err := h.ers.FinishAll(t.Context()); !errors.Is(err, broken) {
		t.Fatal(err)
	}
	for id, want := range map[string]string{bad: "the disk is gone", good: ""} {
		if s, err := h.ers.Status(t.Context(), id); err != nil || !strings.Contains(s.Trouble, want) || (want == "") != (s.State == knowledge.EraseDone) {
			t.Errorf("Status = %+v %v", s, err)
		}
	}
	mend = nil
	if err := h.ers.FinishAll(t.Context()); err != nil {
		t.Fatal(err)
	}
	if s, err := h.ers.Status(t.Context(), bad); err != nil || s.Trouble != "" || s.State != knowledge.EraseDone {
		t.Errorf("Status = %+v %v", s, err)
	}
}

// failingEraser is an eraser that fails for one phrase.
type failingEraser struct {
	erase.Owned
	err *error
}

func (f failingEraser) EraseTx(_ *store.Tx, e *knowledge.Erasure, _ *knowledge.Scrubber) (knowledge.Erased, error) {
	if slices.Contains(e.Phrases, "Kestrel-9981") {
		return knowledge.Erased{}, *f.err
	}
	return knowledge.Erased{}, nil
}
