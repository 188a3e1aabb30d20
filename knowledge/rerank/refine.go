// Package rerank improves memory search results with a model. A Corrector judges whether the
// results answer the question and returns further search words. A Reranker sorts the results. Both
// implement interfaces of package knowledge, and both are off unless the user configures a model.
//
// The results may contain untrusted text. They are fenced, the model has no tools, and it can only
// return search words or numbers. Its answer is parsed strictly. Any other answer is an error, and
// the caller keeps the results unchanged. The given model enforces budget, limits and retries.
//
// A Describer describes images among the user's documents.
package rerank

import (
	"cmp"
	"context"
	_ "embed" // embeds the texts
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"hob/autonomy/llm"
	"hob/knowledge"
	"hob/platform/provenance"
	"hob/platform/text/promptfence"
	"hob/platform/text/textnorm"
)

//go:embed correct.md
var correctText string

//go:embed rerank.md
var rerankText string

const (
	perHit     = 700  // characters per result in the prompt
	maxAnswer  = 600  // in tokens
	maxQuery   = 2000 // bytes of the question
	maxAgain   = 300  // characters of the new search text
	answerSize = 8000 // bytes of the answer to parse
)

// Options configures NewCorrector and NewReranker. Model is required.
type Options struct {
	// Model returns the model. It is called for each request. The built-in model cannot judge
	// results, so with it the results stay unchanged.
	Model   func(ctx context.Context) (llm.Model, error)
	Timeout time.Duration // time limit per call (default 8 s)
	Hits    int           // number of results in the prompt, default 20
}

func (o Options) withDefaults() Options {
	o.Timeout = cmp.Or(o.Timeout, 8*time.Second)
	o.Hits = cmp.Or(o.Hits, 20)
	return o
}

// errCannot reports that the model cannot judge results.
var errCannot = errors.New("the configured model cannot rate results")

// askModel sends the question and the results to the model and decodes the JSON object in its answer.
func (o Options) askModel(ctx context.Context, system string, f *llm.Format, text string, hits []knowledge.Hit, out any) error {
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
		System: strings.TrimSpace(system), Messages: []llm.Message{{Role: llm.User, Parts: []llm.Part{{Text: formatFindings(text, hits), Source: provenance.Outside}}}},
		NoTools: true, MaxTokens: maxAnswer, Format: f, Account: llm.Account{Purpose: llm.ForMemory},
	}))
	if err != nil {
		return err
	}
	return decodeAnswer(resp.Text(), out)
}

// formatFindings formats the question and the fenced results.
func formatFindings(text string, hits []knowledge.Hit) string {
	var list strings.Builder
	for i, h := range hits {
		said := textnorm.Ellipsize(strings.Join(strings.Fields(h.Text), " "), perHit)
		fmt.Fprintf(&list, "[%d] ", i+1)
		if !h.At.IsZero() {
			list.WriteString(h.At.Format(time.DateOnly) + " ")
		}
		if h.Speaker != "" {
			list.WriteString(textnorm.Ellipsize(strings.Join(strings.Fields(h.Speaker), " "), 60) + ": ")
		}
		if h.Title != "" {
			list.WriteString(textnorm.Ellipsize(strings.Join(strings.Fields(h.Title), " "), 120) + ": ")
		}
		list.WriteString(said + "\n")
	}
	found := cmp.Or(list.String(), "(nothing was found)\n")
	if len(text) > maxQuery {
		text = strings.ToValidUTF8(text[:maxQuery], "")
	}
	return "The question: " + strconv.Quote(text) + "\n\n" + promptfence.Wrap(promptfence.New(found), found, "the memory", "")
}

// decodeAnswer decodes an answer that consists of one JSON object, optionally in a code block.
func decodeAnswer(answer string, out any) error {
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
