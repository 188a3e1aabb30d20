package ingest

import (
	"context"
	"io/fs"
	"maps"
	"slices"
)

func notExist() error { return notThere{fs.ErrNotExist} }

func (n notThere) Unwrap() error { return n.error }

func sorted(m map[string]Entry) []string { return slices.Sorted(maps.Keys(m)) }

// tiring is a context that ends after it was looked at so often.
type tiring struct {
	context.Context
	left int
}

func (c *tiring) Err() error {
	if c.left--; c.left < 0 {
		return context.Canceled
	}
	return nil
}
