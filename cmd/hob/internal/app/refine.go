package app

import (
	"context"

	"hob/autonomy/llm"
	"hob/knowledge"
	"hob/knowledge/rerank"
)

// addReranker adds the model reranking of search results, if configured.
func (d *App) addReranker(o *knowledge.Options) error {
	k := d.opt.Config.Knowledge
	if k.Corrective != "off" {
		c, err := rerank.NewCorrector(rerank.Options{Model: d.rerankModel(k.Corrective), Timeout: k.RefineTimeout.Duration, Hits: k.RerankHits})
		if err != nil {
			return err
		}
		o.Corrector = c
	}
	if k.Reranker != "off" {
		r, err := rerank.NewReranker(rerank.Options{Model: d.rerankModel(k.Reranker), Timeout: k.RefineTimeout.Duration, Hits: k.RerankHits})
		if err != nil {
			return err
		}
		o.Reranker, o.RerankHits = r, k.RerankHits
	}
	return nil
}

// rerankModel is the model of a name, "auto" for the one in force.
func (d *App) rerankModel(name string) func(context.Context) (llm.Model, error) {
	return func(ctx context.Context) (llm.Model, error) {
		if name == "auto" {
			m, _, err := d.brain.defaultModel(ctx)
			return m, err
		}
		return d.models.modelNamed(name)
	}
}
