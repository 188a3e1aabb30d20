package knowledge

import (
	"context"
	"fmt"
	"strings"

	"hob/platform/store"
	"hob/platform/store/erase"
	"hob/platform/text/textnorm"
)

// Tables implements Eraser for the tables of this package and for the origins of all rows.
func (b *Base) Tables() []string {
	return []string{"facts", "docs", "doc_changes", "derived", "origins", "erasures", "claims", "claimed"}
}

// Purge implements Eraser. The base stores nothing outside the database.
func (b *Base) Purge(context.Context, *Erasure, *Scrubber) (Erased, error) { return Erased{}, nil }

// EraseTx implements Eraser. It also resolves which facts and rows a source covers.
func (b *Base) EraseTx(tx *store.Tx, e *Erasure, s *Scrubber) (n Erased, err error) {
	if n.Rows, err = b.removeRowsTx(tx, e); err != nil {
		return n, err
	}
	for _, t := range []erase.Table{
		{Name: "facts", Text: []string{"text"}, Names: []string{"source"}},
		{Name: "docs", Text: []string{"title", "text", "speaker"}, Names: []string{"ref", "grp", "source"}},
		{Name: "origins", Key: []string{"kind", "ref"}, Text: []string{"list"}},
	} {
		m, err := t.EraseTx(tx, e, s)
		if err != nil {
			return n, err
		}
		n = n.Add(m)
	}
	b.notifyChanged(tx)
	return n, b.recomputeWordsTx(tx)
}

// removeRowsTx removes complete rows and counts them.
func (b *Base) removeRowsTx(tx *store.Tx, e *Erasure) (n int, err error) {
	for _, id := range e.Facts {
		k, err := deleteCounted(tx, `DELETE FROM facts WHERE id = ?`, id)
		if err != nil {
			return n, err
		}
		n += k
		if err := b.removeTx(tx, id); err != nil {
			return n, err
		}
	}
	for _, d := range e.Docs {
		if err := b.UnindexTx(tx, d.Kind, d.Ref); err != nil {
			return n, err
		}
	}
	for _, source := range e.Sources {
		k, err := deleteCounted(tx, `DELETE FROM docs WHERE source = ?1 AND (?2 = '' OR realm = ?2)`, source, e.Realm)
		if err != nil {
			return n, err
		}
		n += k
	}
	return n, nil
}

// deleteCounted runs a DELETE statement and returns the number of rows.
func deleteCounted(tx *store.Tx, stmt string, args ...any) (int, error) {
	r, err := tx.Exec(stmt, args...)
	if err != nil {
		return 0, fmt.Errorf("knowledge: forget: %w", err)
	}
	n, err := r.RowsAffected()
	if err != nil {
		return 0, fmt.Errorf("knowledge: forget: %w", err)
	}
	return int(n), nil
}

// recomputeWordsTx recomputes the normalized words of the facts whose text was redacted.
func (b *Base) recomputeWordsTx(tx *store.Tx) error {
	changed, err := queryFacts(tx, `SELECT `+factColumns+` FROM facts WHERE instr(text, ?) > 0`, erase.Mark)
	if err != nil {
		return fmt.Errorf("knowledge: forget: %w", err)
	}
	for _, f := range changed {
		head, _ := firstStatement(f.Text)
		if _, err := tx.Exec(`UPDATE facts SET same = ?, head = ? WHERE id = ?`, strings.Join(textnorm.FoldedWords(f.Text), " "), head, f.ID); err != nil {
			return fmt.Errorf("knowledge: forget: %w", err)
		}
	}
	return nil
}
