package embed_test

import (
	"errors"
	"testing"

	"hob/knowledge"
	"hob/knowledge/embed"
	"hob/knowledge/embed/embedtest"
)

// Texts that are not docs are compared by meaning, and each is embedded once.
func TestSimilarities(t *testing.T) {
	w := newFixture(t, embedtest.Options{Same: []string{"invoice bill receipt"}})
	texts := []string{"handles the receipt", "waters the plants"}
	for range 2 {
		got, err := w.Similarities(t.Context(), "invoice", texts)
		if err != nil || len(got) != 2 || got[0] < got[1]+0.2 || got[0] > 1.001 {
			t.Fatalf("Similarities = %v, %v", got, err)
		}
	}
	var none *embed.Vectors
	if _, err := none.Similarities(t.Context(), "x", texts); !errors.Is(err, knowledge.ErrNoEmbedder) {
		t.Error(err)
	}
	if _, err := w.Similarities(t.Context(), "x", make([]string, 501)); err == nil {
		t.Error("too many texts are accepted")
	}
}
