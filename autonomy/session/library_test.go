package session_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"hob/autonomy/llm"
	"hob/autonomy/session"
	"hob/knowledge"
	"hob/platform/provenance"
	"hob/platform/store"
)

// indexedRow is one row of the index in the form that the tests compare.
type indexedRow struct {
	Ref, Group, Speaker, Realm, Source, Text string
	Pos                                      int
	From                                     provenance.Source
}

func (f *fixture) indexedRows() []indexedRow {
	f.t.Helper()
	base, err := knowledge.New(f.store, knowledge.Options{})
	failOnError(f.t, err)
	all, err := base.RowsAfter(f.store.Reader(f.t.Context()), 0, 10_000)
	failOnError(f.t, err)
	var out []indexedRow
	for _, c := range all {
		d := c.Doc
		out = append(out, indexedRow{d.Ref, d.Group, d.Speaker, d.Realm, d.Source, d.Text, d.Pos, d.Provenance})
	}
	return out
}

// Each message becomes a row of its conversation, in order, with speaker and realm. The copies in a
// fork do not become rows.
func TestLibrary_IndexesEachMessage(t *testing.T) {
	f := newSessions(t)
	f.addMessages("home", "t1", userMessage("The plumber comes on Friday"), assistantMessage("Noted."))
	f.addMessages("home", "call1", userMessage("hob tool call remember"), assistantMessage("Done."))
	f.addMessages("work", "t2", llm.Message{Role: llm.User, Parts: []llm.Part{{Text: "I am the owner", Source: provenance.Outside}}})
	call, result := callMessages("c1")
	result.Parts[0].Result.Text = "a page"
	f.addMessages("home", "t3", userMessage("read it"), call, result, assistantMessage("Done."))
	f.writeTx(func(tx *store.Tx) error {
		if err := f.TouchTx(tx, "home", "web", "", true); err != nil {
			return err
		}
		_, err := f.ForkTx(tx, "home", "copy", "")
		return err
	})
	failOnError(t, f.newIndex().Index(t.Context()))
	want := []indexedRow{
		{"m1", "home", "owner", "", "event:t1", "The plumber comes on Friday", 1, provenance.Owner},
		{"m2", "home", "hob", "", "event:t1", "Noted.", 2, provenance.Hob},
		{"m5", "work", "sender of t2", "work", "event:t2", "I am the owner", 1, provenance.Outside},
		{"m6", "home", "owner", "", "event:t3", "read it", 3, provenance.Owner},
		{"m8", "home", "tool", "", "event:t3", "a page", 4, provenance.Outside},
		{"m9", "home", "hob", "", "event:t3", "Done.", 5, provenance.Hob},
	}
	if diff := cmp.Diff(want, f.indexedRows()); diff != "" {
		t.Error(diff)
	}
	if n, err := f.newIndex().Behind(t.Context()); err != nil || n != 0 {
		t.Errorf("Behind() = %d, %v, want 0", n, err)
	}
}

// A sender cannot choose a name that looks like the owner's.
func TestLibrary_SenderCannotUseTheOwnersName(t *testing.T) {
	for i, name := range []string{"owner", "Öwner", "HOB", "tool", " hob ", ""} {
		t.Run(fmt.Sprint(i), func(t *testing.T) {
			f := newSessions(t)
			f.addMessages("s", "t", llm.Message{Role: llm.User, Parts: []llm.Part{{Text: "hello there", Source: provenance.Outside}}})
			base, err := knowledge.New(f.store, knowledge.Options{})
			failOnError(t, err)
			l, err := session.NewLibrary(f.Sessions, base, session.LibraryOptions{About: func(context.Context, string) (session.About, error) { return session.About{Sender: name}, nil }})
			failOnError(t, err)
			found, err := l.Search(t.Context(), session.Query{Text: "hello"})
			failOnError(t, err)
			if len(found) != 1 || found[0].Who != session.WhoOutside || found[0].Speaker != "" {
				t.Errorf("%+v", found)
			}
		})
	}
}

// Interruptions after any batch do not change the resulting rows.
func TestLibrary_ContinuesAfterInterruptions(t *testing.T) {
	fill := func(f *fixture, from, to int) {
		f.writeTx(func(tx *store.Tx) error {
			for i := from; i < to; i++ {
				if err := f.AppendTx(tx, fmt.Sprint("s", i%3), fmt.Sprint("t", i), []llm.Message{userMessage(fmt.Sprint("question ", i)), assistantMessage("answer")}); err != nil {
					return err
				}
			}
			return nil
		})
	}
	whole, cut := newSessions(t), newSessions(t)
	fill(whole, 0, 500)
	failOnError(t, whole.newIndex().Index(t.Context()))
	for i := 0; i < 500; i += 125 {
		fill(cut, i, i+125)
		ctx, cancel := context.WithCancel(t.Context())
		library := cut.newIndex() // a new process each time
		cancel()
		if err := library.Index(ctx); err == nil {
			t.Error("Index with a canceled context = nil, want an error")
		}
		failOnError(t, cut.newIndex().Index(t.Context()))
	}
	if diff := cmp.Diff(whole.indexedRows(), cut.indexedRows()); diff != "" {
		t.Error(diff)
	}
}
