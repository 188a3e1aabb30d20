package index_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"hob/knowledge"
	"hob/knowledge/index"
	"hob/platform/store"
	"hob/platform/store/storetest"
)

// filesContaining returns the files below a folder that contain a text.
func filesContaining(t *testing.T, dir, text string) []string {
	t.Helper()
	var out []string
	failOnError(t, filepath.WalkDir(dir, func(path string, e os.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		b, err := os.ReadFile(path)
		if bytes.Contains(b, []byte(text)) {
			out = append(out, path)
		}
		return err
	}))
	return out
}

func TestCompact(t *testing.T) {
	for _, rows := range []int{1, 40, 1500} { // one segment; several segments; more rows than fit in a batch
		t.Run(fmt.Sprint(rows), func(t *testing.T) {
			w := openFixture(t)
			for i := 0; i < rows; i += 10 {
				var docs []knowledge.Doc
				for k := i; k < min(i+10, rows); k++ {
					docs = append(docs, knowledge.Doc{Ref: fmt.Sprint(k), Text: fmt.Sprintf("an ordinary row about %s", randomWord(uint64(k)))})
				}
				w.putDocs(t, docs...)
				if i < 100 {
					failOnError(t, w.ix.CatchUp(t.Context()))
				}
			}
			w.putDocs(t, knowledge.Doc{Ref: "secret", Text: "Kestrel-9981 zzyzxqwerty"})
			failOnError(t, w.ix.CatchUp(t.Context()))
			if got := w.findNotes(t, "kestrel zzyzxqwerty"); got != "secret" {
				t.Fatalf("found %q", got)
			}
			w.removeNotes(t, "secret")
			failOnError(t, w.ix.Compact(t.Context()))
			for _, s := range []string{"zzyzxqwert", "zyzxqwerty", "estrel", "9981"} {
				if left := filesContaining(t, w.dir, s); len(left) > 0 {
					t.Errorf("%q is still in %v", s, left)
				}
			}
			if got := w.findNotes(t, "zzyzxqwerty"); got != "" {
				t.Errorf("found %q", got)
			}
			if got := w.findNotes(t, "ordinary "+randomWord(0)); !strings.HasPrefix(got, "0") {
				t.Errorf("search for the other rows: %q", got)
			}
			w.putDocs(t, knowledge.Doc{Ref: "later", Text: "a later row"})
			failOnError(t, w.ix.CatchUp(t.Context()))
			w.reopenIndex(t, index.Options{})
			if got := w.findNotes(t, "later"); got != "later" {
				t.Errorf("search after the rebuild: %q", got)
			}
		})
	}
}

func TestReindex_WhileServing(t *testing.T) {
	w := openFixture(t)
	var docs []knowledge.Doc
	for i := range 1200 {
		docs = append(docs, knowledge.Doc{Ref: fmt.Sprint(i), Text: fmt.Sprintf("row %d about milk", i)})
	}
	w.putDocs(t, docs...)
	failOnError(t, w.ix.CatchUp(t.Context()))
	var seen []int
	failOnError(t, w.ix.Reindex(t.Context(), func(done, total int) {
		seen = append(seen, done)
		if total < 1200 {
			t.Errorf("%d results in total, want at least 1200", total)
		}
		if len(seen) == 1 {
			w.putDocs(t, knowledge.Doc{Ref: "0", Text: "changed meanwhile"}, knowledge.Doc{Ref: "new", Text: "saffron"})
			w.removeNotes(t, "1")
		}
		if got := w.findNotes(t, "saffron meanwhile"); !strings.Contains(got, "new") || !strings.Contains(got, "0") {
			t.Errorf("during the rebuild: %q", got)
		}
	}))
	if len(seen) < 2 || seen[len(seen)-1] < 1200 {
		t.Errorf("progress: %v", seen)
	}
	s, err := w.ix.Stats(t.Context())
	failOnError(t, err)
	if s.Rows != 1200 || s.Behind != 0 || s.Trouble != "" || s.Bytes == 0 || s.Segments == 0 || s.Languages["en"] == 0 {
		t.Errorf("%+v", s)
	}
	if got := w.findNotes(t, "saffron meanwhile"); got != "new 0" && got != "0 new" {
		t.Errorf("search after the rebuild: %q", got)
	}
	left, err := os.ReadDir(w.dir)
	failOnError(t, err)
	if len(left) != 2 { // the generation and the file with its name
		t.Errorf("%v", left)
	}
}

// overwriteFiles overwrites files of the index.
func overwriteFiles(t *testing.T, w *indexFixture, pattern string, with []byte) {
	t.Helper()
	list, err := filepath.Glob(filepath.Join(w.dir, "*", pattern))
	failOnError(t, err)
	if len(list) == 0 {
		t.Fatal("no file matches the pattern")
	}
	for _, f := range list {
		failOnError(t, os.WriteFile(f, with, 0o600))
	}
}

// An index that does not match the store is rebuilt and never searched.
func TestOpen_RebuildsMismatchedIndex(t *testing.T) {
	tests := []struct {
		name  string
		spoil func(t *testing.T, w *indexFixture) index.Options
	}{
		{"a damaged file", func(t *testing.T, w *indexFixture) index.Options {
			overwriteFiles(t, w, "*.zap", []byte("no index at all"))
			return index.Options{}
		}},
		{"truncated file", func(t *testing.T, w *indexFixture) index.Options {
			overwriteFiles(t, w, "*.zap", nil)
			return index.Options{}
		}},
		{"corrupted file", func(t *testing.T, w *indexFixture) index.Options {
			overwriteFiles(t, w, "*.zap", bytes.Repeat([]byte{0xff, 0, 7}, 400))
			return index.Options{}
		}},
		{"replaced root file", func(t *testing.T, w *indexFixture) index.Options {
			overwriteFiles(t, w, "root.bolt", bytes.Repeat([]byte("?"), 70_000))
			return index.Options{}
		}},
		{"other weights", func(*testing.T, *indexFixture) index.Options { return index.Options{Title: 5} }},
		{"no such folder", func(t *testing.T, w *indexFixture) index.Options {
			failOnError(t, os.RemoveAll(w.dir))
			return index.Options{}
		}},
		{"invalid generation name", func(t *testing.T, w *indexFixture) index.Options {
			failOnError(t, os.WriteFile(filepath.Join(w.dir, "current"), []byte("../../etc"), 0o600))
			return index.Options{}
		}},
		{"restored database", func(t *testing.T, w *indexFixture) index.Options {
			failOnError(t, w.st.Write(t.Context(), func(tx *store.Tx) error {
				_, err := tx.Exec(`DELETE FROM doc_changes; UPDATE sqlite_sequence SET seq = 1 WHERE name = 'doc_changes'; UPDATE derived SET seq = 1`)
				return err
			}))
			return index.Options{}
		}},
		{"restored database with newer changes", func(t *testing.T, w *indexFixture) index.Options {
			storetest.FileOnly(t, "the test restores a backup of the file")
			copied := filepath.Join(t.TempDir(), "copy.db")
			failOnError(t, w.st.Backup(t.Context(), copied))
			w.ix = nil
			w.reopenIndex(t, index.Options{})
			w.putDocs(t, knowledge.Doc{Ref: "b", Text: "butter"}) // lost with the later changes
			failOnError(t, w.ix.CatchUp(t.Context()))
			failOnError(t, w.ix.Close())
			w.restoreCopy(t, copied)
			w.putDocs(t, knowledge.Doc{Ref: "a", Text: "milk and honey"})
			return index.Options{}
		}},
		{"dropped changes", func(t *testing.T, w *indexFixture) index.Options {
			w.putDocs(t, knowledge.Doc{Ref: "b", Text: "bread"})
			failOnError(t, w.st.Write(t.Context(), func(tx *store.Tx) error {
				_, err := tx.Exec(`DELETE FROM doc_changes; UPDATE derived SET seq = (SELECT seq FROM sqlite_sequence WHERE name = 'doc_changes')`)
				return err
			}))
			return index.Options{}
		}},
	}
	for _, tc := range tests {
		t.Run(tc.name, func(t *testing.T) {
			w := openFixture(t)
			w.putDocs(t, knowledge.Doc{Ref: "a", Text: "milk and eggs"}, knowledge.Doc{Ref: "b", Text: "bread"})
			failOnError(t, w.ix.CatchUp(t.Context()))
			if w.findNotes(t, "milk") != "a" {
				t.Fatal("the row is missing before the test")
			}
			failOnError(t, w.ix.Close())
			opt := tc.spoil(t, w)
			ix, err := index.New(w.st, w.dir, opt)
			failOnError(t, err)
			w.ix = ix
			t.Cleanup(func() { _ = ix.Close() })
			if got := w.findNotes(t, "milk") + w.findNotes(t, "bread"); got != "ab" {
				t.Errorf("search before the rebuild: %q", got)
			}
			failOnError(t, w.ix.CatchUp(t.Context()))
			if got := w.findNotes(t, "milk") + w.findNotes(t, "bread"); got != "ab" {
				t.Errorf("search after the rebuild: %q", got)
			}
			s, err := w.ix.Stats(t.Context())
			failOnError(t, err)
			_, err = os.Stat(filepath.Join(w.dir, "damaged"))
			if s.Rows != 2 || s.Behind != 0 || s.Trouble != "" || strings.Contains(tc.name, "file") != (err == nil) {
				t.Errorf("%+v; set aside: %v", s, err)
			}
		})
	}
}

// If another process uses the index, a search neither waits nor fails: it scans the rows.
func TestRun_Busy(t *testing.T) {
	w := openFixture(t)
	w.putDocs(t, knowledge.Doc{Ref: "a", Text: "milk and eggs"})
	failOnError(t, w.ix.CatchUp(t.Context()))
	second, err := index.New(w.st, w.dir, index.Options{})
	failOnError(t, err)
	defer second.Close()
	a, err := second.SearchTerms(w.st.Reader(t.Context()), knowledge.TermQuery{Text: "milk", Kinds: []string{"note"}, Realms: []string{""}})
	if err != nil || len(a.Matches) != 1 {
		t.Errorf("SearchTerms = %+v, %v", a, err)
	}
	if err := second.CatchUp(t.Context()); !errors.Is(err, index.ErrBusy) {
		t.Errorf("CatchUp: %v", err)
	}
	if s, err := second.Stats(t.Context()); err != nil || !strings.Contains(s.Trouble, "another Hob process") {
		t.Errorf("Stats = %+v, %v", s, err)
	}
}

// In a new home, Stats reports that the index is being built, or that the first use will build it,
// but never an error.
func TestStats_NewHome(t *testing.T) {
	for name, running := range map[string]bool{"without a daemon": false, "with one": true} {
		t.Run(name, func(t *testing.T) {
			w := openFixture(t)
			ctx, cancel := contextOf(t)
			done := make(chan error, 1)
			if running {
				go func() { done <- w.ix.Run(ctx) }()
			}
			for {
				s, err := w.ix.Stats(t.Context())
				failOnError(t, err)
				if s.Trouble != "" {
					t.Fatalf("%+v", s)
				}
				if !s.Building {
					break
				}
				<-time.After(time.Millisecond)
			}
			cancel()
			if running {
				failOnError(t, <-done)
			}
		})
	}
}

func TestRun(t *testing.T) {
	w := openFixture(t)
	w.reopenIndex(t, index.Options{Delay: time.Millisecond})
	base, err := knowledge.New(w.st, knowledge.Options{Index: w.ix, Changed: w.ix.Changed})
	failOnError(t, err)
	w.base = base
	done := make(chan error)
	ctx, cancel := contextOf(t)
	go func() { done <- w.ix.Run(ctx) }()
	for i := range 3 {
		w.putDocs(t, knowledge.Doc{Ref: fmt.Sprint(i), Text: "milk"})
		for {
			s, err := w.ix.Stats(t.Context())
			failOnError(t, err)
			if s.Behind == 0 && s.Rows == i+1 {
				break
			}
			<-time.After(time.Millisecond)
		}
	}
	cancel()
	failOnError(t, <-done)
	failOnError(t, w.ix.CatchUp(t.Context())) // the background goroutine may not have been notified yet
	failOnError(t, w.ix.Close())
	if _, err := w.ix.SearchTerms(w.st.Reader(t.Context()), knowledge.TermQuery{Text: "x"}); !errors.Is(err, index.ErrClosed) {
		t.Errorf("SearchTerms after Close = %v", err)
	}
	var n int
	failOnError(t, w.st.Reader(t.Context()).QueryRow(`SELECT count(*) FROM doc_changes`).Scan(&n))
	if n != 0 {
		t.Errorf("%d changes are stored although all consumers have them", n)
	}
}

// A search builds the index before Run starts. It also finds rows that are written after the
// search, and rows that another consumer has acknowledged before the index follows.
func TestSearch_BeforeRun(t *testing.T) {
	for _, held := range []int64{1, 2} {
		t.Run(fmt.Sprintf("%d of 2 changes are held by others", held), func(t *testing.T) {
			w := openFixture(t)
			w.reopenIndex(t, index.Options{Delay: time.Millisecond})
			if got := w.findNotes(t, "milk"); got != "" {
				t.Fatalf("found %q", got)
			}
			w.putDocs(t, knowledge.Doc{Ref: "a", Text: "milk"}, knowledge.Doc{Ref: "b", Text: "bread"})
			failOnError(t, w.st.Write(t.Context(), func(tx *store.Tx) error { return w.base.AckChangesTx(tx, "graph", held) }))
			if got := w.findNotes(t, "milk"); got != "a" {
				t.Errorf("before the index follows: found %q", got)
			}
			failOnError(t, w.ix.CatchUp(t.Context()))
			s, err := w.ix.Stats(t.Context())
			failOnError(t, err)
			if got := w.findNotes(t, "milk"); got != "a" || s.Rows != 2 {
				t.Errorf("after the index follows: found %q in %d rows", got, s.Rows)
			}
		})
	}
}

// The weight of a word, on which dropping weak results depends, is the same whether or not the last
// changes are indexed: previous versions of rows do not count.
func TestSearch_WeightsIgnorePreviousVersions(t *testing.T) {
	w := openFixture(t)
	w.putDocs(t, knowledge.Doc{Ref: "a", Text: "my address is 5 Elm Road"}, knowledge.Doc{Ref: "b", Text: "the cat is called Rex"},
		knowledge.Doc{Ref: "c", Text: "her address is the mill"}, knowledge.Doc{Ref: "d", Text: "an address nobody needs"})
	failOnError(t, w.ix.CatchUp(t.Context()))
	w.putDocs(t, knowledge.Doc{Ref: "a", Text: "my house has no number any more, and the road no name"}, knowledge.Doc{Ref: "e", Text: "my address is 7 Oak Lane"})
	w.removeNotes(t, "d")
	ask := func() (out []knowledge.WordAnswer) {
		for _, text := range []string{"old address", "address road", "elm"} {
			out = append(out, w.searchTerms(t, knowledge.TermQuery{Text: text, Kinds: []string{"note", "fact"}, Realms: []string{""}}))
		}
		return out
	}
	before := ask()
	failOnError(t, w.ix.CatchUp(t.Context()))
	if d := cmp.Diff(ask(), before, cmp.Comparer(func(a, b float64) bool { return math.Abs(a-b) < 1e-6 })); d != "" {
		t.Error(d)
	}
}

func contextOf(t *testing.T) (context.Context, context.CancelFunc) {
	return context.WithCancel(t.Context())
}
