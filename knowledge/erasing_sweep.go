package knowledge

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"hob/platform/failpoint"
	"hob/platform/store"
)

// runErasers runs every eraser once. holders is the number of running turns that may write erased
// data again. They are counted while the write lock is held, so that no turn can start without
// being counted.
func (x *ErasureService) runErasers(ctx context.Context, p pendingErasure, patient bool) (holders int, err error) {
	var e Erasure
	if err := json.Unmarshal(p.plan, &e); err != nil {
		return 0, fmt.Errorf("knowledge: erasure %s: %w", p.id, err)
	}
	s := e.Scrubber()
	var n Erased
	err = x.st.Write(ctx, func(tx *store.Tx) error {
		n = Erased{}
		var running []string
		if patient {
			var err error
			if running, err = x.opt.Running(tx); err != nil {
				return err
			}
		}
		names, err := json.Marshal(running)
		if err != nil {
			return err
		}
		holders = len(running)
		for _, r := range x.opt.Erasers() {
			m, err := r.EraseTx(tx, &e, s)
			if err != nil {
				return err
			}
			n = n.Add(m)
		}
		_, err = tx.Exec(`UPDATE erasures SET state = ?, running = ?, removed = removed + ?, scrubbed = scrubbed + ? WHERE id = ?`,
			EraseSwept, string(names), n.Rows, n.Scrubbed, p.id)
		return err
	})
	if err != nil {
		return 0, fmt.Errorf("knowledge: erase data: %w", err)
	}
	failpoint.Hit("erase.swept")
	n = Erased{}
	for _, r := range x.opt.Erasers() {
		m, err := r.Purge(ctx, &e, s)
		if err != nil {
			return 0, fmt.Errorf("knowledge: erase data: %w", err)
		}
		n = n.Add(m)
	}
	failpoint.Hit("erase.purged")
	return holders, x.updateRow(ctx, `UPDATE erasures SET removed = removed + ?, scrubbed = scrubbed + ?, files = files + ? WHERE id = ?`, n.Rows, n.Scrubbed, n.Files, p.id)
}

// errTried rolls back a transaction that only counts rows.
var errTried = errors.New("tried")

// PreviewErasure returns what an erasure would change in the database. It changes nothing.
func (x *ErasureService) PreviewErasure(ctx context.Context, e Erasure) (n Erased, err error) {
	s := e.Scrubber()
	err = x.st.Write(ctx, func(tx *store.Tx) error {
		for _, r := range x.opt.Erasers() {
			m, err := r.EraseTx(tx, &e, s)
			if err != nil {
				return err
			}
			n = n.Add(m)
		}
		return errTried
	})
	if errors.Is(err, errTried) {
		err = nil
	}
	return n, err
}

// compactStorage removes deleted data from free pages of the database file and from the backups.
func (x *ErasureService) compactStorage(ctx context.Context, keep bool) error {
	failpoint.Hit("erase.cleared")
	if err := x.st.Compact(ctx); err != nil {
		return err
	}
	failpoint.Hit("erase.compacted")
	gone := 0
	if x.opt.Renew != nil && !keep {
		var err error
		if gone, err = x.opt.Renew(ctx); err != nil {
			return err
		}
	}
	return x.updateRow(ctx, `UPDATE erasures SET state = ?, backups = ?, ended_at = ? WHERE state = ?`, EraseDone, gone, time.Now().UnixMilli(), EraseCleared)
}

func (x *ErasureService) updateRow(ctx context.Context, stmt string, args ...any) error {
	err := x.st.Write(ctx, func(tx *store.Tx) error {
		_, err := tx.Exec(stmt, args...)
		return err
	})
	if err != nil {
		return fmt.Errorf("knowledge: update erasure: %w", err)
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	close(x.changed)
	x.changed = make(chan struct{})
	return nil
}
