package extract

import (
	"context"
	"iter"
	"testing"

	"hob/autonomy/llm"
	"hob/autonomy/llm/llmtest"
	"hob/knowledge"
	"hob/platform/store"
	"hob/platform/store/erase"
)

// slowModel is a model that runs a function while it answers.
type slowModel struct {
	llm.Model
	meanwhile func()
}

func (s slowModel) Stream(ctx context.Context, r llm.Request) iter.Seq2[llm.Event, error] {
	s.meanwhile()
	return s.Model.Stream(ctx, r)
}

// Text that is erased while a model reads it is not stored. The rest of the turns is read again
// without it.
func TestExtract_StoresNothingErasedMeanwhile(t *testing.T) {
	h := openFixture(t)
	st, base, b := h.st, h.base, h.bus
	const answer = `{"items":[{"turn":1,"quote":"my gate is painted in Kestrel grey","text":"my gate is painted in Kestrel grey","kind":"fact"},
		{"turn":2,"quote":"Uwe next door does our roofs","text":"Uwe next door does our roofs","kind":"fact"}]}`
	const without = `{"items":[{"turn":2,"quote":"Uwe next door does our roofs","text":"Uwe next door does our roofs","kind":"fact"}]}`
	m := slowModel{llmtest.NewScripted(llmtest.Options{}, llmtest.Answer{Text: answer}, llmtest.Answer{Text: without}), func() {}}
	x := h.newExtractor(func(context.Context) (llm.Model, error) { return m, nil })
	ers := knowledge.NewErasing(st, knowledge.ErasingOptions{Erasers: func() []knowledge.Eraser { return []knowledge.Eraser{base.Eraser(), b.Eraser(), x.Eraser()} }})
	for i, text := range []string{"my gate is painted in Kestrel grey", "Uwe next door does our roofs"} {
		h.endMessage(x, string(rune('a'+i)), text)
	}
	read := func() int {
		t.Helper()
		list, err := x.selectPending(t.Context(), 1, 10)
		if err != nil {
			t.Fatal(err)
		}
		if len(list) > 0 {
			if err := x.askModel(t.Context(), list); err != nil {
				t.Fatal(err)
			}
		}
		return len(list)
	}
	forgot := false
	m.meanwhile = func() {
		if forgot {
			return
		}
		forgot = true
		err := st.Write(t.Context(), func(tx *store.Tx) error {
			_, err := ers.BeginTx(tx, base, erase.Erasure{Phrases: []string{"Kestrel grey"}}, "", true)
			return err
		})
		if err == nil {
			err = ers.FinishAll(t.Context())
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if n := read(); n != 2 || !forgot {
		t.Fatalf("%d turns were read, erased: %v", n, forgot)
	}
	if all, err := base.ListFacts(t.Context(), 10, true); err != nil || len(all) != 0 {
		t.Errorf("facts of the erased text: %+v, %v", all, err)
	}
	if n := read(); n != 2 {
		t.Errorf("%d turns will be read again, want 2", n)
	}
	all, err := base.ListFacts(t.Context(), 10, true)
	if err != nil || len(all) != 1 || all[0].Text != "Uwe next door does our roofs" {
		t.Errorf("ListFacts = %+v %v", all, err)
	}
}
