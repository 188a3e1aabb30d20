package ingest

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"hob/knowledge"
	"hob/knowledge/store"
	"hob/platform/erase"
)

var _ erase.Eraser = (*Library)(nil)

// Tables implements erase.Eraser.
func (l *Library) Tables() []string {
	return []string{"doc_sources", "documents", "doc_folders", "documents_forgotten"}
}

// EraseTx implements erase.Eraser. A source that goes, or whose name holds a
// phrase, is not taken in again by itself before it changes: of it a digest of
// its name stays, and its size and time.
func (l *Library) EraseTx(tx *store.Tx, e *erase.Erasure, s *erase.Scrubber) (n erase.Erased, err error) {
	going, err := goingTx(tx, e, s)
	if err != nil {
		return n, err
	}
	for _, g := range going {
		m, err := l.eraseSourceTx(tx, g)
		if err != nil {
			return n, err
		}
		n = n.Add(m)
	}
	m, err := erase.Table{Name: "documents", Text: []string{"title", "author", "tags"}}.EraseTx(tx, e, s)
	if err != nil {
		return n, err
	}
	n = n.Add(m)
	m, err = erase.Table{Name: "doc_sources", Text: []string{"error"}}.EraseTx(tx, e, s)
	return n.Add(m), err
}

// goingTx are the sources that go.
func goingTx(tx *store.Tx, e *erase.Erasure, s *erase.Scrubber) (out []gone, err error) {
	rows, err := tx.Query(`SELECT n, realm, source, size, mtime FROM doc_sources`)
	if err != nil {
		return nil, fmt.Errorf("ingest: forget: %w", err)
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	for rows.Next() {
		var g gone
		if err := rows.Scan(&g.n, &g.realm, &g.source, &g.size, &g.mtime); err != nil {
			return nil, fmt.Errorf("ingest: forget: %w", err)
		}
		if slices.Contains(e.Sources, g.source) || s.Has(g.source) {
			out = append(out, g)
		}
	}
	return out, rows.Err()
}

type gone struct {
	n             int64
	realm, source string
	size, mtime   int64
}

func (l *Library) eraseSourceTx(tx *store.Tx, g gone) (n erase.Erased, err error) {
	ids, err := partsTx(tx, g.n)
	if err != nil {
		return n, fmt.Errorf("ingest: forget: %w", err)
	}
	for _, id := range ids {
		list, err := l.opt.Base.Group(tx, knowledge.KindChunk, id)
		if err != nil {
			return n, err
		}
		for _, c := range list {
			if err := l.opt.Base.UnindexTx(tx, c.Kind, c.Ref); err != nil {
				return n, err
			}
			n.Rows++
		}
	}
	for _, stmt := range []string{`DELETE FROM documents WHERE src = ?`, `DELETE FROM doc_sources WHERE n = ?`} {
		if _, err := tx.Exec(stmt, g.n); err != nil {
			return n, fmt.Errorf("ingest: forget: %w", err)
		}
		n.Rows++
	}
	_, err = tx.Exec(`INSERT OR REPLACE INTO documents_forgotten (place, size, mtime) VALUES (?, ?, ?)`, place(g.realm, g.source), g.size, g.mtime)
	if err != nil {
		return n, fmt.Errorf("ingest: forget: %w", err)
	}
	return n, nil
}

// Purge implements erase.Eraser: nothing lies outside of the database.
func (l *Library) Purge(context.Context, *erase.Erasure, *erase.Scrubber) (erase.Erased, error) {
	return erase.Erased{}, nil
}
