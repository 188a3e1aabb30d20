package embed_test

import (
	"context"
	"testing"

	"hob/autonomy/llm"
	"hob/knowledge"
	"hob/knowledge/embed/embedtest"
)

// busyEmbedder is an embedder that runs a function during its first call.
type busyEmbedder struct {
	llm.Embedder
	during func()
}

func (b *busyEmbedder) Embed(ctx context.Context, texts []string) ([][]float32, llm.Usage, error) {
	if f := b.during; f != nil {
		b.during = nil
		f()
	}
	return b.Embedder.Embed(ctx, texts)
}

// Erasing and reindexing do not wait for a busy embedder, and the vector of an erased text is not
// stored.
func TestForget_WhileTheEmbedderWorks(t *testing.T) {
	w := newFixture(t, embedtest.Options{})
	b := &busyEmbedder{Embedder: w.opt.Embedder}
	w.opt.Embedder = b
	w.openVectors()
	w.putDocs(knowledge.Doc{Ref: "tea", Text: "green tea"})
	w.catchUp()
	secret := knowledge.Doc{Ref: "secret", Text: "kestrel 9981 opens the cabin"}
	w.putDocs(secret, knowledge.Doc{Ref: "car", Text: "a red car"})
	b.during = func() { // during the call
		w.removeNote("secret")
		if _, err := w.Forget(t.Context()); err != nil {
			t.Error(err)
		}
	}
	w.catchUp()
	if folderContains(t, w.dir, embedtest.Packed(w.opt.DocumentPrefix+secret.Text, embedtest.Options{})) {
		t.Error("the folder still contains the vector of an erased text")
	}
	w.putDocs(knowledge.Doc{Ref: "bus", Text: "a blue bus"})
	b.during = func() {
		if err := w.Reindex(t.Context()); err != nil {
			t.Error(err)
		}
	}
	w.catchUp()
	if s := w.currentStats(); s.Held != 3 {
		t.Errorf("stats: %+v", s)
	}
	w.currentDigest()
}
