package rerank

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"hob/autonomy/llm"
	"hob/knowledge"
	"hob/platform/text/textnorm"
)

const correctSchema = `{"type":"object","properties":{"answered":{"type":"boolean"},"search":{"type":"string"}},"required":["answered","search"],"additionalProperties":false}`

// Corrector implements knowledge.Corrector.
type Corrector struct{ o Options }

var _ knowledge.Corrector = (*Corrector)(nil)

// NewCorrector returns a corrector.
func NewCorrector(o Options) (*Corrector, error) {
	if o.Model == nil {
		return nil, errors.New("rerank: a model is required")
	}
	return &Corrector{o.withDefaults()}, nil
}

// Correct implements knowledge.Corrector.
func (c *Corrector) Correct(ctx context.Context, text string, hits []knowledge.Hit) (string, error) {
	var out struct {
		Answered *bool   `json:"answered"`
		Search   *string `json:"search"`
	}
	f := &llm.Format{Name: "verdict", Schema: json.RawMessage(correctSchema)}
	err := c.o.askModel(ctx, correctText, f, text, hits[:min(len(hits), c.o.Hits)], &out)
	switch {
	case errors.Is(err, errCannot):
		return "", nil
	case err != nil:
		return "", err
	case out.Answered == nil:
		return "", fmt.Errorf("the model did not report whether the question is answered")
	case *out.Answered || out.Search == nil:
		return "", nil
	}
	again := textnorm.Ellipsize(strings.Join(strings.Fields(*out.Search), " "), maxAgain)
	if strings.EqualFold(again, strings.Join(strings.Fields(text), " ")) {
		return "", nil // the same search would find the same hits
	}
	return again, nil
}
