package store

import (
	"context"
	"database/sql"
)

// Querier runs queries. A Tx also sees its own uncommitted writes; a Reader sees only committed
// data. Code that only reads should accept a Querier, so that it works with both.
type Querier interface {
	Query(query string, args ...any) (*sql.Rows, error)
	QueryRow(query string, args ...any) *sql.Row
}

// Reader returns a Querier that uses the read pool and is bound to ctx.
func (s *Store) Reader(ctx context.Context) Querier { return reader{ctx: ctx, s: s} }

type reader struct {
	ctx context.Context
	s   *Store
}

func (r reader) Query(query string, args ...any) (*sql.Rows, error) {
	rows, err := r.s.r.QueryContext(r.ctx, query, args...)
	return rows, r.s.markIfDamaged(classifyError(err))
}

func (r reader) QueryRow(query string, args ...any) *sql.Row {
	return r.s.r.QueryRowContext(r.ctx, query, args...)
}
