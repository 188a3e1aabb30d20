package llm_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"hob/autonomy/llm"
)

func TestResponseAdd(t *testing.T) {
	cat := llm.Image{MIME: "image/png", Data: []byte("cat")}
	events := []llm.Event{
		textDelta("A "), textDelta("cat"),
		{Kind: llm.TextDelta, Signature: "s1"},
		textDelta("and"),
		{Kind: llm.ImageDone, Image: cat, Signature: "s2"},
		textDelta("done"),
		{Kind: llm.CallDone, Call: llm.ToolCall{ID: "1", Name: "add"}, Signature: "s3"},
		{Kind: llm.Done, Stop: llm.EndTurn},
	}
	var r llm.Response
	for _, e := range events {
		r.Add(e)
	}
	want := []llm.Part{
		{Text: "A cat", Signature: "s1"},
		{Text: "and"},
		{Image: &cat, Signature: "s2"},
		{Text: "done"},
		{Call: &llm.ToolCall{ID: "1", Name: "add"}, Signature: "s3"},
	}
	if d := cmp.Diff(want, r.Parts); d != "" {
		t.Error(d)
	}
	if d := cmp.Diff([]llm.Image{cat}, r.Images()); d != "" {
		t.Error(d)
	}
}

// TestRetry_NotAfterAPicture: after a picture was passed to the consumer there is no retry.
func TestRetry_NotAfterAPicture(t *testing.T) {
	picture := step{events: []llm.Event{{Kind: llm.ImageDone, Image: llm.Image{MIME: "image/png"}}}, err: newError(llm.Network, 0)}
	for name, wrap := range map[string]func(llm.Model) llm.Model{
		"retry":    func(m llm.Model) llm.Model { return llm.Retry(m, llm.RetryOptions{}) },
		"fallback": func(m llm.Model) llm.Model { return llm.Fallback(m, m) },
	} {
		s := &steps{list: []step{picture, goodStep()}}
		r, err := collectResponse(wrap(s))
		if llm.KindOf(err) != llm.Network || s.calls != 1 || len(r.Images()) != 1 {
			t.Errorf("%s: %d pictures after %d calls, %v", name, len(r.Images()), s.calls, err)
		}
	}
}
