package graph

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"hob/knowledge"
	"hob/platform/provenance"
	"hob/platform/store"
)

func (h *graphFixture) changePair(f func(*store.Tx, knowledge.PairChange) (knowledge.PairChanged, error), src provenance.Source, first, second string) (out knowledge.PairChanged, err error) {
	h.t.Helper()
	err = h.st.Write(h.t.Context(), func(tx *store.Tx) (err error) {
		out, err = f(tx, knowledge.PairChange{First: first, Second: second, Provenance: src, At: noon})
		return err
	})
	h.followChanges()
	return out, err
}

// describeEntities describes the entities, each with its names, except the user's.
func (h *graphFixture) describeEntities() string {
	h.t.Helper()
	list, err := h.g.Entities(h.st.Reader(h.t.Context()), Filter{Kind: knowledge.Person})
	if err != nil {
		h.t.Fatal(err)
	}
	var out []string
	for _, e := range list {
		if e.ID != OwnerID {
			out = append(out, strings.Join(append([]string{e.Name}, e.Aliases...), "="))
		}
	}
	return strings.Join(slices.Sorted(slices.Values(out)), " ")
}

func TestMergeAndSplit(t *testing.T) {
	h := openGraph(t)
	h.rememberTexts(provenance.Owner, "Robert works at Vinted", "Bob lives in Riga", "Cleo works at Initech")
	done, err := h.changePair(h.g.MergeTx, provenance.Owner, "Robert", "Bob")
	if err != nil {
		t.Fatal(err)
	}
	if got := h.describeEntities(); got != "Cleo Robert=Bob" && got != "Bob=Robert Cleo" {
		t.Errorf("after the merge: %s", got)
	}
	if got := h.listEdges(knowledge.EdgeQuery{Text: "who is Bob?"}); len(got) != 2 {
		t.Errorf("Bob has the relations %q, want both", got)
	}
	h.rememberTexts(provenance.Owner, "Dan works at Initech") // the decision is kept when the graph changes
	if got := h.describeEntities(); strings.Count(got, "=") != 1 {
		t.Errorf("later: %s", got)
	}
	if _, err := h.changePair(h.g.MergeTx, provenance.Owner, "Robert", "Bob"); !errors.Is(err, knowledge.ErrSame) {
		t.Errorf("second merge = %v, want ErrSame", err)
	}
	h.writeTx(func(tx *store.Tx) error { return h.g.RevertPairTx(tx, done) })
	if got := h.describeEntities(); got != "Bob Cleo Dan Robert" {
		t.Errorf("after the undo: %s", got)
	}
}

// A shared address merges two people, until the user separates them.
func TestSplit_OutweighsASharedAddress(t *testing.T) {
	h := openGraph(t)
	h.rememberTexts(provenance.Owner, "Ana Silva's email is office@example.org", "Tom Reed's email is office@example.org")
	if got := h.describeEntities(); strings.Count(got, "=") < 2 {
		t.Fatalf("the entities were not merged: %s", got)
	}
	done, err := h.changePair(h.g.SplitTx, provenance.Owner, "Ana Silva", "Tom Reed")
	if err != nil {
		t.Fatal(err)
	}
	if got := h.describeEntities(); got != "Ana Silva=office@example.org Tom Reed=office@example.org" {
		t.Errorf("after the split: %s", got)
	}
	h.writeTx(func(tx *store.Tx) error { return h.g.RevertPairTx(tx, done) })
	if got := h.describeEntities(); strings.Contains(got, " Tom Reed=office") {
		t.Errorf("after the undo: %s", got)
	}
}

// "Ana" and later "Ana Silva" are one entity, until the user says that they are two people.
func TestSplit_MovesANameWithItsRows(t *testing.T) {
	h := openGraph(t)
	h.rememberTexts(provenance.Owner, "Ana works at Vinted", "Ana Silva lives in Porto")
	if got := h.describeEntities(); strings.Count(got, "Ana") != 2 || strings.Count(got, "=") != 1 {
		t.Fatalf("want one entity: %s", got)
	}
	before := h.listEdges(knowledge.EdgeQuery{Text: "Ana Silva"})
	done, err := h.changePair(h.g.SplitTx, provenance.Owner, "Ana Silva", "Ana")
	if err != nil {
		t.Fatal(err)
	}
	if got := h.describeEntities(); got != "Ana Ana Silva" {
		t.Errorf("after the split: %s", got)
	}
	if got := h.listEdges(knowledge.EdgeQuery{Text: "Ana Silva"}); len(got) != 1 || got[0] != "Ana Silva lives in Porto" {
		t.Errorf("Ana Silva: %q", got)
	}
	h.rememberTexts(provenance.Owner, "Ana Silva works at Initech")
	if got := h.listEdges(knowledge.EdgeQuery{Text: "who works at Vinted?"}); len(got) != 1 || got[0] != "Ana works at Vinted" {
		t.Errorf("Vinted: %q", got)
	}
	h.writeTx(func(tx *store.Tx) error { return h.g.RevertPairTx(tx, done) })
	if got := h.listEdges(knowledge.EdgeQuery{Text: "Ana Silva"}); len(got) != len(before)+1 {
		t.Errorf("after the undo: %q", got)
	}
}

func TestMerge_RefusesUntrustedText(t *testing.T) {
	h := openGraph(t)
	h.rememberTexts(provenance.Owner, "Ana works at Vinted")
	h.rememberTexts(provenance.Outside, "Mallory works at Evilcorp")
	if _, err := h.changePair(h.g.MergeTx, provenance.Outside, "Ana", "Mallory"); !errors.Is(err, knowledge.ErrTrustedEntity) {
		t.Errorf("merged: %v", err)
	}
	if _, err := h.changePair(h.g.MergeTx, "", "Ana", "Mallory"); !errors.Is(err, knowledge.ErrTrustedEntity) {
		t.Errorf("unknown provenance: %v", err)
	}
}
