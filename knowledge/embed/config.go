package embed

import (
	"context"
	"os"

	"hob/autonomy/config"
	"hob/knowledge"
	"hob/platform/store"
)

// Open returns the vectors that the configuration requires. It sets the prefixes, the limits and
// the first pass in the options. With embeddings = "off" it returns nil and removes the vectors,
// because without updates they would keep data about deleted text.
func Open(ctx context.Context, c config.Knowledge, o Options) (*Vectors, error) {
	if c.Embeddings == "off" {
		return nil, removeUnused(ctx, o)
	}
	o.Chars, o.Batch, o.QueryTimeout = c.EmbeddingChars, c.EmbeddingBatch, c.QueryTimeout.Duration
	o.FirstPass, o.Rescored = c.VectorFirstPass, c.VectorRescored
	o.QueryPrefix, o.DocumentPrefix = Prefixes(o.Model)
	if c.QueryPrefix != Auto {
		o.QueryPrefix = c.QueryPrefix
	}
	if c.DocumentPrefix != Auto {
		o.DocumentPrefix = c.DocumentPrefix
	}
	return New(o)
}

// removeUnused deletes vectors that are no longer updated.
func removeUnused(ctx context.Context, o Options) error {
	base, err := knowledge.New(o.Store, knowledge.Options{})
	if err != nil {
		return err
	}
	if _, err := os.Stat(o.Path); err == nil {
		if err := Remove(o.Path); err != nil {
			return err
		}
		o.Log.Info("vectors removed: [knowledge] embeddings is off")
	}
	if told, err := base.AckedChange(o.Store.Reader(ctx), Name); err != nil || told == 0 {
		return err
	}
	return o.Store.Write(ctx, func(tx *store.Tx) error { return base.RemoveConsumerTx(tx, Name) })
}
