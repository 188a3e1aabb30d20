package app

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"sync"

	"hob/autonomy/agents"
	"hob/autonomy/llm"
	llmall "hob/autonomy/llm/all"
	"hob/autonomy/usage"
	"hob/knowledge"
	"hob/knowledge/embed"
	"hob/platform/store"
)

// openVectors creates the vector search, nil if [knowledge] embeddings is off. It opens and
// calls nothing before the first use.
func (d *App) openVectors(ctx context.Context) (err error) {
	k, path := d.opt.Config.Knowledge, filepath.Join(d.opt.Paths.Data, "vectors.db")
	if k.Embeddings == "off" {
		return d.dropVectors(ctx, path)
	}
	x := &embedder{d: d, name: k.Embeddings}
	o := embed.Options{
		Path: path, Store: d.store, Embedder: x, Model: d.embedderName(),
		Chars: k.EmbeddingChars, Batch: k.EmbeddingBatch, QueryTimeout: k.QueryTimeout.Duration,
		FirstPass: k.VectorFirstPass, Rescored: k.VectorRescored, Log: d.opt.Log,
	}
	o.QueryPrefix, o.DocumentPrefix = embed.Prefixes(o.Model)
	if k.QueryPrefix != embed.Auto {
		o.QueryPrefix = k.QueryPrefix
	}
	if k.DocumentPrefix != embed.Auto {
		o.DocumentPrefix = k.DocumentPrefix
	}
	d.vectors, err = embed.New(o)
	return err
}

// embedderName is "provider/model".
func (d *App) embedderName() string {
	return llmall.EmbedderName(d.opt.Config.Knowledge.Embeddings, llmall.AutoOptions{Configured: llmall.ConfiguredProviders(d.opt.Config, nil)})
}

// dropVectors deletes vectors that are no longer updated, because deleted text would stay in
// them.
func (d *App) dropVectors(ctx context.Context, path string) error {
	base, err := knowledge.New(d.store, knowledge.Options{})
	if err != nil {
		return err
	}
	if _, err := os.Stat(path); err == nil {
		if err := embed.Remove(path); err != nil {
			return err
		}
		d.opt.Log.Info("vectors removed: [knowledge] embeddings is off")
	}
	if told, err := base.AckedChange(d.store.Reader(ctx), embed.Name); err != nil || told == 0 {
		return err
	}
	return d.store.Write(ctx, func(tx *store.Tx) error { return base.RemoveConsumerTx(tx, embed.Name) })
}

// knowledgeOptions returns the options of the memory.
func (d *App) knowledgeOptions() (knowledge.Options, error) {
	home := d.opt.UserHome
	if home == "" {
		home, _ = os.UserHomeDir() // tools/files reports a missing one
	}
	o := knowledge.Options{
		Index: d.index, Graph: d.graph, Changed: d.docsChanged, Tuning: Tuning(d.opt.Config.Knowledge), HalfLife: d.opt.Config.Knowledge.Ranking.HalfLife.Duration,
		ForgetMost: d.opt.Config.Knowledge.ForgetMost, Events: d.bus.Inbox.EventsIn, Below: agents.EventsOf, Calls: d.bus.Ledger.CallIDs, Home: home,
		Parts: func(q store.Querier, source string) ([]string, error) { return d.documents.Parts(q, source) },
	}
	if d.vectors != nil {
		o.Vectors = d.vectors
	}
	return o, d.addReranker(&o)
}

// docsChanged wakes the indexes that are derived from the documents.
func (d *App) docsChanged() {
	d.index.Changed()
	d.graph.Wake()
	if d.vectors != nil {
		d.vectors.Changed()
	}
}

// closeVectors closes them when there are any.
func (d *App) closeVectors() error {
	if d.vectors == nil {
		return nil
	}
	return d.vectors.Close()
}

// embedder creates an embedder on first use, because its key may be in a keychain. A failure is
// returned by each call, which tries again.
type embedder struct {
	d    *App
	name string

	mu   sync.Mutex
	made llm.Embedder
}

// Embed implements llm.Embedder.
func (x *embedder) Embed(ctx context.Context, texts []string) ([][]float32, llm.Usage, error) {
	e, err := x.loadEmbedder()
	if err != nil {
		return nil, llm.Usage{}, &llm.Error{
			Kind: llm.Unauthorized, Provider: "embeddings", Message: err.Error(), Remedy: "check [knowledge] embeddings: hob doctor", Whole: true, Err: err,
		}
	}
	return e.Embed(ctx, texts)
}

func (x *embedder) loadEmbedder() (llm.Embedder, error) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.made != nil {
		return x.made, nil
	}
	raw, err := llmall.Embedder(x.name, x.d.providers)
	if err != nil {
		return nil, err
	}
	m, ok := raw.(llm.Model)
	if !ok {
		return nil, errors.New("not an embedding model")
	}
	info := m.Info()
	metered := x.d.usage.MeterEmbedder(raw, info, llm.Account{}, usage.MeterOptions{Host: x.d.providers.Host(info.Provider)})
	x.made = llm.EmbedBreaker(metered, info, llm.BreakerOptions{Failures: 3})
	return x.made, nil
}
