package rerank

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"hob/autonomy/llm"
	"hob/knowledge"
)

const rerankSchema = `{"type":"object","properties":{"order":{"type":"array","items":{"type":"integer"}}},"required":["order"],"additionalProperties":false}`

// Reranker implements knowledge.Reranker.
type Reranker struct{ o Options }

var _ knowledge.Reranker = (*Reranker)(nil)

// NewReranker returns a reranker.
func NewReranker(o Options) (*Reranker, error) {
	if o.Model == nil {
		return nil, errors.New("rerank: a model is required")
	}
	return &Reranker{o.withDefaults()}, nil
}

// Rerank implements knowledge.Reranker. The results that the model names come first, in the order
// of the model. The other results follow in their previous order. Scores are between 0 and 1.
func (r *Reranker) Rerank(ctx context.Context, text string, hits []knowledge.Hit) ([]float64, error) {
	var out struct {
		Order *[]int `json:"order"`
	}
	shown := hits[:min(len(hits), r.o.Hits)]
	f := &llm.Format{Name: "order", Schema: json.RawMessage(rerankSchema)}
	err := r.o.askModel(ctx, rerankText, f, text, shown, &out)
	switch {
	case errors.Is(err, errCannot):
		return orderScores(nil, len(hits)), nil
	case err != nil:
		return nil, err
	case out.Order == nil:
		return nil, errors.New("the model returned no order")
	}
	seen := map[int]bool{}
	for _, n := range *out.Order {
		if n < 1 || n > len(shown) || seen[n] {
			return nil, fmt.Errorf("the model's order contains result %d, but there are only %d results", n, len(shown))
		}
		seen[n] = true
	}
	return orderScores(*out.Order, len(hits)), nil
}

// orderScores returns scores that sort n hits in this order, with the remaining hits last.
func orderScores(order []int, n int) []float64 {
	scores := make([]float64, n)
	next := 0
	put := func(i int) {
		scores[i] = 1 - float64(next)/float64(n)
		next++
	}
	for _, k := range order {
		put(k - 1)
	}
	for i := range scores {
		if scores[i] == 0 {
			put(i)
		}
	}
	return scores
}
