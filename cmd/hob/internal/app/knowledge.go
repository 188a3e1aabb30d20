package app

import (
	"context"
	"os"
	"path/filepath"

	"hob/autonomy/agents"
	"hob/autonomy/llm"
	llmall "hob/autonomy/llm/all"
	"hob/autonomy/mind/extract"
	"hob/autonomy/mind/learn"
	"hob/knowledge"
	"hob/knowledge/embed"
	"hob/knowledge/graph"
	"hob/knowledge/index"
	"hob/knowledge/ingest"
	"hob/knowledge/rerank"
	"hob/platform/host/system"
	"hob/platform/store"
	"hob/platform/store/erase"
)

// openKnowledge creates the memory with its index, graph and vectors. The index and vector files
// are opened on first use.
func (d *App) openKnowledge(ctx context.Context) (err error) {
	c, paths := d.opt.Config.Knowledge, d.opt.Paths
	io := index.OptionsOf(c)
	io.Log = d.opt.Log
	if d.index, err = index.New(d.store, paths.Index(), io); err != nil {
		return err
	}
	if d.vectors, err = embed.Open(ctx, c, embed.Options{
		Path: filepath.Join(paths.Data, "vectors.db"), Store: d.store, Model: llmall.EmbedderName(c.Embeddings, d.providers), Log: d.opt.Log,
		Embedder: &llm.LazyEmbedder{Create: d.openEmbedder, Remedy: "check [knowledge] embeddings: hob doctor"},
	}); err != nil {
		return err
	}
	if d.graph, err = graph.New(graph.Options{
		Store: d.store, Region: func() string { return system.Country(os.Getenv, d.zone().String()) }, Log: d.opt.Log,
	}); err != nil {
		return err
	}
	home := d.opt.UserHome
	if home == "" {
		home, _ = os.UserHomeDir() // tools/files reports a missing home folder
	}
	o := knowledge.Options{
		Index: d.index, Graph: d.graph, Changed: d.wakeFollowers, FactsChanged: func() { d.memoryFiles.Wake() }, Tuning: index.TuningOf(c), HalfLife: c.Ranking.HalfLife.Duration,
		ForgetMost: c.ForgetMost, Events: d.bus.Inbox.EventsIn, Below: agents.EventsOf, Calls: d.bus.Ledger.CallIDs, Home: home,
		Parts: func(q store.Querier, source string) ([]string, error) { return d.documents.Parts(q, source) },
		Quoted: func(q store.Querier, e *erase.Erasure) ([]string, error) {
			return erase.QuotedTexts(d.listErasers(), q, e)
		},
	}
	if d.vectors != nil {
		o.Vectors = d.vectors
	}
	if err := rerank.Configure(&o, c, d.models.Lazy); err != nil {
		return err
	}
	d.base, err = knowledge.New(d.store, o)
	return err
}

// openEmbedder creates the configured embedder, with metering.
func (d *App) openEmbedder() (llm.Embedder, error) {
	raw, err := llmall.Embedder(d.opt.Config.Knowledge.Embeddings, d.providers)
	if err != nil {
		return nil, err
	}
	return d.usage.OpenEmbedder(raw, d.providers.Host)
}

// openDescriber creates the describer of pictures. It returns nil if descriptions are disabled.
func (d *App) openDescriber() (*rerank.Describer, error) {
	return rerank.OpenDescriber(d.opt.Config.Knowledge, d.visionModel, ingest.ErrLater)
}

// wakeFollowers wakes the indexes that are derived from the documents in the memory.
func (d *App) wakeFollowers() {
	d.index.Changed()
	d.graph.Wake()
	if d.vectors != nil {
		d.vectors.Changed()
	}
}

// knowledgeJobs returns the memory's background jobs.
func (d *App) knowledgeJobs() []func(context.Context) error {
	return []func(context.Context) error{
		d.index.Run, d.erasing.Run, d.extractor.Run,
		func(ctx context.Context) error { return d.graph.Run(ctx, d.base) },
		func(ctx context.Context) error { return d.base.RunExpiry(ctx, d.opt.Log) },
	}
}

// openLearning creates the parts that learn from turns: lessons, and facts that the user mentions.
func (d *App) openLearning(context.Context) (err error) {
	if d.learner, err = learn.New(learn.Options{Store: d.store, Bus: d.bus, Zone: d.zone, Log: d.opt.Log, Changed: func() { d.memoryFiles.Wake() }}); err != nil {
		return err
	}
	k := d.opt.Config.Knowledge
	d.extractor, err = extract.New(extract.Options{
		Store: d.store, Bus: d.bus, Base: d.base, Linker: d.graph, Model: d.models.Cheapest, Mode: k.Extraction, Turns: k.ExtractionTurns, Wait: k.ExtractionWait.Duration, RulesOnly: !d.isLongRunning(), Zone: d.zone, Log: d.opt.Log,
	})
	return err
}

// visionModel returns the cheapest model that can read pictures. A command without a daemon uses
// none, because it would have to wait for the model.
func (d *App) visionModel(ctx context.Context) (llm.Model, error) {
	if !d.isLongRunning() {
		return nil, nil
	}
	return d.models.CheapestVision(ctx)
}
