package ingest

import (
	"errors"
	"fmt"
	"slices"
	"sync"

	"hob/knowledge"
	"hob/platform/store"
	"hob/platform/store/erase"
)

// Eraser returns the eraser of documents and folders.
func (l *Library) Eraser() erase.Eraser {
	return erase.Owned{
		Before: l.eraseSourcesTx,
		List: []erase.Table{
			{Name: "doc_folders", Key: []string{"path", "realm"}, Names: []string{"path"}},
			{Name: "documents", Key: []string{"n"}, Text: []string{"title", "author", "tags"}},
			{Name: "doc_sources", Key: []string{"n"}, Text: []string{"error"}},
		},
		Besides: []string{"documents_forgotten"},
	}
}

// eraseSourcesTx erases whole sources, emails and folders. An erased source, or one whose name
// contains an erased phrase, is not ingested again automatically until it changes. For this purpose
// a digest of its name, its size and its time are kept.
func (l *Library) eraseSourcesTx(tx *store.Tx, e *erase.Erasure, s *erase.Scrubber) (n erase.Erased, err error) {
	going, err := findErasedTx(tx, e, s)
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
	if e.ID != "" { // without an ID, this is a preview
		if err := l.held.eraseTx(tx, e, s); err != nil {
			return n, err
		}
	}
	m, err := l.mailsTx(tx, e)
	if err != nil {
		return n, err
	}
	n = n.Add(m)
	m, err = eraseFoldersTx(tx, e)
	return n.Add(m), err
}

// findErasedTx returns the sources to erase.
func findErasedTx(tx *store.Tx, e *erase.Erasure, s *erase.Scrubber) (out []forgottenSource, err error) {
	rows, err := tx.Query(`SELECT n, realm, source, size, mtime FROM doc_sources`)
	if err != nil {
		return nil, fmt.Errorf("ingest: erase document: %w", err)
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	for rows.Next() {
		var g forgottenSource
		if err := rows.Scan(&g.n, &g.realm, &g.source, &g.size, &g.mtime); err != nil {
			return nil, fmt.Errorf("ingest: erase document: %w", err)
		}
		if e.From(g.source, g.realm) || s.Has(g.source) {
			out = append(out, g)
		}
	}
	return out, rows.Err()
}

// eraseFoldersTx stops syncing folders that are erased.
func eraseFoldersTx(tx *store.Tx, e *erase.Erasure) (n erase.Erased, err error) {
	for _, source := range e.Sources {
		r, err := tx.Exec(`DELETE FROM doc_folders WHERE 'file:' || path = ?1 AND (?2 = '' OR realm = ?2)`, source, e.Realm)
		if err != nil {
			return n, fmt.Errorf("ingest: erase document: %w", err)
		}
		k, err := r.RowsAffected()
		if err != nil {
			return n, fmt.Errorf("ingest: erase document: %w", err)
		}
		n.Rows += int(k)
	}
	return n, nil
}

// eraseDocumentTx removes the data derived from a document.
func (l *Library) eraseDocumentTx(tx *store.Tx, id string, n erase.Erased) (erase.Erased, error) {
	list, err := l.opt.Base.GroupRows(tx, knowledge.KindChunk, id)
	if err != nil {
		return n, err
	}
	for _, c := range list {
		if err := l.opt.Base.UnindexTx(tx, c.Kind, c.Ref); err != nil {
			return n, err
		}
		n.Rows++
	}
	return n, nil
}

type forgottenSource struct {
	n             int64
	realm, source string
	size, mtime   int64
}

func (l *Library) eraseSourceTx(tx *store.Tx, g forgottenSource) (n erase.Erased, err error) {
	list, err := readParts(tx, g.n)
	if err != nil {
		return n, fmt.Errorf("ingest: erase document: %w", err)
	}
	for _, p := range list {
		if n, err = l.eraseDocumentTx(tx, p.id, n); err != nil {
			return n, err
		}
	}
	for _, stmt := range []string{`DELETE FROM documents WHERE src = ?`, `DELETE FROM doc_sources WHERE n = ?`} {
		if _, err := tx.Exec(stmt, g.n); err != nil {
			return n, fmt.Errorf("ingest: erase document: %w", err)
		}
		n.Rows++
	}
	return n, blockSourceTx(tx, g.realm, g.source, g.size, g.mtime)
}

// blockSourceTx blocks a source until it changes.
func blockSourceTx(tx *store.Tx, realm, source string, size, mtime int64) error {
	if _, err := tx.Exec(`INSERT OR REPLACE INTO documents_forgotten (place, size, mtime) VALUES (?, ?, ?)`, hashSource(realm, source), size, mtime); err != nil {
		return fmt.Errorf("ingest: erase document: %w", err)
	}
	return nil
}

// activeReadings tracks the sources whose text is in memory. Text that is erased while it is in
// memory must not be written.
type activeReadings struct {
	mu   sync.Mutex
	list map[*activeReading]bool
}

// activeReading is one source in memory. Its erased list is only used in transactions, which are
// serialized.
type activeReading struct {
	realm, source string
	size, mtime   int64
	erased        []erasedSource
}

type erasedSource struct {
	e *erase.Erasure
	s *erase.Scrubber
}

func (h *activeReadings) addReading(realm, source string, size, mtime int64) *activeReading {
	r := &activeReading{realm: realm, source: source, size: size, mtime: mtime}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.list[r] = true
	return r
}

func (h *activeReadings) removeReading(r *activeReading) {
	h.mu.Lock()
	defer h.mu.Unlock()
	delete(h.list, r)
}

func (h *activeReadings) eraseTx(tx *store.Tx, e *erase.Erasure, s *erase.Scrubber) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	for r := range h.list {
		if r.erased = append(r.erased, erasedSource{e, s}); r.isForgotten() {
			if err := blockSourceTx(tx, r.realm, r.source, r.size, r.mtime); err != nil {
				return err
			}
		}
	}
	return nil
}

// isForgotten reports whether the source was erased.
func (r *activeReading) isForgotten() bool {
	return slices.ContainsFunc(r.erased, func(x erasedSource) bool { return x.e.From(r.source, r.realm) || x.s.Has(r.source) })
}

// isRowForgotten reports whether one row of the source was erased.
func (r *activeReading) isRowForgotten(d knowledge.Doc) bool {
	return slices.ContainsFunc(r.erased, func(x erasedSource) bool { return slices.Contains(x.e.Docs, erase.Doc{Kind: d.Kind, Ref: d.Ref}) })
}

// redactForgotten redacts the erased phrases in a text.
func (r *activeReading) redactForgotten(text string) string {
	for _, x := range r.erased {
		text, _ = x.s.Text(text)
	}
	return text
}
