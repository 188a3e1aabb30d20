package ingest

import (
	"context"
	"crypto/sha256"
	"io/fs"
	"maps"
	"slices"
	"sync/atomic"

	"hob/knowledge"
)

func notExist() error { return notFoundError{fs.ErrNotExist} }

func (n notFoundError) Unwrap() error { return n.error }

func sortedPaths(m map[string]knowledge.File) []string { return slices.Sorted(maps.Keys(m)) }

// tiringContext is a context that is canceled after a number of checks.
type tiringContext struct {
	context.Context
	left atomic.Int64
}

func tiringAfter(ctx context.Context, looks int) *tiringContext {
	c := &tiringContext{Context: ctx}
	c.left.Store(int64(looks))
	return c
}

func (c *tiringContext) Err() error {
	if c.left.Add(-1) < 0 {
		return context.Canceled
	}
	return nil
}

func hashBytes(b []byte) []byte {
	s := sha256.Sum256(b)
	return s[:]
}
