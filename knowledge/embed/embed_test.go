package embed_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"hob/autonomy/llm"
	"hob/autonomy/llm/openai"
	"hob/knowledge"
	"hob/knowledge/embed"
	"hob/knowledge/embed/embedtest"
	"hob/platform/provenance"
	"hob/platform/store"
	"hob/platform/store/storetest"
)

func TestMain(m *testing.M) {
	if isChild() {
		os.Exit(1)
	}
	goleak.VerifyTestMain(m)
}

// vectorFixture is a base with its vectors.
type vectorFixture struct {
	*embed.Vectors
	t    *testing.T
	dir  string
	st   *store.Store
	base *knowledge.Base
	srv  *embedtest.Server
	opt  embed.Options
}

func newFixture(t *testing.T, o embedtest.Options) *vectorFixture {
	t.Helper()
	w := &vectorFixture{t: t, dir: t.TempDir(), srv: embedtest.New(t, o)}
	st, err := storetest.Open(t.Context(), filepath.Join(w.dir, "hob.db"), knowledge.Migrations(), store.Options{})
	failOnError(t, err)
	w.st = st
	t.Cleanup(func() { _ = st.Close() })
	w.base, err = knowledge.New(st, knowledge.Options{})
	failOnError(t, err)
	w.opt = embed.Options{
		Path: filepath.Join(w.dir, "vectors.db"), Store: st, Model: "local/hash", DocumentPrefix: "document: ", QueryPrefix: "query: ",
		QueryTimeout: 30 * time.Second,
	}
	m, err := openai.New(openai.Options{Provider: "local", BaseURL: w.srv.URL, Model: "hash", HTTP: w.srv.Client()})
	failOnError(t, err)
	w.opt.Embedder = m
	w.openVectors()
	t.Cleanup(func() { _ = w.Close() })
	return w
}

// openVectors opens the vectors like a new process.
func (w *vectorFixture) openVectors() {
	w.t.Helper()
	if w.Vectors != nil {
		failOnError(w.t, w.Close())
	}
	var err error
	w.Vectors, err = embed.New(w.opt)
	failOnError(w.t, err)
}

func (w *vectorFixture) putDocs(docs ...knowledge.Doc) {
	w.t.Helper()
	failOnError(w.t, w.st.Write(context.Background(), func(tx *store.Tx) error {
		for _, d := range docs {
			if d.Kind == "" {
				d.Kind = "note"
			}
			d.Provenance, d.At = provenance.Owner, time.Unix(1, 0)
			if err := w.base.IndexTx(tx, d); err != nil {
				return err
			}
		}
		return nil
	}))
}

func (w *vectorFixture) removeNote(ref string) {
	w.t.Helper()
	failOnError(w.t, w.st.Write(context.Background(), func(tx *store.Tx) error { return w.base.UnindexTx(tx, "note", ref) }))
}

func (w *vectorFixture) catchUp() {
	w.t.Helper()
	failOnError(w.t, w.CatchUp(w.t.Context(), nil))
}

// findNearest calls Nearest and returns the refs of the rows.
func (w *vectorFixture) findNearest(text string, kinds, realms []string, limit int) []string {
	w.t.Helper()
	q := w.st.Reader(w.t.Context())
	hits, err := w.Nearest(w.t.Context(), q, text, kinds, realms, limit)
	failOnError(w.t, err)
	var out []string
	for _, h := range hits {
		var ref string
		failOnError(w.t, q.QueryRow(`SELECT ref FROM docs WHERE n = ?`, h.N).Scan(&ref))
		out = append(out, ref)
	}
	return out
}

func (w *vectorFixture) currentDigest() string {
	w.t.Helper()
	sum, _, err := w.Digest(w.t.Context())
	failOnError(w.t, err)
	return sum
}

func (w *vectorFixture) currentStats() embed.Stats {
	w.t.Helper()
	s, err := w.Stats(w.t.Context())
	failOnError(w.t, err)
	return s
}

func failOnError(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

var (
	notes = []string{"note"}
	mine  = []string{""}
)

func TestMeaning(t *testing.T) {
	w := newFixture(t, embedtest.Options{Same: []string{"car automobile vehicle", "keys key"}})
	w.putDocs(
		knowledge.Doc{Ref: "tea", Text: "green tea stands in the kitchen"},
		knowledge.Doc{Ref: "car", Text: "the automobile is in the garage"},
		knowledge.Doc{Ref: "other", Text: "the vehicle of somebody else", Realm: "work"},
		knowledge.Doc{Ref: "old", Kind: "retired", Text: "the automobile stands outside"},
	)
	if got := w.findNearest("where is my car", notes, mine, 3); got != nil || w.srv.Calls() != 0 {
		t.Errorf("search without vectors: got %v with %d calls", got, w.srv.Calls())
	}
	w.catchUp()
	for _, tt := range []struct {
		name          string
		text          string
		kinds, realms []string
		limit         int
		want          []string
	}{
		{"no word in common", "car", notes, mine, 1, []string{"car"}},
		{"another realm", "car", notes, []string{"work"}, 3, []string{"other"}},
		{"all realms", "car", notes, []string{"", "work"}, 2, []string{"car", "other"}},
		{"another kind", "car", []string{"retired"}, mine, 3, []string{"old"}},
		{"an unknown kind", "car", []string{"task"}, mine, 3, nil},
		{"blank", "  ", notes, mine, 3, nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got := w.findNearest(tt.text, tt.kinds, tt.realms, tt.limit)
			slices.Sort(got)
			if !slices.Equal(got, tt.want) {
				t.Errorf("got %v", got)
			}
		})
	}
	for _, text := range w.srv.Texts() {
		if !strings.HasPrefix(text, "document: ") && !strings.HasPrefix(text, "query: ") {
			t.Errorf("embedded without a prefix: %q", text)
		}
	}
	if s := w.currentStats(); s.Held != 4 || s.Behind != 0 || s.Anew || s.Numbers != 256 {
		t.Errorf("stats: %+v", s)
	}
}

func TestQuery_RecentOneCostsNothing(t *testing.T) {
	w := newFixture(t, embedtest.Options{})
	w.putDocs(knowledge.Doc{Ref: "a", Text: "tea"})
	w.catchUp()
	before := w.srv.Calls()
	for range 3 {
		w.findNearest("tea", notes, mine, 1)
	}
	if n := w.srv.Calls() - before; n != 1 {
		t.Errorf("%d calls", n)
	}
}

func TestFollow(t *testing.T) {
	w := newFixture(t, embedtest.Options{})
	var docs []knowledge.Doc
	for i := range 700 { // more than one chunk, and more than one read
		docs = append(docs, knowledge.Doc{Ref: fmt.Sprint("n", i), Text: fmt.Sprintf("note number%d about thing%d", i, i%7)})
	}
	w.putDocs(docs...)
	w.catchUp()
	first := w.currentDigest()
	texts := len(w.srv.Texts())
	if texts != 700 {
		t.Errorf("embedded %d texts for 700 rows", texts)
	}
	// An unchanged text is not embedded again after its row moves.
	docs[5].Realm = "work"
	docs[6].At = time.Unix(7, 0)
	w.putDocs(docs[5], docs[6])
	w.catchUp()
	if n := len(w.srv.Texts()) - texts; n != 0 {
		t.Errorf("embedded %d unchanged texts again", n)
	}
	if got := w.findNearest("number5", notes, []string{"work"}, 1); !slices.Equal(got, []string{"n5"}) {
		t.Errorf("search in the new realm: %v", got)
	}
	if got := w.findNearest("number5", notes, mine, 1); slices.Contains(got, "n5") {
		t.Errorf("search in the old realm: %v", got)
	}
	docs[5].Realm = ""
	w.putDocs(docs[5])
	for i := range 300 {
		w.removeNote(fmt.Sprint("n", 3*i%700))
	}
	docs[100].Text = "something quite different"
	w.putDocs(docs[100])
	w.catchUp()
	if got := w.findNearest("quite different", notes, mine, 1); !slices.Equal(got, []string{"n100"}) {
		t.Errorf("changed: %v", got)
	}
	held := w.currentDigest()
	if held == first {
		t.Error("the digest did not change")
	}
	failOnError(t, w.Reindex(t.Context()))
	if s := w.currentStats(); !s.Anew || s.Held == 0 {
		t.Errorf("during a rebuild: %+v", s)
	}
	w.catchUp()
	if again := w.currentDigest(); again != held {
		t.Error("vectors differ after Reindex")
	}
	failOnError(t, w.Close())
	failOnError(t, os.Remove(w.opt.Path))
	w.openVectors()
	w.catchUp()
	if again := w.currentDigest(); again != held {
		t.Error("vectors differ after a rebuild from scratch")
	}
}

func TestOpen_UnusableFiles(t *testing.T) {
	for name, spoil := range map[string]func(path string) error{
		"no database": func(path string) error {
			return os.WriteFile(path, []byte(strings.Repeat("nothing of use ", 3000)), 0o600)
		},
		"cut off": func(path string) error { return os.Truncate(path, 20_000) },
		"empty":   func(path string) error { return os.Truncate(path, 0) },
		"missing": os.Remove,
		"of another version": func(path string) error {
			b, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			b[63] = 99 // changes user_version, see https://www.sqlite.org/fileformat.html#user_version_number
			return os.WriteFile(path, b, 0o600)
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := newFixture(t, embedtest.Options{})
			w.putDocs(knowledge.Doc{Ref: "tea", Text: "green tea"}, knowledge.Doc{Ref: "car", Text: "a car"})
			w.catchUp()
			held := w.currentDigest()
			failOnError(t, w.Close())
			failOnError(t, spoil(w.opt.Path))
			w.openVectors()
			for range 2 { // the damage may only be noticed on first use
				if w.CatchUp(t.Context(), nil) == nil {
					break
				}
			}
			if got := w.currentDigest(); got != held {
				t.Error("the rebuilt vectors differ")
			}
		})
	}
}

// A restored older vector file lacks changes that the store has dropped, so all rows are scanned
// again.
func TestOpen_OlderFile(t *testing.T) {
	w := newFixture(t, embedtest.Options{})
	w.putDocs(knowledge.Doc{Ref: "tea", Text: "green tea"})
	w.catchUp()
	failOnError(t, w.Close())
	old, err := os.ReadFile(w.opt.Path)
	failOnError(t, err)
	w.openVectors()
	w.putDocs(knowledge.Doc{Ref: "car", Text: "a car"})
	w.removeNote("tea")
	w.catchUp()
	held := w.currentDigest()
	failOnError(t, w.Close())
	failOnError(t, os.WriteFile(w.opt.Path, old, 0o600))
	w.openVectors()
	w.catchUp()
	if w.currentDigest() != held {
		t.Error("vectors differ after restoring an older file")
	}
}

// A restored older store has different changes with the same numbers if it was used since then.
func TestOpen_OlderStore(t *testing.T) {
	storetest.FileOnly(t, "the test restores a backup of the file")
	for name, f := range map[string]func(*vectorFixture) error{
		"followed":  func(*vectorFixture) error { return nil },
		"forgotten": func(w *vectorFixture) error { _, err := w.Forget(t.Context()); return err },
	} {
		t.Run(name, func(t *testing.T) {
			w := newFixture(t, embedtest.Options{})
			w.putDocs(knowledge.Doc{Ref: "tea", Text: "green tea"})
			w.catchUp()
			copied := filepath.Join(t.TempDir(), "copy.db")
			failOnError(t, w.st.Backup(t.Context(), copied))
			lost := knowledge.Doc{Ref: "car", Text: "kestrel 9981"}
			w.putDocs(lost)
			w.catchUp()
			failOnError(t, w.Close())
			path := w.st.Path()
			failOnError(t, w.st.Close())
			failOnError(t, os.Rename(copied, path))
			st, err := storetest.Open(t.Context(), path, knowledge.Migrations(), store.Options{})
			failOnError(t, err)
			t.Cleanup(func() { _ = st.Close() })
			w.st, w.opt.Store = st, st
			w.base, err = knowledge.New(st, knowledge.Options{})
			failOnError(t, err)
			w.putDocs(knowledge.Doc{Ref: "tea", Text: "black tea"})
			w.Vectors, err = embed.New(w.opt)
			failOnError(t, err)
			t.Cleanup(func() { _ = w.Close() })
			failOnError(t, f(w))
			w.catchUp()
			if folderContains(t, w.dir, embedtest.Packed(w.opt.DocumentPrefix+lost.Text, embedtest.Options{})) {
				t.Error("a deleted row still has a vector")
			}
			if s := w.currentStats(); s.Held != 1 || s.Behind != 0 {
				t.Errorf("%+v", s)
			}
			if got := w.findNearest("black tea", notes, mine, 1); !slices.Equal(got, []string{"tea"}) {
				t.Errorf("got %v", got)
			}
		})
	}
}

func TestOpen_OtherModel(t *testing.T) {
	w := newFixture(t, embedtest.Options{})
	w.putDocs(knowledge.Doc{Ref: "tea", Text: "green tea"}, knowledge.Doc{Ref: "car", Text: "a car"})
	w.catchUp()
	w.opt.Model = "local/other"
	w.openVectors()
	if got := w.findNearest("tea", notes, mine, 3); got != nil {
		t.Errorf("vectors of two models were compared: %v", got)
	}
	if s := w.currentStats(); !s.Anew {
		t.Errorf("stats: %+v", s)
	}
	w.catchUp()
	if got := w.findNearest("tea", notes, mine, 1); !slices.Equal(got, []string{"tea"}) {
		t.Errorf("got %v", got)
	}
	// The model returns vectors of another length under the same name.
	w.srv.Numbers(32)
	w.putDocs(knowledge.Doc{Ref: "bike", Text: "a bike"})
	if _, err := w.Nearest(t.Context(), w.st.Reader(t.Context()), "bike", notes, mine, 1); err == nil || !strings.Contains(err.Error(), "hob memory reindex") {
		t.Errorf("got %v", err)
	}
	for range 3 {
		if w.CatchUp(t.Context(), nil) == nil {
			break
		}
	}
	if s := w.currentStats(); s.Held != 3 || s.Numbers != 32 || s.Behind != 0 {
		t.Errorf("stats: %+v", s)
	}
}

func TestRun_ErrorsOnlyDelay(t *testing.T) {
	w := newFixture(t, embedtest.Options{})
	w.putDocs(knowledge.Doc{Ref: "tea", Text: "green tea"})
	w.srv.Down(true)
	if err := w.CatchUp(t.Context(), nil); llm.KindOf(err) != llm.Unavailable {
		t.Errorf("got %v", err)
	}
	if s := w.currentStats(); s.Held != 0 || s.Trouble == "" || s.Behind != 1 {
		t.Errorf("stats: %+v", s)
	}
	w.srv.Down(false)
	w.catchUp()
	if s := w.currentStats(); s.Held != 1 || s.Trouble != "" {
		t.Errorf("stats: %+v", s)
	}
	w.srv.Down(true)
	if _, err := w.Nearest(t.Context(), w.st.Reader(t.Context()), "tea", notes, mine, 1); err == nil {
		t.Error("a query without a vector returned rows")
	}
}

func TestQuery_DoesNotWaitForASlowEmbedder(t *testing.T) {
	w := newFixture(t, embedtest.Options{})
	w.putDocs(knowledge.Doc{Ref: "tea", Text: "green tea"})
	w.catchUp()
	w.srv.Slow(time.Hour)
	w.opt.QueryTimeout = time.Millisecond
	w.openVectors()
	for i := range 4 {
		if _, err := w.Nearest(t.Context(), w.st.Reader(t.Context()), fmt.Sprint("tea ", i), notes, mine, 1); !errors.Is(err, embed.ErrSlow) {
			t.Fatalf("question %d: %v", i, err)
		}
	}
	w.srv.CloseClientConnections()
}

func TestRun_RejectedTexts(t *testing.T) {
	w := newFixture(t, embedtest.Options{Longest: 2000, Refused: "unspeakable"})
	w.opt.Chars = 100_000
	w.openVectors()
	for i := range 40 {
		w.putDocs(knowledge.Doc{Ref: fmt.Sprint(i), Text: fmt.Sprintf("row%d of many", i)})
	}
	w.putDocs(
		knowledge.Doc{Ref: "long", Text: "a long story " + strings.Repeat("and so on ", 5000)},
		knowledge.Doc{Ref: "bad", Text: "something unspeakable"},
	)
	w.catchUp()
	if s := w.currentStats(); s.Held != 41 || s.Refused != 1 {
		t.Errorf("stats: %+v", s)
	}
	if got := w.findNearest("story", notes, mine, 1); !slices.Equal(got, []string{"long"}) {
		t.Errorf("got %v", got)
	}
	before := w.srv.Calls()
	w.catchUp()
	if n := w.srv.Calls() - before; n != 0 {
		t.Errorf("%d calls for refused texts", n)
	}
}

// If the embedder rejects every text, the embedder has failed, and no text counts as rejected.
func TestRun_EmbedderRejectsEverything(t *testing.T) {
	w := newFixture(t, embedtest.Options{Longest: 1})
	w.putDocs(knowledge.Doc{Ref: "tea", Text: "green tea"}, knowledge.Doc{Ref: "car", Text: "a car"})
	if err := w.CatchUp(t.Context(), nil); llm.KindOf(err) != llm.BadRequest && llm.KindOf(err) != llm.Overflow {
		t.Errorf("got %v", err)
	}
	if s := w.currentStats(); s.Refused != 0 || s.Behind != 2 {
		t.Errorf("stats: %+v", s)
	}
}

func TestForget_LeavesNothing(t *testing.T) {
	w := newFixture(t, embedtest.Options{})
	var docs []knowledge.Doc
	for i := range 60 {
		docs = append(docs, knowledge.Doc{Ref: fmt.Sprint("n", i), Text: fmt.Sprintf("note number%d", i)})
	}
	secret := knowledge.Doc{Ref: "secret", Text: "kestrel 9981 opens the cabin"}
	w.putDocs(append(docs, secret)...)
	w.catchUp()
	packed := embedtest.Packed(w.opt.DocumentPrefix+secret.Text, embedtest.Options{})
	if !folderContains(t, w.dir, packed) {
		t.Fatal("the vector is missing before the test")
	}
	w.srv.Down(true) // erasing needs no embedder
	w.removeNote("secret")
	n, err := w.Forget(t.Context())
	if err != nil || n != 1 {
		t.Errorf("%d rows, %v", n, err)
	}
	if folderContains(t, w.dir, packed) {
		t.Error("the vector is still in the folder")
	}
	w.srv.Down(false)
	w.catchUp()
	if s := w.currentStats(); s.Held != 60 {
		t.Errorf("stats: %+v", s)
	}
	w.currentDigest()
}

// Erasing during a full scan checks all rows.
func TestForget_DuringAFullScan(t *testing.T) {
	w := newFixture(t, embedtest.Options{})
	secret := knowledge.Doc{Ref: "secret", Text: "kestrel 9981 opens the cabin"}
	w.putDocs(knowledge.Doc{Ref: "tea", Text: "green tea"}, secret)
	w.catchUp()
	failOnError(t, w.Reindex(t.Context()))
	secret.Text = "something else"
	w.putDocs(secret)
	failOnError(t, w.st.Write(t.Context(), func(tx *store.Tx) error { // as if another consumer had processed the changes too
		_, err := tx.Exec(`DELETE FROM doc_changes`)
		return err
	}))
	if n, err := w.Forget(t.Context()); err != nil || n != 1 {
		t.Errorf("%d rows, %v", n, err)
	}
	w.catchUp()
	if got := w.findNearest("something else", notes, mine, 1); !slices.Equal(got, []string{"secret"}) {
		t.Errorf("got %v", got)
	}
}

func TestRun(t *testing.T) {
	w := newFixture(t, embedtest.Options{})
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- w.Run(ctx) }()
	for i := range 5 {
		ref := fmt.Sprint("n", i)
		w.putDocs(knowledge.Doc{Ref: ref, Text: "note number" + ref})
		w.Changed()
		deadline := time.Now().Add(60 * time.Second)
		for !slices.Contains(w.findNearest("number"+ref, notes, mine, 1), ref) {
			if time.Now().After(deadline) {
				t.Fatal("Run does not follow changes")
			}
			time.Sleep(5 * time.Millisecond)
		}
	}
	stop()
	failOnError(t, <-ended)
}

// folderContains reports whether a file in the folder contains part of the bytes.
func folderContains(t *testing.T, dir string, b []byte) bool {
	t.Helper()
	files, err := os.ReadDir(dir)
	failOnError(t, err)
	for _, f := range files {
		have, err := os.ReadFile(filepath.Join(dir, f.Name()))
		failOnError(t, err)
		for i := 0; i+16 <= len(b); i += 16 {
			if strings.Contains(string(have), string(b[i:i+16])) {
				return true
			}
		}
	}
	return false
}
