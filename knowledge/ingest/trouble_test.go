package ingest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"hob/autonomy/api"
	"hob/knowledge"
	"hob/platform/store"
	"hob/platform/store/storetest"
	"hob/platform/text/document"
	"hob/tools"
)

// A file counts as broken if the process crashed twice while reading it. One crash is not enough. A
// request by the user retries the file.
func TestReconcile_FileThatCrashesTheProcess(t *testing.T) {
	w := openFixture(t)
	w.putFile("/f/a.txt", "The valve opens at three bar.")
	dies := func() {
		t.Helper()
		e := w.disk["/f/a.txt"]
		one := &sourceWriter{l: w.l, ctx: t.Context(), r: &activeReading{}, in: Input{Source: "file:/f/a.txt", Name: "a.txt", Folder: "/f", Content: []byte(w.text["/f/a.txt"]), Size: e.Size, Modified: e.Modified}}
		one.sum = hashBytes(one.in.Content)
		failOnError(t, one.beginSource()) // simulates a crash after the source was marked as being read
	}
	dies()
	if r := w.reconcileFolder(); r.Documents != 1 || len(r.Skipped) > 0 {
		t.Fatalf("after one crash: %+v", r)
	}
	w.putFile("/f/a.txt", "The valve opens at seven bar, and this takes Hob down.")
	dies()
	dies()
	for range 2 {
		if r := w.reconcileFolder(); len(r.Skipped) != 1 || !strings.Contains(r.Skipped[0].Reason, "crashed the program twice") {
			t.Fatalf("after two crashes: %+v", r)
		}
	}
	if list, err := w.l.Documents(t.Context(), api.Query{State: "failed", Limit: 10}); err != nil || len(list) == 0 || !strings.Contains(w.listChunks(), "three bar") {
		t.Errorf("%+v, %v; stored: %s", list, err, w.listChunks())
	}
	r, err := w.l.Ingest(t.Context(), FileOptions{Path: "/f/a.txt", Asked: true})
	failOnError(t, err)
	if r.Documents != 1 || !strings.Contains(w.listChunks(), "seven bar") {
		t.Errorf("after a request of the user: %+v", r)
	}
}

// failingDisk is a disk on which one file is temporarily unreadable.
type failingDisk struct {
	*ingestFixture
	path string
	err  error
}

func (f *failingDisk) ReadDocument(ctx context.Context, path string, limit int64) (knowledge.File, error) {
	if path == f.path && f.err != nil {
		return knowledge.File{}, f.err
	}
	return f.ingestFixture.ReadDocument(ctx, path, limit)
}

// A file that could not be read or stored because of a temporary error is ingested later, even if
// the file does not change.
func TestReconcile_RetriesAfterATemporaryError(t *testing.T) {
	t.Run("retries a file that is temporarily unreadable", func(t *testing.T) {
		w := openFixture(t)
		disk := &failingDisk{ingestFixture: w, path: "/f/a.txt", err: Retryable(errors.New("input/output error"))}
		w.l.opt.Files = disk
		w.putFile("/f/a.txt", "The valve opens at three bar.")
		w.putFile("/f/b.txt", "The spare key is with Ana.")
		r := w.reconcileFolder()
		if !r.again || r.Documents != 1 || len(r.Skipped) != 1 {
			t.Fatalf("%+v", r)
		}
		disk.err = nil
		if r = w.reconcileFolder(); r.again || !strings.Contains(w.listChunks(), "three bar") {
			t.Errorf("%+v, stored: %s", r, w.listChunks())
		}
	})
	t.Run("retries a file without read permission", func(t *testing.T) {
		w := openFixture(t)
		w.l.opt.Files = &failingDisk{ingestFixture: w, path: "/f/a.txt", err: tools.Errorf(tools.PolicyDenied, "it is protected")}
		w.putFile("/f/a.txt", "The valve opens at three bar.")
		if r := w.reconcileFolder(); r.again || len(r.Skipped) != 1 {
			t.Errorf("%+v", r)
		}
	})
	t.Run("returns the error of a full database", func(t *testing.T) {
		w := openFixture(t)
		w.putFile("/f/a.txt", "The valve opens at three bar.")
		failOnError(t, w.st.Write(t.Context(), func(tx *store.Tx) error {
			_, err := tx.Exec(`CREATE TRIGGER disk_full BEFORE INSERT ON doc_sources BEGIN SELECT RAISE(ABORT, 'database or disk is full'); END`)
			return err
		}))
		if _, err := w.l.Reconcile(t.Context(), Folder{Path: "/f"}, nil); err == nil || !strings.Contains(err.Error(), "disk is full") {
			t.Errorf("Reconcile = %v, want a disk full error", err)
		}
		if _, err := w.l.IngestChanged(t.Context(), Folder{Path: "/f"}, []string{"/f/a.txt"}); err == nil {
			t.Error("IngestChanged on a full disk returned no error")
		}
	})
	t.Run("does not blame the file if the reader cannot start", func(t *testing.T) {
		w := openFixture(t)
		w.l.opt.Limits.Helper = []string{"/nowhere/hob", document.Helper}
		w.putFile("/f/a.pdf", "%PDF-1.4\nnothing")
		if r := w.reconcileFolder(); !r.again || len(r.Skipped) != 1 {
			t.Errorf("%+v", r)
		}
		if list, err := w.l.Documents(t.Context(), api.Query{State: "failed", Limit: 10}); err != nil || len(list) > 0 {
			t.Errorf("the file was recorded as broken: %+v, %v", list, err)
		}
	})
}

// No change is missed, regardless of how many files change at once.
func TestNotices_MissNoChange(t *testing.T) {
	tests := []struct {
		name string
		do   func(n *pendingPaths)
		want int // number of reported paths
		all  bool
	}{
		{"some", func(n *pendingPaths) { n.addPath("/f/a"); n.addPath("/f/b") }, 2, false},
		{"maximum number of pending paths", func(n *pendingPaths) { addManyPaths(n, maxNews) }, maxNews, false},
		{"too many pending paths", func(n *pendingPaths) { addManyPaths(n, maxNews+1) }, 0, true},
		{"missed changes", func(n *pendingPaths) { n.addPath("/f/a"); n.markEverything() }, 0, true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			n := &pendingPaths{wake: make(chan struct{}, 1)}
			tt.do(n)
			paths, all := n.takePending()
			if len(paths) != tt.want || all != tt.all {
				t.Errorf("%d paths, all: %t", len(paths), all)
			}
			if paths, all = n.takePending(); len(paths) > 0 || all {
				t.Error("takePending returned the same paths twice")
			}
		})
	}
}

func addManyPaths(n *pendingPaths, count int) {
	for i := range count {
		n.addPath(fmt.Sprint("/f/", i))
	}
}

// Scans over all files use the partial indexes.
func TestQueries_UsePartialIndexes(t *testing.T) {
	storetest.FileOnly(t, "EXPLAIN QUERY PLAN")
	w := openFixture(t)
	for query, index := range map[string]string{movedQuery: "doc_sources_digest", inQuery: "doc_sources_folder"} {
		args := []any{[]byte("x"), "", "/f"}[:strings.Count(query, "?")]
		rows, err := w.st.Reader(t.Context()).Query(`EXPLAIN QUERY PLAN `+query, args...)
		failOnError(t, err)
		defer func() { _ = rows.Close() }()
		var plan []string
		for rows.Next() {
			var a, b, c int
			var detail string
			failOnError(t, rows.Scan(&a, &b, &c, &detail))
			plan = append(plan, detail)
		}
		failOnError(t, rows.Err())
		if !slices.ContainsFunc(plan, func(s string) bool { return strings.Contains(s, "USING INDEX "+index) }) {
			t.Errorf("%s: %q", query, plan)
		}
	}
}
