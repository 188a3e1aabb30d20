package ingest

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"hob/knowledge"
	"hob/platform/store"
	"hob/platform/store/erase"
)

// hookedDisk is a disk that calls a function while a file is read.
type hookedDisk struct {
	*ingestFixture
	during func()
}

func (m hookedDisk) ReadDocument(ctx context.Context, path string, limit int64) (knowledge.File, error) {
	f, err := m.ingestFixture.ReadDocument(ctx, path, limit)
	if m.during != nil {
		m.during()
	}
	return f, err
}

func (w *ingestFixture) forgetRows(e *erase.Erasure) {
	w.t.Helper()
	failOnError(w.t, w.st.Write(w.t.Context(), func(tx *store.Tx) error {
		if _, err := w.l.opt.Base.Eraser().EraseTx(tx, e, e.Scrubber()); err != nil {
			return err
		}
		_, err := w.l.Eraser().EraseTx(tx, e, e.Scrubber())
		return err
	}))
}

// Data that is erased while a file is read is not stored again with the file's content.
func TestForget_WhileAFileIsRead(t *testing.T) {
	const secret = "Kestrel-9981 is the password.\n\nThe bins go out on Monday."
	tests := []struct {
		name  string
		known bool // the file was ingested before and has changed since
		e     erase.Erasure
		want  string // stored text
	}{
		{"source that was ingested before", true, erase.Erasure{ID: "e1", Sources: []string{"file:/f/a.txt"}}, ""},
		{"new source", false, erase.Erasure{ID: "e1", Sources: []string{"file:/f/a.txt"}}, ""},
		{"phrase in the name", true, erase.Erasure{ID: "e1", Phrases: []string{"/f/a.txt"}}, ""},
		{"phrase in the text", false, erase.Erasure{ID: "e1", Phrases: []string{"Kestrel-9981"}}, "Monday"},
		{"preview only", true, erase.Erasure{Sources: []string{"file:/f/a.txt"}}, "Kestrel-9981"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			w := openFixture(t)
			disk := &hookedDisk{ingestFixture: w}
			w.l.opt.Files = disk
			if tt.known {
				w.putFile("/f/a.txt", "Kestrel-1 was the password.")
				w.reconcileFolder()
			}
			w.putFile("/f/a.txt", secret)
			disk.during = func() {
				if tt.e.ID != "" {
					w.forgetRows(&tt.e)
					return
				}
				stop := errors.New("stop")
				err := w.st.Write(t.Context(), func(tx *store.Tx) error {
					_, err := w.l.Eraser().EraseTx(tx, &tt.e, tt.e.Scrubber())
					return errors.Join(err, stop)
				})
				if !errors.Is(err, stop) {
					t.Error(err)
				}
			}
			w.reconcileFolder()
			disk.during = nil
			w.reconcileFolder()
			got := w.listChunks()
			if tt.want == "" && got != "" || !strings.Contains(got, tt.want) {
				t.Errorf("stored: %s", got)
			}
			if tt.want != "Kestrel-9981" && strings.Contains(got, "Kestrel-9981") {
				t.Errorf("erased text was stored again: %s", got)
			}
		})
	}
}

// An erasure at any point while a long source is written removes the data.
func TestForget_WhileASourceIsWritten(t *testing.T) {
	var b strings.Builder
	for i := range 1200 {
		fmt.Fprintf(&b, "Paragraph %d about Kestrel-9981. %s\n\n", i, strings.Repeat("word ", 150))
	}
	for _, phrase := range []bool{true, false} {
		w := openFixture(t)
		w.putFile("/f/large.txt", b.String())
		e := &erase.Erasure{ID: "e1", Sources: []string{"file:/f/large.txt"}}
		if phrase {
			e = &erase.Erasure{ID: "e1", Phrases: []string{"Kestrel-9981"}}
		}
		at := w.disk["/f/large.txt"]
		in := Input{Source: "file:/f/large.txt", Name: "large.txt", Folder: "/f", Content: []byte(b.String()), Size: at.Size, Modified: at.Modified, Now: at.Modified}
		r := w.l.held.addReading(in.Realm, in.Source, in.Size, unixNanos(in.Modified))
		one := &sourceWriter{l: w.l, ctx: t.Context(), in: in, r: r, sum: hashBytes(in.Content)}
		failOnError(t, one.beginSource())
		docs, err := w.l.parseContent(t.Context(), &one.in, &Outcome{})
		failOnError(t, err)
		p, err := w.l.planDocument(w.st.Reader(t.Context()), one.in, docs[0], "")
		failOnError(t, err)
		failOnError(t, one.writeDocument(&p))
		if w.lastChange() == 0 || len(one.todo) == 0 {
			t.Fatal("the erasure did not run in the middle of the write")
		}
		w.forgetRows(e)
		if err := one.finishSource(); errors.Is(err, ErrForgotten) == phrase {
			t.Errorf("by phrase: %t; %v", phrase, err)
		}
		w.l.held.removeReading(r)
		w.reconcileFolder()
		got := w.listChunks()
		if strings.Contains(got, "Kestrel-9981") || (got == "") == phrase {
			t.Errorf("by phrase: %t; stored: %d bytes, %.300s", phrase, len(got), got)
		}
	}
}
