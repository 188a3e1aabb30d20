package knowledge

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"hob/platform/retry"
	"hob/platform/store"
)

// longest limits how long RunExpiry sleeps, because the machine may have been suspended in the
// meantime.
const longest = time.Hour

// RunExpiry retires facts at the end of their validity, until ctx ends. It writes to the database
// only if a fact is due.
func (b *Base) RunExpiry(ctx context.Context, log *slog.Logger) error {
	for {
		wait := longest
		due, err := nextExpiry(b.st.Reader(ctx))
		if err == nil && !due.IsZero() {
			if wait = min(wait, time.Until(due)); wait <= 0 {
				err = b.st.Write(ctx, func(tx *store.Tx) error {
					_, _, err := b.ExpireTx(tx, time.Now())
					return err
				})
			}
		}
		if err != nil && ctx.Err() == nil {
			log.Warn("expired facts could not be retired; Hob will try again", "err", err)
			wait = time.Minute
		}
		if retry.Wait(ctx, wait, b.timed) != nil {
			return nil
		}
	}
}

// wakeExpiry wakes RunExpiry after a fact with a validity period was stored.
func (b *Base) wakeExpiry() {
	select {
	case b.timed <- struct{}{}:
	default:
	}
}

// nextExpiry returns the time at which the next fact expires, or the zero time if none does.
func nextExpiry(q store.Querier) (time.Time, error) {
	var due int64
	err := q.QueryRow(`SELECT coalesce(min(at), 0) FROM (SELECT min(valid_until) AS at FROM facts WHERE retired_at = 0 AND valid_until > 0 AND kind <> 'event'
		UNION ALL SELECT min(f.valid_from) FROM claimed c JOIN facts o ON o.id = c.fact JOIN facts f ON f.id = c.next WHERE c.next <> '' AND o.retired_at = 0 AND f.retired_at = 0)`).Scan(&due)
	if err != nil {
		return time.Time{}, fmt.Errorf("knowledge: retire expired facts: %w", err)
	}
	return store.Time(due), nil
}

// ExpireTx retires expired facts and facts whose replacement has become valid. Events are retired by
// the nightly consolidation, which can be undone. ExpireTx returns the number of retired facts, and
// the time at which the next fact is due (zero if there is none).
func (b *Base) ExpireTx(tx *store.Tx, now time.Time) (n int, next time.Time, err error) {
	ms := store.Millis(now)
	replaced, err := queryFacts(tx, `SELECT `+factColumns+` FROM facts WHERE retired_at = 0 AND id IN (
		SELECT c.fact FROM claimed c JOIN facts f ON f.id = c.next WHERE c.next <> '' AND f.retired_at = 0 AND f.valid_from <= ?)`, ms)
	if err != nil {
		return 0, next, fmt.Errorf("knowledge: retire expired facts: %w", err)
	}
	for _, f := range replaced {
		if err := b.replaceTx(tx, f.ID, now); err != nil {
			return 0, next, err
		}
	}
	over, err := queryFacts(tx, `SELECT `+factColumns+` FROM facts WHERE retired_at = 0 AND valid_until > 0 AND valid_until <= ? AND kind <> 'event'`, ms)
	if err != nil {
		return 0, next, fmt.Errorf("knowledge: retire expired facts: %w", err)
	}
	for _, f := range over {
		if err := b.retireTx(tx, &f, "", f.ValidUntil); err != nil {
			return 0, next, err
		}
	}
	next, err = nextExpiry(tx)
	return len(over) + len(replaced), next, err
}

// replaceTx retires a fact whose replacement becomes valid. It keeps the uncorrected parts of the
// fact, as retireAllTx does.
func (b *Base) replaceTx(tx *store.Tx, id string, now time.Time) error {
	var by string
	if err := tx.QueryRow(`SELECT next FROM claimed WHERE fact = ?`, id).Scan(&by); err != nil {
		return fmt.Errorf("knowledge: retire expired facts: %w", err)
	}
	f, err := factByID(tx, by)
	if err != nil {
		return err
	}
	old, err := factByID(tx, id) // reads the fact with its origins
	if err != nil {
		return err
	}
	if err := b.parseFactsTx(tx); err != nil {
		return err
	}
	w := newConflictCheck(b, tx, f)
	covered := map[string]int{}
	for i := range w.list {
		if s := &w.list[i]; s.Attr != "" {
			if err := w.checkStatement(s, covered); err != nil {
				return err
			}
		}
	}
	if err := b.retireTx(tx, &old, by, now); err != nil || len(w.wrong[old.ID]) == 0 {
		return err
	}
	old.RetiredAt, old.RetiredBy = time.Time{}, ""
	return w.keepUncorrectedTx(old)
}
