package extract

import (
	"context"
	"errors"
	"path/filepath"
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"hob/autonomy/bus"
	"hob/autonomy/llm"
	"hob/autonomy/llm/llmtest"
	"hob/autonomy/mind/learn"
	"hob/knowledge"
	"hob/knowledge/graph"
	"hob/platform/provenance"
	"hob/platform/store"
	"hob/platform/store/storetest"
)

// extractFixture is a knowledge base with an extractor.
type extractFixture struct {
	t    *testing.T
	st   *store.Store
	base *knowledge.Base
	bus  *bus.Bus
	g    *graph.Graph
}

func openFixture(t *testing.T) *extractFixture {
	t.Helper()
	st, err := storetest.Open(t.Context(), filepath.Join(t.TempDir(), "hob.db"), append(knowledge.Migrations(), bus.Migrations(), Migrations(), graph.Migrations()), store.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = st.Close() })
	base, err := knowledge.New(st, knowledge.Options{})
	if err != nil {
		t.Fatal(err)
	}
	g, err := graph.New(graph.Options{Store: st})
	if err != nil {
		t.Fatal(err)
	}
	return &extractFixture{t, st, base, bus.New(st, bus.Options{}), g}
}

func (h *extractFixture) newExtractor(model func(context.Context) (llm.Model, error)) *Extractor {
	h.t.Helper()
	x, err := New(Options{Store: h.st, Bus: h.bus, Base: h.base, Linker: h.g, Mode: Model, Model: model})
	if err != nil {
		h.t.Fatal(err)
	}
	return x
}

func (h *extractFixture) writeTx(f func(tx *store.Tx) error) {
	h.t.Helper()
	if err := h.st.Write(h.t.Context(), f); err != nil {
		h.t.Fatal(err)
	}
}

func (h *extractFixture) endMessage(x *Extractor, event, text string) {
	h.t.Helper()
	h.writeTx(func(tx *store.Tx) error {
		if _, err := h.bus.Inbox.PutTx(tx, bus.Event{ID: event, Kind: bus.Message, Source: "web", Session: "s", Channel: "web", Text: text, Provenance: provenance.Owner}); err != nil {
			return err
		}
		x.Study(learn.Turn{Event: event, Session: "s", Channel: "web", Text: text, Owner: true, At: time.Now()})(tx)
		return nil
	})
}

func (h *extractFixture) factTexts() (out []string) {
	h.t.Helper()
	list, err := h.base.ListFacts(h.t.Context(), 10, false)
	if err != nil {
		h.t.Fatal(err)
	}
	for _, f := range list {
		out = append(out, f.Text)
	}
	return out
}

const roofs = `{"items":[{"turn":1,"quote":"Uwe next door does our roofs","text":"Uwe next door does our roofs","kind":"fact"}]}`

// A failed model call is retried within the hour.
func TestExtract_RetriesAFailedCall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := openFixture(t)
		var up atomic.Bool
		x := h.newExtractor(func(context.Context) (llm.Model, error) {
			if !up.Load() {
				return nil, errors.New("overloaded")
			}
			return llmtest.NewScripted(llmtest.Options{}, llmtest.Answer{Text: roofs}), nil
		})
		h.endMessage(x, "a", "Uwe next door does our roofs")
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error)
		go func() { done <- x.Run(ctx) }()
		time.Sleep(5 * time.Minute)
		synctest.Wait()
		up.Store(true)
		time.Sleep(time.Hour)
		synctest.Wait()
		if got := h.factTexts(); len(got) != 1 {
			t.Errorf("facts after one hour: %q", got)
		}
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
		_ = h.st.Close()
	})
}

// The facts in an answer are attributed to the right turns, even if one of the turns in the request
// was erased in the meantime.
func TestExtract_AttributesFactsWhenATurnWasErased(t *testing.T) {
	h := openFixture(t)
	m := slowModel{llmtest.NewScripted(llmtest.Options{}, llmtest.Answer{Text: `{"items":[
		{"turn":2,"quote":"Lea next door does our roofs","text":"Lea next door does our roofs","kind":"fact"},
		{"turn":3,"quote":"Uwe next door does our lamps","text":"Uwe next door does our lamps","kind":"fact"}]}`}), func() {
		h.writeTx(func(tx *store.Tx) error { _, err := tx.Exec(`DELETE FROM extractions WHERE event = 'b'`); return err })
	}}
	x := h.newExtractor(func(context.Context) (llm.Model, error) { return m, nil })
	h.endMessage(x, "a", "I am told that it rains")
	h.endMessage(x, "b", "Lea next door does our roofs")
	h.endMessage(x, "c", "Uwe next door does our lamps")
	list, err := x.selectPending(t.Context(), 1, 10)
	if err != nil || len(list) != 3 {
		t.Fatalf("selectPending = %+v, %v", list, err)
	}
	if err := x.askModel(t.Context(), list); err != nil {
		t.Fatal(err)
	}
	if got := h.factTexts(); len(got) != 1 || got[0] != "Uwe next door does our lamps" {
		t.Errorf("facts = %q", got)
	}
}

// A relation found by a model depends on its fact: it is no longer current when the fact is not,
// and it is not stored without the fact.
func TestExtract_RelationsEndWithTheirFacts(t *testing.T) {
	h := openFixture(t)
	m := llmtest.NewScripted(llmtest.Options{}, llmtest.Answer{Text: `{"items":[
		{"turn":1,"quote":"Uwe lives in Riga","text":"Uwe lives in Riga","kind":"fact","from":"Uwe","relation":"neighbour_of","to":"me"},
		{"turn":2,"quote":"we switched from Acme to Globex","text":"we switched from Acme to Globex","kind":"fact","from":"me","relation":"client_of","to":"Globex"}]}`})
	x := h.newExtractor(func(context.Context) (llm.Model, error) { return m, nil })
	h.endMessage(x, "a", "Uwe lives in Riga, next door")
	h.endMessage(x, "b", "By the way, we switched from Acme to Globex")
	list, err := x.selectPending(t.Context(), 1, 10)
	if err != nil || len(list) != 2 {
		t.Fatalf("selectPending = %+v, %v", list, err)
	}
	if err := x.askModel(t.Context(), list); err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff([]string{"lives_in", "neighbour_of"}, h.relationNames()); d != "" {
		t.Error(d)
	}
	h.writeTx(func(tx *store.Tx) error {
		_, err := h.base.RememberTx(tx, knowledge.Fact{Text: "Uwe moved to Vilnius", Provenance: provenance.Owner})
		return err
	})
	if d := cmp.Diff([]string{"lives_in"}, h.relationNames()); d != "" {
		t.Errorf("relations after a correction: %s", d)
	}
}

// relationNames returns the names of the current relations.
func (h *extractFixture) relationNames() (out []string) {
	h.t.Helper()
	if err := h.g.CatchUp(h.t.Context(), h.base); err != nil {
		h.t.Fatal(err)
	}
	err := h.g.ForEach(h.st.Reader(h.t.Context()), func(knowledge.Entity) error { return nil }, func(r knowledge.Relation) error {
		out = append(out, r.Name)
		return nil
	})
	if err != nil {
		h.t.Fatal(err)
	}
	slices.Sort(out)
	return out
}
