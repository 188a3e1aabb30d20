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
func (s *Store) Reader(ctx context.Context) Querier { return reader{ctx: ctx, db: s.r} }

type reader struct {
	ctx context.Context
	db  *sql.DB
}

func (r reader) Query(query string, args ...any) (*sql.Rows, error) {
	rows, err := r.db.QueryContext(r.ctx, query, args...)
	return rows, classify(err)
}

func (r reader) QueryRow(query string, args ...any) *sql.Row {
	return r.db.QueryRowContext(r.ctx, query, args...)
}
