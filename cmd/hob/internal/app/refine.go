package app

import (
	"hob/knowledge"
	"hob/knowledge/rerank"
)

// addReranker adds the model reranking of search results, if configured.
func (d *App) addReranker(o *knowledge.Options) error {
	k := d.opt.Config.Knowledge
	if k.Corrective != "off" {
		c, err := rerank.NewCorrector(rerank.Options{Model: d.models.Lazy(k.Corrective), Timeout: k.RefineTimeout.Duration, Hits: k.RerankHits})
		if err != nil {
			return err
		}
		o.Corrector = c
	}
	if k.Reranker != "off" {
		r, err := rerank.NewReranker(rerank.Options{Model: d.models.Lazy(k.Reranker), Timeout: k.RefineTimeout.Duration, Hits: k.RerankHits})
		if err != nil {
			return err
		}
		o.Reranker, o.RerankHits = r, k.RerankHits
	}
	return nil
}
