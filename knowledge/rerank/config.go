package rerank

import (
	"context"

	"hob/autonomy/config"
	"hob/autonomy/llm"
	"hob/knowledge"
)

// Configure adds the configured corrector and reranker to the options of the memory. model returns,
// for the name of a model, the function that provides it.
func Configure(o *knowledge.Options, c config.Knowledge, model func(name string) func(context.Context) (llm.Model, error)) error {
	if c.Corrective != "off" {
		corrector, err := NewCorrector(Options{Model: model(c.Corrective), Timeout: c.RefineTimeout.Duration, Hits: c.RerankHits})
		if err != nil {
			return err
		}
		o.Corrector = corrector
	}
	if c.Reranker != "off" {
		reranker, err := NewReranker(Options{Model: model(c.Reranker), Timeout: c.RefineTimeout.Duration, Hits: c.RerankHits})
		if err != nil {
			return err
		}
		o.Reranker, o.RerankHits = reranker, c.RerankHits
	}
	return nil
}
