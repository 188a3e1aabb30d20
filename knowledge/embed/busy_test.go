package embed_test

import (
	"context"
	"testing"

	"hob/autonomy/llm"
	"hob/knowledge"
	"hob/knowledge/embed/embedtest"
)

// atWork is an embedder during whose first call something happens.
type atWork struct {
	llm.Embedder
	during func()
}

func (b *atWork) Embed(ctx context.Context, texts []string) ([][]float32, llm.Usage, error) {
	if f := b.during; f != nil {
		b.during = nil
		f()
	}
	return b.Embedder.Embed(ctx, texts)
}

// Who forgets or begins anew does not wait for an embedder that is at work, and
// what it made of a forgotten text is not kept.
func TestForgetWhileTheEmbedderWorks(t *testing.T) {
	w := newWorld(t, embedtest.Options{})
	b := &atWork{Embedder: w.opt.Embedder}
	w.opt.Embedder = b
	w.open()
	w.put(knowledge.Doc{Ref: "tea", Text: "green tea"})
	w.catchUp()
	secret := knowledge.Doc{Ref: "secret", Text: "kestrel 9981 opens the cabin"}
	w.put(secret, knowledge.Doc{Ref: "car", Text: "a red car"})
	b.during = func() { // with the call under way
		w.remove("secret")
		if _, err := w.Forget(t.Context()); err != nil {
			t.Error(err)
		}
	}
	w.catchUp()
	if holds(t, w.dir, embedtest.Packed(w.opt.DocumentPrefix+secret.Text, embedtest.Options{})) {
		t.Error("the vector of what was forgotten is in the folder")
	}
	w.put(knowledge.Doc{Ref: "bus", Text: "a blue bus"})
	b.during = func() {
		if err := w.Reindex(t.Context()); err != nil {
			t.Error(err)
		}
	}
	w.catchUp()
	if s := w.stats(); s.Held != 3 {
		t.Errorf("stats: %+v", s)
	}
	w.digest()
}
