package knowledge

import (
	"fmt"
	"strings"

	"hob/platform/store"
	"hob/platform/store/erase"
	"hob/platform/text/textnorm"
)

// Eraser returns the eraser of the tables of this package and of the origins of all rows.
func (b *Base) Eraser() Eraser {
	return erase.Owned{
		Before: b.removeRowsTx,
		List: []erase.Table{
			{Name: "facts", Key: []string{"n"}, Text: []string{"text"}, Names: []string{"source"}},
			{Name: "docs", Key: []string{"n"}, Text: []string{"title", "text", "speaker"}, Names: []string{"ref", "grp", "source"}},
			{Name: "origins", Key: []string{"kind", "ref"}, Text: []string{"list"}},
		},
		After:   b.recomputeWordsTx,
		Besides: []string{"doc_changes", "derived", "erasures", "claims", "claimed"},
	}
}

// removeRowsTx removes complete rows and counts them. It resolves which rows a source covers.
func (b *Base) removeRowsTx(tx *store.Tx, e *Erasure, _ *Scrubber) (n Erased, err error) {
	for _, id := range e.Facts {
		k, err := deleteCounted(tx, `DELETE FROM facts WHERE id = ?`, id)
		if err != nil {
			return n, err
		}
		n.Rows += k
		if err := b.removeTx(tx, id); err != nil {
			return n, err
		}
	}
	if err := b.restoreMergedTx(tx, e.Facts); err != nil {
		return n, err
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
		n.Rows += k
	}
	return n, nil
}

// deleteCounted runs a DELETE statement and returns the number of rows.
func deleteCounted(tx *store.Tx, stmt string, args ...any) (int, error) {
	r, err := tx.Exec(stmt, args...)
	if err != nil {
		return 0, fmt.Errorf("knowledge: erase data: %w", err)
	}
	n, err := r.RowsAffected()
	if err != nil {
		return 0, fmt.Errorf("knowledge: erase data: %w", err)
	}
	return int(n), nil
}

// recomputeWordsTx recomputes the normalized words of the facts whose text was redacted.
func (b *Base) recomputeWordsTx(tx *store.Tx, _ *Erasure, _ *Scrubber) (n Erased, err error) {
	b.notifyChanged(tx, KindFact)
	changed, err := queryFacts(tx, `SELECT `+factColumns+` FROM facts WHERE instr(text, ?) > 0`, erase.Mark)
	if err != nil {
		return n, fmt.Errorf("knowledge: erase data: %w", err)
	}
	for _, f := range changed {
		head, _ := firstStatement(f.Text)
		if _, err := tx.Exec(`UPDATE facts SET same = ?, head = ? WHERE id = ?`, strings.Join(textnorm.FoldedWords(f.Text), " "), head, f.ID); err != nil {
			return n, fmt.Errorf("knowledge: erase data: %w", err)
		}
	}
	return n, nil
}
