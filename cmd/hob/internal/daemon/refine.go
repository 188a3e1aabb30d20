package daemon

import (
	"context"

	"hob/autonomy/llm"
	"hob/knowledge"
	"hob/knowledge/refine"
)

// refined adds the model reranking of search results, if configured.
func (d *Daemon) refined(o *knowledge.Options) error {
	k := d.opt.Config.Knowledge
	if k.Corrective != "off" {
		c, err := refine.NewCorrector(refine.Options{Model: d.refiner(k.Corrective), Timeout: k.RefineTimeout.Duration, Hits: k.RerankHits})
		if err != nil {
			return err
		}
		o.Corrector = c
	}
	if k.Reranker != "off" {
		r, err := refine.NewReranker(refine.Options{Model: d.refiner(k.Reranker), Timeout: k.RefineTimeout.Duration, Hits: k.RerankHits})
		if err != nil {
			return err
		}
		o.Reranker, o.RerankHits = r, k.RerankHits
	}
	return nil
}

// refiner is the model of a name, "auto" for the one in force.
func (d *Daemon) refiner(name string) func(context.Context) (llm.Model, error) {
	return func(ctx context.Context) (llm.Model, error) {
		if name == "auto" {
			m, _, err := d.brain.standing(ctx)
			return m, err
		}
		return d.models.named(name)
	}
}
