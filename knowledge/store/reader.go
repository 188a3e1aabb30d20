package store

import (
	"context"
	"database/sql"
)

// Querier reads rows: a Tx sees its own writes, a Reader what is committed.
// Code that only reads takes one, so that it runs in either place.
type Querier interface {
	Query(query string, args ...any) (*sql.Rows, error)
	QueryRow(query string, args ...any) *sql.Row
}

// Reader binds the read pool to a context.
func (s *Store) Reader(ctx context.Context) Querier { return reader{ctx: ctx, s: s} }

type reader struct {
	ctx context.Context
	s   *Store
}

func (r reader) Query(query string, args ...any) (*sql.Rows, error) {
	rows, err := r.s.r.QueryContext(r.ctx, query, args...)
	return rows, r.s.met(classify(err))
}

func (r reader) QueryRow(query string, args ...any) *sql.Row {
	return r.s.r.QueryRowContext(r.ctx, query, args...)
}
