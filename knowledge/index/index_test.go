package index_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"hob/knowledge"
	"hob/knowledge/index"
	"hob/platform/provenance"
	"hob/platform/store"
	"hob/platform/store/storetest"
)

var t0 = time.Date(2026, 3, 9, 12, 0, 0, 0, time.UTC)

type indexFixture struct {
	st   *store.Store
	base *knowledge.Base
	dir  string
	ix   *index.Index
}

func openFixture(t testing.TB) *indexFixture {
	t.Helper()
	dir := t.TempDir()
	w := &indexFixture{dir: filepath.Join(dir, "index")}
	var err error
	if w.st, err = storetest.Open(t.Context(), filepath.Join(dir, "hob.db"), knowledge.Migrations(), store.Options{}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = w.st.Close() })
	if w.base, err = knowledge.New(w.st, knowledge.Options{}); err != nil {
		t.Fatal(err)
	}
	w.reopenIndex(t, index.Options{})
	return w
}

// restoreCopy replaces the database with a copy.
func (w *indexFixture) restoreCopy(t testing.TB, copied string) {
	t.Helper()
	path := w.st.Path()
	failOnError(t, w.st.Close())
	failOnError(t, os.Rename(copied, path))
	var err error
	if w.st, err = storetest.Open(t.Context(), path, knowledge.Migrations(), store.Options{}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = w.st.Close() })
	w.base, err = knowledge.New(w.st, knowledge.Options{})
	failOnError(t, err)
}

// reopenIndex opens the index like a new process.
func (w *indexFixture) reopenIndex(t testing.TB, opt index.Options) {
	t.Helper()
	if w.ix != nil {
		failOnError(t, w.ix.Close())
	}
	ix, err := index.New(w.st, w.dir, opt)
	failOnError(t, err)
	w.ix = ix
	t.Cleanup(func() { _ = ix.Close() })
}

func failOnError(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func (w *indexFixture) putDocs(t testing.TB, docs ...knowledge.Doc) {
	t.Helper()
	failOnError(t, w.st.Write(t.Context(), func(tx *store.Tx) error {
		for _, d := range docs {
			if d.Kind == "" {
				d.Kind = "note"
			}
			if d.At.IsZero() {
				d.At = t0
			}
			d.Provenance = provenance.Owner
			if err := w.base.IndexTx(tx, d); err != nil {
				return err
			}
		}
		return nil
	}))
}

func (w *indexFixture) removeNotes(t testing.TB, refs ...string) {
	t.Helper()
	failOnError(t, w.st.Write(t.Context(), func(tx *store.Tx) error {
		for _, r := range refs {
			if err := w.base.UnindexTx(tx, "note", r); err != nil {
				return err
			}
		}
		return nil
	}))
}

// findNotes searches notes of the main realm and returns their refs, best first.
func (w *indexFixture) findNotes(t testing.TB, text string) string {
	t.Helper()
	return w.matchedRefs(t, w.searchTerms(t, knowledge.TermQuery{Text: text, Kinds: []string{"note"}, Realms: []string{""}}))
}

func (w *indexFixture) searchTerms(t testing.TB, q knowledge.TermQuery) knowledge.WordAnswer {
	t.Helper()
	a, err := w.ix.SearchTerms(w.st.Reader(t.Context()), q)
	failOnError(t, err)
	return a
}

func (w *indexFixture) matchedRefs(t testing.TB, a knowledge.WordAnswer) string {
	t.Helper()
	var out []string
	for _, m := range a.Matches {
		var ref string
		failOnError(t, w.st.Reader(t.Context()).QueryRow(`SELECT ref FROM docs WHERE n = ?`, m.N).Scan(&ref))
		out = append(out, ref)
	}
	return strings.Join(out, " ")
}

func TestFresh(t *testing.T) {
	w := openFixture(t)
	w.putDocs(t, knowledge.Doc{Ref: "a", Text: "milk and eggs"}, knowledge.Doc{Ref: "b", Text: "bread"})
	if got := w.findNotes(t, "milk"); got != "a" {
		t.Errorf("search before the index follows: %q", got)
	}
	failOnError(t, w.ix.CatchUp(t.Context()))
	for _, later := range []bool{false, true} {
		if later {
			failOnError(t, w.ix.CatchUp(t.Context()))
		}
		if got := w.findNotes(t, "milk"); got != "a" {
			t.Errorf("search after the index caught up: %q", got)
		}
	}
	w.putDocs(t, knowledge.Doc{Ref: "b", Text: "bread and milk, milk, milk"}, knowledge.Doc{Ref: "a", Text: "eggs"}, knowledge.Doc{Ref: "c", Text: "more eggs for all of us today"})
	check := func(when string) {
		if got := w.findNotes(t, "milk") + "|" + w.findNotes(t, "eggs") + "|" + w.findNotes(t, "bread"); got != "b|a c|b" {
			t.Errorf("%s: %q", when, got)
		}
	}
	check("changed and not followed yet")
	failOnError(t, w.ix.CatchUp(t.Context()))
	check("followed")
	w.removeNotes(t, "a")
	if got := w.findNotes(t, "eggs"); got != "c" {
		t.Errorf("search after a removal, before the index follows: %q", got)
	}
	failOnError(t, w.ix.CatchUp(t.Context()))
	if got := w.findNotes(t, "eggs"); got != "c" {
		t.Errorf("removed: %q", got)
	}
	w.reopenIndex(t, index.Options{})
	if got := w.findNotes(t, "eggs"); got != "c" {
		t.Errorf("search after reopening: %q", got)
	}
	err := w.st.Write(t.Context(), func(tx *store.Tx) error {
		if err := w.base.IndexTx(tx, knowledge.Doc{Kind: "note", Ref: "d", Text: "saffron"}); err != nil {
			return err
		}
		a, err := w.ix.SearchTerms(tx, knowledge.TermQuery{Text: "saffron", Kinds: []string{"note"}, Realms: []string{""}})
		if len(a.Matches) != 1 || err != nil {
			t.Errorf("search in the same transaction: %+v, %v", a, err)
		}
		return fmt.Errorf("rolled back")
	})
	if err == nil {
		t.Error("Write succeeded, want a rollback")
	}
	if got := w.findNotes(t, "saffron"); got != "" {
		t.Errorf("rolled-back rows were found: %q", got)
	}
}

// The index and a scan return the same results for fresh rows, indexed rows and both.
func TestSearch_LikeScan(t *testing.T) {
	w := openFixture(t)
	texts := []string{
		"my sister's birthday is on 3 May", "the spare key is under the blue flowerpot", "I am allergic to penicillin",
		"Zoë likes crème brûlée", "the plumber is called Marek", "会議は毎週火曜日です", "чай в шкафу", "invoice-4711.pdf is paid",
		"I parked the car on level 3", "my brother lives in Leipzig", "meine Mutter wohnt in Köln", "der Schlüssel ist bei den Nachbarn",
	}
	var docs []knowledge.Doc
	for i, s := range texts {
		docs = append(docs, knowledge.Doc{Ref: fmt.Sprint(i), Title: fmt.Sprintf("Row %d", i), Text: s, At: t0.Add(time.Duration(i) * time.Hour)})
	}
	scan := knowledge.NewScan(knowledge.Weights{})
	w.putDocs(t, docs[:6]...)
	failOnError(t, w.ix.CatchUp(t.Context()))
	w.putDocs(t, docs[6:]...)
	for _, state := range []string{"half fresh", "indexed"} {
		for _, query := range []string{"sister birthday", "schlussel nachbar", "what are my allergies", "plummer", "火曜日", "чай", "4711", "invoice-4711.pdf", "birthday Row", "Marek 2026-03-09", "", "zzz", "the the the is in on"} {
			for _, loose := range []bool{false, true} {
				q := knowledge.TermQuery{Text: query, Kinds: []string{"note"}, Realms: []string{""}, Loose: loose}
				want, err := scan.SearchTerms(w.st.Reader(t.Context()), q)
				failOnError(t, err)
				got := w.searchTerms(t, q)
				if d := cmp.Diff(roundScores(want), roundScores(got)); d != "" {
					t.Errorf("%s, %q, loose %v: %s", state, query, loose, d)
				}
			}
		}
		failOnError(t, w.ix.CatchUp(t.Context()))
	}
}

// roundScores makes scores comparable, because norms are stored as 32-bit numbers.
func roundScores(a knowledge.WordAnswer) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%d rows", a.Rows)
	for _, w := range a.Words {
		fmt.Fprintf(&b, " %s:%d:%.3f", w.Text, w.Rows, w.Weight)
	}
	for _, m := range a.Matches {
		fmt.Fprintf(&b, " %d=%.3f/%b", m.N, m.Score, m.Has)
	}
	return b.String()
}

func TestRealms(t *testing.T) {
	w := openFixture(t)
	for _, realm := range []string{"", "work"} {
		for _, kind := range []string{"note", "task"} {
			w.putDocs(t, knowledge.Doc{Kind: kind, Ref: kind + realm, Realm: realm, Text: "the door code of the office"})
		}
	}
	for _, fresh := range []bool{true, false} {
		if !fresh {
			failOnError(t, w.ix.CatchUp(t.Context()))
		}
		tests := []struct {
			name          string
			kinds, realms []string
			want          string
		}{
			{"one", []string{"note"}, []string{"work"}, "notework"},
			{"two kinds", []string{"note", "task"}, []string{""}, "task note"},
			{"two realms", []string{"task"}, []string{"", "work"}, "taskwork task"},
			{"none", []string{"mail"}, []string{""}, ""},
			{"unknown realm", []string{"note"}, []string{"home"}, ""},
		}
		for _, tc := range tests {
			a := w.searchTerms(t, knowledge.TermQuery{Text: "door code", Kinds: tc.kinds, Realms: tc.realms})
			if got := w.matchedRefs(t, a); got != tc.want || a.Rows != len(strings.Fields(tc.want)) {
				t.Errorf("%s (fresh %v): %q of %d rows", tc.name, fresh, got, a.Rows)
			}
		}
	}
}

// Recollect reuses a lookup with a higher limit and other letter case. The best matches must be the
// same.
func TestSearchTerms_BestMatchesDoNotDependOnLimitOrCase(t *testing.T) {
	w := openFixture(t)
	z := addZipfRows(w, t, 6000)
	failOnError(t, w.ix.CatchUp(t.Context()))
	many := 0
	for range 200 {
		text := randomWord(z.Uint64()) + " " + randomWord(z.Uint64()) + " " + randomWord(z.Uint64())
		q := knowledge.TermQuery{Text: text, Kinds: []string{"fact", "note", "turn", "chunk"}, Realms: []string{""}, Limit: 60}
		few := w.searchTerms(t, q)
		q.Text, q.Limit = strings.ToUpper(text[:1])+text[1:], 300
		all := w.searchTerms(t, q)
		many = max(many, len(all.Matches))
		all.Matches = all.Matches[:min(len(all.Matches), 60)]
		if d := cmp.Diff(few.Matches, all.Matches); d != "" || few.Rows != all.Rows {
			t.Fatalf("%q: -limit 60 +limit 300:\n%s", text, d)
		}
	}
	if many <= 60 {
		t.Errorf("no query has more than %d matches", many)
	}
}
