package index_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"hob/knowledge"
	"hob/knowledge/index"
)

// A search that finds a damaged segment may retire the index at any time. No writer may block
// forever.
func TestWriter_RetiredIndexDoesNotBlock(t *testing.T) {
	w := openFixture(t)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	const rows = 200
	for i := range 6 {
		f := []func(context.Context) error{w.ix.CatchUp, w.ix.Compact}[i%2]
		var docs []knowledge.Doc
		for k := range rows {
			docs = append(docs, knowledge.Doc{Ref: fmt.Sprint(i, "-", k), Text: fmt.Sprintf("row %d about milk", k)})
		}
		w.putDocs(t, docs...)
		w.removeNotes(t, "0-0")
		done := make(chan error)
		go func() { done <- f(ctx) }()
		for busy := true; busy; {
			select {
			case err := <-done:
				failOnError(t, err)
				busy = false
			case <-time.After(time.Duration(1+i) * time.Millisecond):
				w.ix.Damage()
			}
		}
	}
	failOnError(t, w.ix.CatchUp(ctx))
	if s, err := w.ix.Stats(ctx); err != nil || s.Rows != 6*rows-1 || s.Behind != 0 {
		t.Errorf("Stats = %+v, %v", s, err)
	}
}

// A batch in progress when scorch is closed fails.
func TestWriter_BatchFailsAfterClose(t *testing.T) {
	w := openFixture(t)
	w.putDocs(t, knowledge.Doc{Ref: "a", Text: "milk"})
	failOnError(t, w.ix.CatchUp(t.Context()))
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	if err := w.ix.WriteClosed(ctx); err == nil || ctx.Err() != nil {
		t.Errorf("%v, %v", err, ctx.Err())
	}
	failOnError(t, w.ix.Compact(t.Context()))
	if got := w.findNotes(t, "milk"); got != "a" {
		t.Errorf("search after the repair: %q", got)
	}
}

// A damaged index that was moved aside, and the remains of an interrupted rebuild, contain deleted
// data. Erasing and rebuilding must remove both.
func TestForget_RemovesDamagedIndex(t *testing.T) {
	for name, f := range map[string]func(*indexFixture) func(context.Context) error{
		"compact": func(w *indexFixture) func(context.Context) error { return w.ix.Compact },
		"reindex": func(w *indexFixture) func(context.Context) error {
			return func(ctx context.Context) error { return w.ix.Reindex(ctx, nil) }
		},
	} {
		for _, sound := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, sound: %t", name, sound), func(t *testing.T) {
				w := openFixture(t)
				w.putDocs(t, knowledge.Doc{Ref: "secret", Text: "zzyzxqwerty"}, knowledge.Doc{Ref: "a", Text: "milk"})
				failOnError(t, w.ix.CatchUp(t.Context()))
				failOnError(t, w.ix.Close())
				failOnError(t, os.CopyFS(filepath.Join(w.dir, "77"), os.DirFS(filepath.Join(w.dir, "1")))) // remains of an interrupted rebuild
				if !sound {
					overwriteFiles(t, w, "root.bolt", []byte("no index at all"))
				}
				w.ix = nil
				w.reopenIndex(t, index.Options{})
				w.removeNotes(t, "secret")
				failOnError(t, f(w)(t.Context()))
				if left := filesContaining(t, w.dir, "zzyzxqwerty"); len(left) > 0 {
					t.Errorf("the deleted text is still in %v", left)
				}
				if _, err := os.Stat(filepath.Join(w.dir, "damaged")); !os.IsNotExist(err) {
					t.Errorf("set aside: %v", err)
				}
				if s, err := w.ix.Stats(t.Context()); err != nil || s.Rows != 1 {
					t.Errorf("Stats = %+v, %v", s, err)
				}
			})
		}
	}
}
