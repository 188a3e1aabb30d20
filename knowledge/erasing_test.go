package knowledge_test

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"hob/knowledge"
	"hob/platform/provenance"
	"hob/platform/store"
	"hob/platform/store/storetest"
)

// erasureFixture is a base with facts. Its files can be searched for text.
type erasureFixture struct {
	st   *store.Store
	base *knowledge.Base
	ers  *knowledge.ErasureService
	dir  string
}

func newFixture(t *testing.T, texts ...string) erasureFixture {
	t.Helper()
	h := erasureFixture{dir: t.TempDir()}
	var err error
	if h.st, err = storetest.Open(t.Context(), filepath.Join(h.dir, "hob.db"), knowledge.Migrations(), store.Options{}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = h.st.Close() })
	if h.base, err = knowledge.New(h.st, knowledge.Options{}); err != nil {
		t.Fatal(err)
	}
	h.ers = knowledge.NewErasing(h.st, knowledge.ErasingOptions{Erasers: func() []knowledge.Eraser { return []knowledge.Eraser{h.base.Eraser()} }, Renew: h.st.RenewBackups})
	for _, text := range texts {
		err := h.st.Write(t.Context(), func(tx *store.Tx) error {
			_, err := h.base.RememberTx(tx, knowledge.Fact{Text: text, Provenance: provenance.Owner, Event: "ev-1"})
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return h
}

// forgetPhrase runs an erasure request in the same way as the program.
func (h erasureFixture) forgetPhrase(t *testing.T, f knowledge.ForgetRequest) knowledge.ErasureStatus {
	t.Helper()
	g, err := h.base.PlanErasure(h.st.Reader(t.Context()), f)
	if err != nil {
		t.Fatal(err)
	}
	var id string
	err = h.st.Write(t.Context(), func(tx *store.Tx) error {
		id, err = h.ers.BeginTx(tx, h.base, g.Erasure, "", false)
		return err
	})
	if err == nil {
		err = h.ers.FinishAll(t.Context())
	}
	if err != nil {
		t.Fatal(err)
	}
	s, err := h.ers.Status(t.Context(), id)
	if err != nil || s.State != knowledge.EraseDone {
		t.Fatalf("Status = %+v %v", s, err)
	}
	return s
}

// filesContaining returns the files that contain a text.
func (h erasureFixture) filesContaining(t *testing.T, text string) (in []string) {
	t.Helper()
	err := filepath.WalkDir(h.dir, func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		b, err := os.ReadFile(path)
		if bytes.Contains(bytes.ToLower(b), bytes.ToLower([]byte(text))) {
			in = append(in, d.Name())
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return in
}

func TestForget_LeavesNoByte(t *testing.T) {
	storetest.FileOnly(t, "the test reads the files of backups")
	h := newFixture(t, "Kestrel-9981 is the wifi password of the cabin", "the wifi password of the cabin is now Heron-1234", "Ana likes tea")
	for range 2 {
		if _, err := h.st.BackupNow(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	half := filepath.Join(h.dir, "backups", "hob-20260101T000000.000.db.part") // left behind by a killed process
	if err := os.WriteFile(half, []byte("Kestrel-9981"), 0o600); err != nil {
		t.Fatal(err)
	}
	if len(h.filesContaining(t, "Kestrel-9981")) == 0 {
		t.Fatal("the text was not found before the erasure")
	}
	s := h.forgetPhrase(t, knowledge.ForgetRequest{Query: "Kestrel-9981"})
	if s.Rows != 1 || s.Backups != 3 {
		t.Errorf("%+v", s)
	}
	if in := h.filesContaining(t, "Kestrel"); in != nil {
		t.Errorf("the text is still stored in %v", in)
	}
	left, err := h.base.ListFacts(t.Context(), 10, true)
	if err != nil || len(left) != 2 {
		t.Errorf("ListFacts = %v %v", left, err)
	}
}

func TestForget_FactWithItsPredecessors(t *testing.T) {
	h := newFixture(t, "Kestrel-9981 is the wifi password of the cabin", "the wifi password of the cabin is now Heron-1234", "Ana likes tea")
	facts, err := h.base.ListFacts(t.Context(), 10, false)
	if err != nil {
		t.Fatal(err)
	}
	h.forgetPhrase(t, knowledge.ForgetRequest{ID: facts[1].ID})
	for _, text := range []string{"Kestrel", "Heron", "wifi"} {
		if in := h.filesContaining(t, text); in != nil {
			t.Errorf("%s is still stored in %v", text, in)
		}
	}
}

func TestForget_Source(t *testing.T) {
	h := newFixture(t, "the code of the gate is 77120", "Ana likes tea")
	err := h.st.Write(t.Context(), func(tx *store.Tx) error {
		return h.base.IndexTx(tx, knowledge.Doc{Kind: knowledge.KindChunk, Ref: "d1/0", Text: "the pump room is green", Source: "mail:17", Provenance: provenance.Outside})
	})
	if err != nil {
		t.Fatal(err)
	}
	h.forgetPhrase(t, knowledge.ForgetRequest{Source: "mail:17"})
	if in := h.filesContaining(t, "pump room"); in != nil {
		t.Errorf("the text is still stored in %v", in)
	}
	h.forgetPhrase(t, knowledge.ForgetRequest{Source: "event:ev-1"})
	for _, text := range []string{"77120", "Ana"} {
		if in := h.filesContaining(t, text); in != nil {
			t.Errorf("%s is still stored in %v", text, in)
		}
	}
}

func TestForget_RejectsCommonText(t *testing.T) {
	h := newFixture(t, "Ana likes tea", "Bob likes tea")
	for _, f := range []knowledge.ForgetRequest{{Query: "a"}, {Query: "the"}, {Query: "what is it"}, {Query: "..."}} {
		if _, err := h.base.PlanErasure(h.st.Reader(t.Context()), f); !errors.Is(err, knowledge.ErrTooCommon) {
			t.Errorf("%+v: %v", f, err)
		}
	}
	long := knowledge.ForgetRequest{Query: strings.Repeat("tea ", 300)}
	if _, err := h.base.PlanErasure(h.st.Reader(t.Context()), long); !errors.Is(err, knowledge.ErrQueryTooLong) {
		t.Errorf("PlanErasure with 1200 characters = %v", err)
	}
	few, err := knowledge.New(h.st, knowledge.Options{ForgetMost: 1})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := few.PlanErasure(h.st.Reader(t.Context()), knowledge.ForgetRequest{Query: "likes tea"}); !errors.Is(err, knowledge.ErrTooCommon) {
		t.Error(err)
	}
	for _, f := range []knowledge.ForgetRequest{{}, {ID: "f1", Query: "x"}, {Source: "everything"}, {Source: "mail:"}, {ID: "f-none"}} {
		if _, err := h.base.PlanErasure(h.st.Reader(t.Context()), f); err == nil {
			t.Errorf("plan for %+v returned no error", f)
		}
	}
}
