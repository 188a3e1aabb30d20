package knowledge

import (
	"cmp"
	"context"
	"fmt"

	"hob/platform/store"
	"hob/platform/text/sorting"
)

// Corrector checks the hits. It returns a better search text, or "" if the hits are sufficient. It
// may call a model.
type Corrector interface {
	Correct(ctx context.Context, text string, hits []Hit) (again string, err error)
}

// Reranker returns a score for each hit. The hits are sorted by these scores. It may call a model.
type Reranker interface {
	Rerank(ctx context.Context, text string, hits []Hit) ([]float64, error)
}

// improveAnswer lets the Corrector and the Reranker improve the answer.
func (b *Base) improveAnswer(ctx context.Context, q store.Querier, r Request, a *Answer) error {
	if b.opt.Corrector != nil {
		again, err := b.opt.Corrector.Correct(ctx, r.Text, a.Hits)
		if err == nil && again != "" {
			err = b.runCorrectiveRound(ctx, q, r, a, again)
		}
		if err != nil && ctx.Err() != nil {
			return err
		}
		if err != nil { // keep the hits of the first search
			a.Route.Reasons = append(a.Route.Reasons, "no second search: "+err.Error())
		}
	}
	if b.opt.Reranker == nil || len(a.Hits) < 2 {
		return nil
	}
	scores, err := b.opt.Reranker.Rerank(ctx, r.Text, a.Hits)
	if err != nil {
		return fmt.Errorf("rerank: %w", err)
	}
	if len(scores) != len(a.Hits) {
		return fmt.Errorf("rerank: got %d scores for %d hits", len(scores), len(a.Hits))
	}
	for i := range a.Hits {
		a.Hits[i].Parts = append(a.Hits[i].Parts, Part{"before reranking", a.Hits[i].Score}, Part{"model", scores[i]})
		a.Hits[i].Score = scores[i]
	}
	sorting.StableByFunc(a.Hits, func(x, y Hit) int { return cmp.Compare(y.Score, x.Score) })
	return nil
}

// runCorrectiveRound runs the corrective search and merges its hits into the answer.
func (b *Base) runCorrectiveRound(ctx context.Context, q store.Querier, r Request, a *Answer, text string) error {
	limit := r.Limit
	r.Text, r.History = text, false
	k := parseQuestion(text, r.Now)
	if k.route.Kind == RouteNone {
		return nil
	}
	g, err := b.gatherCandidates(q, r, k)
	if err == nil {
		err = b.byMeaning(ctx, g)
	}
	if err != nil {
		return err
	}
	more := Answer{}
	if err := b.buildHits(q, k, &more, g.rankRows(), limit); err != nil {
		return err
	}
	a.Route.Reasons = append(a.Route.Reasons, "second search for: "+text)
	a.Hits = fuseHits(a.Hits, more.Hits, b.tune.Meaning, limit)
	return nil
}

// fuseHits merges two lists of hits by reciprocal rank.
func fuseHits(first, second []Hit, slow, limit int) []Hit {
	all := map[int64]*Hit{}
	var order []*Hit
	for _, list := range [][]Hit{first, second} {
		for i, h := range list {
			v := 1 / float64(slow+i+1)
			if all[h.N] == nil {
				h.Score = 0
				all[h.N] = &h
				order = append(order, all[h.N])
			}
			all[h.N].Score += v
			all[h.N].Parts = append(all[h.N].Parts, Part{"rank in one search", v})
		}
	}
	sorting.StableByFunc(order, func(x, y *Hit) int { return cmp.Compare(y.Score, x.Score) })
	out := make([]Hit, 0, limit)
	for _, h := range order[:min(len(order), limit)] {
		out = append(out, *h)
	}
	return out
}
