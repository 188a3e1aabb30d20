package embed

import (
	"context"
	"database/sql"
	"fmt"

	"hob/knowledge/store"
	"hob/platform/erase"
)

var _ erase.Eraser = (*Vectors)(nil)

// Tables implements erase.Eraser: it has none in the store.
func (v *Vectors) Tables() []string { return nil }

// EraseTx implements erase.Eraser: it has nothing there.
func (v *Vectors) EraseTx(*store.Tx, *erase.Erasure, *erase.Scrubber) (erase.Erased, error) {
	return erase.Erased{}, nil
}

// Purge implements erase.Eraser: what is gone from the docs goes from the
// vectors. It counts nothing, because the rows were counted there.
func (v *Vectors) Purge(ctx context.Context, _ *erase.Erasure, _ *erase.Scrubber) (erase.Erased, error) {
	_, err := v.Forget(ctx)
	return erase.Erased{}, err
}

// Forget drops the vectors of texts that are not there any more, or are others
// by now, before Run comes to them: no byte of them is left in the file. It asks
// no embedder. It returns how many rows it dropped.
func (v *Vectors) Forget(ctx context.Context) (rows int, err error) {
	v.queries.forget()
	v.writing.Lock()
	defer v.writing.Unlock()
	v.turn++ // what is being embedded may be of it
	s, f, err := v.state(ctx)
	if err != nil || s.model == "" {
		return 0, err
	}
	lost, err := v.lost(ctx, s)
	if err != nil {
		return 0, err
	}
	s.anew, s.walked = false, 0
	s.walking = s.walking || lost // changes may be missing: look at all
	for {
		list, next, more, err := v.next(ctx, s)
		if err != nil {
			return rows, err
		}
		ns := make([]int64, len(list))
		for i, c := range list {
			ns[i] = c.N
		}
		have, err := lookUp(ctx, f.w, joined(ns))
		if err != nil {
			return rows, v.met(err)
		}
		var w work
		for _, c := range list {
			_, hash := v.text(c.Doc)
			if h, held := have[c.N]; held && (c.Gone || string(h.hash) != string(hash)) {
				w.drops = append(w.drops, c.N)
			}
		}
		if s.walking {
			gone, err := f.between(ctx, s.walked, next, list)
			if err != nil {
				return rows, v.met(err)
			}
			w.drops = append(w.drops, gone...)
		}
		if len(w.drops) > 0 {
			if err := f.write(ctx, func(tx *sql.Tx) error { return w.apply(ctx, tx) }); err != nil {
				return rows, v.met(fmt.Errorf("embed: forget: %w", err))
			}
			rows += len(w.drops)
		}
		if !more || next == s || s.walking && !next.walking {
			return rows, nil
		}
		s = next
	}
}
