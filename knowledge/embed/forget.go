package embed

import (
	"context"
	"database/sql"
	"fmt"

	"hob/platform/store/erase"
)

// Eraser returns an eraser that deletes the vectors of erased docs. It reports a count of 0,
// because another eraser counts the docs.
func (v *Vectors) Eraser() erase.Eraser {
	return erase.Owned{Files: func(ctx context.Context, _ *erase.Erasure, _ *erase.Scrubber) (n erase.Erased, err error) {
		_, err = v.Forget(ctx)
		return n, err
	}}
}

// Forget immediately deletes the vectors of text that was removed or changed, without waiting for
// Run. No byte of the vectors remains in the file. It does not call the embedder. It returns the
// number of deleted rows.
func (v *Vectors) Forget(ctx context.Context) (rows int, err error) {
	v.queries.clearCache()
	v.writing.Lock()
	defer v.writing.Unlock()
	v.turn++ // the batch that is being embedded may contain erased text
	s, f, err := v.loadState(ctx)
	if err != nil || s.model == "" {
		return 0, err
	}
	lost, err := v.hasLostChanges(ctx, s)
	if err != nil {
		return 0, err
	}
	s.anew, s.walked = false, 0
	s.walking = s.walking || lost // changes may be missing, so check all rows
	for {
		list, next, more, err := v.nextRows(ctx, s)
		if err != nil {
			return rows, err
		}
		ns := make([]int64, len(list))
		for i, c := range list {
			ns[i] = c.N
		}
		have, err := readStoredRows(ctx, f.w, joinInts(ns))
		if err != nil {
			return rows, v.discardIfDamaged(err)
		}
		var w batchWork
		for _, c := range list {
			_, hash := v.embeddingText(c.Doc)
			if h, held := have[c.N]; held && (c.Gone || string(h.hash) != string(hash)) {
				w.drops = append(w.drops, c.N)
			}
		}
		if s.walking {
			gone, err := f.vanishedRows(ctx, s.walked, next, list)
			if err != nil {
				return rows, v.discardIfDamaged(err)
			}
			w.drops = append(w.drops, gone...)
		}
		if len(w.drops) > 0 {
			if err := f.writeTx(ctx, func(tx *sql.Tx) error { return w.applyTx(ctx, tx) }); err != nil {
				return rows, v.discardIfDamaged(fmt.Errorf("embed: erase vectors: %w", err))
			}
			rows += len(w.drops)
		}
		if !more || next == s || s.walking && !next.walking {
			return rows, nil
		}
		s = next
	}
}
