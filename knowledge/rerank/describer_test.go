package rerank

import (
	"context"
	"errors"
	"iter"
	"strings"
	"testing"
	"time"

	"hob/autonomy/llm"
	"hob/autonomy/llm/llmtest"
)

var errLater = errors.New("later")

const png = "\x89PNG\r\n\x1a\n"

// failingModel is a model whose calls fail.
type failingModel struct {
	llm.Model
	err error
}

func (f failingModel) Stream(context.Context, llm.Request) iter.Seq2[llm.Event, error] {
	return func(yield func(llm.Event, error) bool) { yield(llm.Event{}, f.err) }
}

func newDescriber(t *testing.T, m llm.Model, now *time.Time) *Describer {
	t.Helper()
	d, err := NewDescriber(DescriberOptions{
		Later: errLater, Now: func() time.Time { return *now }, Model: func(context.Context) (llm.Model, error) { return m, nil },
	})
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func TestDescribe(t *testing.T) {
	for _, tc := range []struct {
		name  string
		info  llm.Info
		data  string
		fails *llm.Error
		text  string
		want  string // part of the answer or of the error
		later bool
	}{
		{"image", llm.Info{Provider: "p", Vision: true}, png, nil, "A cat.", "A cat.", false},
		{"empty answer", llm.Info{Provider: "p", Vision: true}, png, nil, " ", "refused to describe", false},
		{"model without vision", llm.Info{Provider: "p"}, png, nil, "A cat.", "no model with image input", true},
		{"built-in model", llm.Info{Provider: "offline", Vision: true}, png, nil, "A cat.", "no model with image input", true},
		{"external agent", llm.Info{Provider: "p", Vision: true, Acts: true}, png, nil, "A cat.", "no model with image input", true},
		{"unsupported format", llm.Info{Provider: "p", Vision: true}, "BM", nil, "A cat.", "convert the image", false},
		{"too large", llm.Info{Provider: "p", Vision: true}, png + strings.Repeat("x", maxPicture), nil, "A cat.", "save a smaller version", false},
		{"budget used up", llm.Info{Provider: "p", Vision: true}, png, &llm.Error{Kind: llm.Budget, Provider: "p", Message: "used up"}, "", "used up", true},
		{"refused by the API", llm.Info{Provider: "p", Vision: true}, png, &llm.Error{Kind: llm.BadRequest, Provider: "p", Message: "bad image"}, "", "bad image", false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			now := time.Unix(1_800_000_000, 0)
			var m llm.Model = llmtest.NewScripted(llmtest.Options{Info: tc.info}, llmtest.Answer{Match: "Describe", Text: tc.text, Times: -1})
			if tc.fails != nil {
				m = failingModel{m, tc.fails}
			}
			d := newDescriber(t, m, &now)
			text, err := d.Describe(t.Context(), []byte(tc.data))
			if err != nil {
				text = err.Error()
			}
			if !strings.Contains(text, tc.want) || errors.Is(err, errLater) != tc.later {
				t.Errorf("%q, %v", text, err)
			}
			if tc.fails == nil {
				return
			}
			if ready := d.Ready(t.Context()); (ready != nil) != tc.later {
				t.Errorf("Ready after the failure = %v", ready)
			}
			now = now.Add(2 * time.Minute)
			if err := d.Ready(t.Context()); err != nil {
				t.Errorf("Ready after the pause = %v", err)
			}
		})
	}
}
