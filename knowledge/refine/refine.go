// Package refine lets a model look at what a search in the memory found: a
// Corrector judges whether it answers the question and says what else to search
// for, a Reranker puts it in order. Both implement contracts of package
// knowledge, and both are off unless the owner names a model.
//
// What was found may come from anybody. It stands within a fence, the model has
// no tools, and all it can do is to name other words to search for, or numbers.
// What it says is read strictly; anything else is an error, with which the
// caller leaves the findings as they were. Budget, limits and retries are those
// of the model that is handed in.
//
// A Describer has a model say what is on a picture among the owner's documents.
package refine

import (
	"cmp"
	"context"
	_ "embed" // the texts
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"hob/autonomy/llm"
	"hob/knowledge"
	"hob/platform/fence"
	"hob/platform/phrase"
	"hob/platform/provenance"
)

//go:embed correct.md
var correctText string

//go:embed rerank.md
var rerankText string

const (
	perHit     = 700  // characters of a finding that the model gets
	maxAnswer  = 600  // tokens
	maxQuery   = 2000 // bytes of a question
	maxAgain   = 300  // characters of what else is searched for
	answerSize = 8000 // bytes of an answer that are looked at
)

// Options of NewCorrector and NewReranker. Model is required.
type Options struct {
	// Model is asked for at each call. One that costs nothing because it cannot
	// judge (the built-in brain) leaves everything as it is.
	Model   func(ctx context.Context) (llm.Model, error)
	Timeout time.Duration // of a call, default 8 s
	Hits    int           // how many findings the model gets, default 20
}

func (o Options) filled() Options {
	o.Timeout = cmp.Or(o.Timeout, 8*time.Second)
	o.Hits = cmp.Or(o.Hits, 20)
	return o
}

// errCannot is a model that cannot judge.
var errCannot = errors.New("the configured model cannot rate results")

// ask puts the question with its findings to the model and decodes the object
// that it answers with.
func (o Options) ask(ctx context.Context, system string, f *llm.Format, text string, hits []knowledge.Hit, out any) error {
	m, err := o.Model(ctx)
	if err != nil {
		return err
	}
	switch info := m.Info(); {
	case info.Provider == "offline":
		return errCannot
	case info.Acts:
		return fmt.Errorf("%s is an external agent and cannot be used for this; configure a model", info.Name())
	case !info.Structured:
		f = nil
	}
	ctx, cancel := context.WithTimeout(ctx, o.Timeout)
	defer cancel()
	resp, err := llm.Collect(m.Stream(ctx, llm.Request{
		System: strings.TrimSpace(system), Messages: []llm.Message{{Role: llm.User, Parts: []llm.Part{{Text: findings(text, hits), Source: provenance.Outside}}}},
		NoTools: true, MaxTokens: maxAnswer, Format: f, Account: llm.Account{Purpose: llm.ForMemory},
	}))
	if err != nil {
		return err
	}
	return strict(resp.Text(), out)
}

// findings is the question and, fenced, what was found for it.
func findings(text string, hits []knowledge.Hit) string {
	var list strings.Builder
	for i, h := range hits {
		said := phrase.Cut(strings.Join(strings.Fields(h.Text), " "), perHit)
		fmt.Fprintf(&list, "[%d] ", i+1)
		if !h.At.IsZero() {
			list.WriteString(h.At.Format(time.DateOnly) + " ")
		}
		if h.Speaker != "" {
			list.WriteString(phrase.Cut(strings.Join(strings.Fields(h.Speaker), " "), 60) + ": ")
		}
		if h.Title != "" {
			list.WriteString(phrase.Cut(strings.Join(strings.Fields(h.Title), " "), 120) + ": ")
		}
		list.WriteString(said + "\n")
	}
	found := cmp.Or(list.String(), "(nothing was found)\n")
	if len(text) > maxQuery {
		text = strings.ToValidUTF8(text[:maxQuery], "")
	}
	return "The question: " + strconv.Quote(text) + "\n\n" + fence.Wrap(fence.New(found), found, "the memory", "")
}

// strict decodes an answer that is one JSON object, alone or in a block of code.
func strict(answer string, out any) error {
	s := strings.TrimSpace(answer)
	if body, ok := strings.CutPrefix(s, "```"); ok {
		body = strings.TrimPrefix(body, "json")
		s = strings.TrimSpace(strings.TrimSuffix(strings.TrimSpace(body), "```"))
	}
	if len(s) > answerSize {
		return fmt.Errorf("the model's answer is %d bytes long", len(s))
	}
	d := json.NewDecoder(strings.NewReader(s))
	d.DisallowUnknownFields()
	if err := d.Decode(out); err != nil || d.More() {
		return fmt.Errorf("the model's answer %.60q is not the requested object", answer)
	}
	return nil
}
