package llm

import (
	"context"
	"sync"
)

// LazyEmbedder creates an embedder on first use, for example because the key may be in a keychain.
// If creation fails, the call returns an Error of kind Unauthorized with the given remedy, and the
// next call tries again. It may be called concurrently.
type LazyEmbedder struct {
	Create func() (Embedder, error)
	Remedy string

	mu   sync.Mutex
	made Embedder
}

// Embed implements Embedder.
func (x *LazyEmbedder) Embed(ctx context.Context, texts []string) ([][]float32, Usage, error) {
	e, err := x.loadEmbedder()
	if err != nil {
		return nil, Usage{}, &Error{Kind: Unauthorized, Provider: "embeddings", Message: err.Error(), Remedy: x.Remedy, Whole: true, Err: err}
	}
	return e.Embed(ctx, texts)
}

func (x *LazyEmbedder) loadEmbedder() (e Embedder, err error) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.made == nil {
		if x.made, err = x.Create(); err != nil {
			x.made = nil
		}
	}
	return x.made, err
}
