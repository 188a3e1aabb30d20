package knowledge

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"hob/platform/provenance"
	"hob/platform/store"
	"hob/platform/store/storetest"
)

// reader is a fake model that rates hits.
type reader struct {
	again string
	err   error
	seen  int
}

func (r *reader) Correct(context.Context, string, []Hit) (string, error) { return r.again, r.err }

func (r *reader) Rerank(_ context.Context, _ string, hits []Hit) ([]float64, error) {
	r.seen = len(hits)
	out := make([]float64, len(hits))
	for i := range out {
		out[i] = float64(i) / float64(len(hits))
	}
	return out, r.err
}

// fixedEmbedder is an embedder that finds one row or fails.
type fixedEmbedder struct {
	n   int64
	err error
}

func (v *fixedEmbedder) Nearest(context.Context, store.Querier, string, []string, []string, int) ([]TermMatch, error) {
	if v.err != nil {
		return nil, v.err
	}
	return []TermMatch{{N: v.n, Score: 0.9}}, nil
}

func TestModels_OnlyImproveResults(t *testing.T) {
	away := errors.New("nobody answers")
	for _, tt := range []struct {
		name   string
		opt    Options
		first  string // text of the best hit
		reason string
	}{
		{"none", Options{}, "row 0 of tea", ""},
		{"unavailable embedder", Options{Vectors: &fixedEmbedder{err: away}}, "row 0 of tea", "searched by words only: search by meaning: nobody answers"},
		{"second search", Options{Corrector: &reader{again: "garage"}}, "row 0 of tea", "second search for: garage"},
		{"failed second search", Options{Corrector: &reader{err: away}}, "row 0 of tea", "no second search: nobody answers"},
		{"failed reranker", Options{Reranker: &reader{err: away}}, "row 0 of tea", "not reranked: rerank: nobody answers"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			b, st := newFilledBase(t, tt.opt)
			a, err := b.Retrieve(t.Context(), st.Reader(t.Context()), Request{Text: "tea", Limit: 3, Meaning: true})
			if err != nil || len(a.Hits) != 3 || a.Hits[0].Text != tt.first || !strings.Contains(strings.Join(a.Route.Reasons, "\n"), tt.reason) {
				t.Errorf("Retrieve = %+v, %v", a, err)
			}
		})
	}
}

func TestRerank_SeesMoreThanTheLimit(t *testing.T) {
	m := &reader{}
	b, st := newFilledBase(t, Options{Reranker: m, RerankHits: 8})
	a, err := b.Retrieve(t.Context(), st.Reader(t.Context()), Request{Text: "tea", Limit: 3, Meaning: true})
	if err != nil || m.seen != 8 || len(a.Hits) != 3 || a.Hits[0].Score <= a.Hits[1].Score {
		t.Errorf("the model saw %d rows; %+v, %v", m.seen, a.Hits, err)
	}
	m.seen = 0
	if _, err := b.Retrieve(t.Context(), st.Reader(t.Context()), Request{Text: "tea", Limit: 3}); err != nil || m.seen > 0 {
		t.Errorf("a model was called without Meaning: %d hits, %v", m.seen, err)
	}
}

// A row that was found only by its meaning has no rank by words.
func TestMeaning_FindsRowsWithoutAWord(t *testing.T) {
	v := &fixedEmbedder{}
	b, st := newFilledBase(t, Options{Vectors: v})
	if err := st.Reader(t.Context()).QueryRow(`SELECT n FROM docs WHERE ref = 'car'`).Scan(&v.n); err != nil {
		t.Fatal(err)
	}
	a, err := b.Retrieve(t.Context(), st.Reader(t.Context()), Request{Text: "vehicle", Limit: 3, Meaning: true})
	if err != nil || len(a.Hits) != 1 || a.Hits[0].Ref != "car" {
		t.Fatalf("Retrieve = %+v, %v", a, err)
	}
	for _, p := range a.Hits[0].Parts {
		if p.Name == "rank by words" {
			t.Errorf("parts: %+v", a.Hits[0].Parts)
		}
	}
}

func newFilledBase(t *testing.T, o Options) (*Base, *store.Store) {
	t.Helper()
	st, err := storetest.Open(t.Context(), t.TempDir()+"/hob.db", Migrations(), store.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = st.Close() })
	b, err := New(st, o)
	if err != nil {
		t.Fatal(err)
	}
	err = st.Write(t.Context(), func(tx *store.Tx) error {
		for i := range 10 {
			more := strings.Repeat(" and more", i)
			if err := b.IndexTx(tx, Doc{Kind: "note", Ref: fmt.Sprint(i), Text: fmt.Sprintf("row %d of tea", i) + more, Provenance: provenance.Owner}); err != nil {
				return err
			}
		}
		return b.IndexTx(tx, Doc{Kind: "note", Ref: "car", Text: "the car is in the garage", Provenance: provenance.Owner})
	})
	if err != nil {
		t.Fatal(err)
	}
	return b, st
}
