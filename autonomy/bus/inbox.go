package bus

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"time"

	"hob/platform/store"
)

// heads finds the oldest open event of each lane by hopping from lane to lane
// in the partial index, so that its cost grows with the lanes, not with the rows.
const heads = `
WITH RECURSIVE lanes(lane) AS (
	SELECT min(lane) FROM inbox INDEXED BY inbox_open WHERE state IN ('pending', 'claimed')
	UNION ALL
	SELECT (SELECT min(lane) FROM inbox INDEXED BY inbox_open WHERE state IN ('pending', 'claimed') AND lane > lanes.lane)
	FROM lanes WHERE lanes.lane IS NOT NULL)
SELECT h.seq, h.lane, h.kind, h.command, h.state, max(h.not_before, ` + held + `) FROM lanes JOIN inbox h ON h.seq = (
	SELECT seq FROM inbox INDEXED BY inbox_open WHERE state IN ('pending', 'claimed') AND lane = lanes.lane ORDER BY seq LIMIT 1)
WHERE lanes.lane IS NOT NULL`

type queuedEvent struct {
	seq       int64
	lane      string
	kind      Kind
	command   bool
	state     State
	notBefore int64
	served    uint64
}

// priorityRank puts owners before events before goals; commands first of all.
func (h queuedEvent) priorityRank() int {
	switch {
	case h.command:
		return 0
	case h.kind == Message || h.kind == Approval:
		return 1
	case h.kind == Goal:
		return 3
	}
	return 2
}

// idleMark records that nothing was due at the last check.
type idleMark struct {
	commits int64     // store commits at that time
	at      time.Time // zero: it was not so
	next    time.Time // next known due time
}

// longestCalm is the maximum time for which other writers of the file are ignored.
const longestCalm = 5 * time.Minute

// isStillIdle reports whether still nothing can be due. This makes an idle tick free.
func (c idleMark) isStillIdle(commits int64, now time.Time) bool {
	return !c.at.IsZero() && c.commits == commits && !now.Before(c.at) && now.Before(c.at.Add(longestCalm)) && (c.next.IsZero() || now.Before(c.next))
}

// Claim takes the events that are due now: the first open one of each session
// that is not busy, at most n, commands beyond that number. Among equals the
// session served longest ago comes first, so that no chatty session takes all
// the places. next is when the earliest waiting event becomes due (zero: none).
func (b *Bus) Claim(ctx context.Context, n int) (events []Event, next time.Time, err error) {
	now := b.now()
	b.mu.Lock()
	was := b.calm
	b.mu.Unlock()
	if was.isStillIdle(b.db.CommitCount(), now) {
		return nil, was.next, nil
	}
	return b.claimDue(ctx, n, now)
}

func (b *Bus) claimDue(ctx context.Context, n int, now time.Time) (events []Event, next time.Time, err error) {
	some, next, err := b.peekDue(ctx, n, now)
	if err != nil || len(some) == 0 {
		return nil, next, err
	}
	err = b.db.Write(ctx, func(tx *store.Tx) error {
		events = events[:0]
		for _, h := range some {
			e, err := scanEvent(tx.QueryRow(`UPDATE inbox SET state = 'claimed', attempts = attempts + 1, settle_until = 0
				WHERE seq = ? AND state = 'pending' AND not_before <= ? RETURNING `+eventColumns, h.seq, now.UnixMilli()))
			if errors.Is(err, sql.ErrNoRows) {
				continue
			}
			if err != nil {
				return err
			}
			events = append(events, e)
		}
		return nil
	})
	if err != nil {
		return nil, next, fmt.Errorf("bus: claim: %w", err)
	}
	b.mu.Lock()
	for _, e := range events {
		b.serial++
		b.served[e.Lane] = b.serial
	}
	b.mu.Unlock()
	return events, next, nil
}

func (b *Bus) peekDue(ctx context.Context, n int, now time.Time) (due []queuedEvent, next time.Time, err error) {
	commits := b.db.CommitCount() // read before the query, so that a later commit triggers a new one
	rows, err := b.db.Read().QueryContext(ctx, heads, now.UnixMilli())
	if err != nil {
		return nil, next, fmt.Errorf("bus: claim: %w", err)
	}
	defer rows.Close()
	var earliest int64
	b.mu.Lock()
	defer b.mu.Unlock()
	for rows.Next() {
		var h queuedEvent
		if err := rows.Scan(&h.seq, &h.lane, &h.kind, &h.command, &h.state, &h.notBefore); err != nil {
			return nil, next, fmt.Errorf("bus: claim: %w", err)
		}
		switch {
		case h.state != Pending:
		case h.notBefore > now.UnixMilli():
			if earliest == 0 || h.notBefore < earliest {
				earliest = h.notBefore
			}
		default:
			h.served = b.served[h.lane]
			due = append(due, h)
		}
	}
	if err := rows.Err(); err != nil {
		return nil, next, fmt.Errorf("bus: claim: %w", err)
	}
	b.calm = idleMark{}
	if len(due) == 0 {
		clear(b.served) // no competition: restart the order, keep the map small
		b.calm = idleMark{commits: commits, at: now, next: store.Time(earliest)}
	}
	slices.SortFunc(due, func(x, y queuedEvent) int {
		return cmp.Or(cmp.Compare(x.priorityRank(), y.priorityRank()), cmp.Compare(x.served, y.served), cmp.Compare(x.seq, y.seq))
	})
	taken := 0
	due = slices.DeleteFunc(due, func(h queuedEvent) bool {
		if h.command {
			return false
		}
		taken++
		return taken > n
	})
	return due, store.Time(earliest), nil
}

// FinishTx marks a claimed event done with its answer.
func (b *Bus) FinishTx(tx *store.Tx, id, answer string) error {
	res, err := tx.Exec(`UPDATE inbox SET state = 'done', answer = ?, error = '', done_at = ? WHERE id = ? AND state = 'claimed'`,
		answer, b.now().UnixMilli(), id)
	if err != nil {
		return err
	}
	if n, err := res.RowsAffected(); err != nil || n != 1 {
		return fmt.Errorf("bus: event %s is not claimed", id)
	}
	tx.AfterCommit(func() { b.notifyWaiters(id) })
	return nil
}

// FailTx records a failed attempt: the event waits for retryAt, or is dead after MaxAttempts
// (or immediately if permanent). It reports whether it is dead. It does not change an event
// that has ended.
func (b *Bus) FailTx(tx *store.Tx, e Event, why string, retryAt time.Time, permanent bool) (bool, error) {
	if permanent || e.Attempts >= MaxAttempts {
		return true, b.deadTx(tx, e.ID, why)
	}
	_, err := tx.Exec(`UPDATE inbox SET state = 'pending', not_before = ?, error = ? WHERE id = ? AND state = 'claimed'`, store.Millis(retryAt), why, e.ID)
	tx.AfterCommit(b.SignalWork)
	return false, err
}

func (b *Bus) deadTx(tx *store.Tx, id, why string) error {
	_, err := tx.Exec(`UPDATE inbox SET state = 'dead', error = ?, done_at = ? WHERE id = ? AND state IN ('pending', 'claimed')`, why, b.now().UnixMilli(), id)
	tx.AfterCommit(func() { b.notifyWaiters(id) })
	return err
}

// DropTx drops a waiting event permanently; false if it is being processed or has ended.
func (b *Bus) DropTx(tx *store.Tx, id, why string) (bool, error) {
	res, err := tx.Exec(`UPDATE inbox SET state = 'dead', error = ?, done_at = ? WHERE id = ? AND state = 'pending'`, why, b.now().UnixMilli(), id)
	if err != nil {
		return false, fmt.Errorf("bus: drop: %w", err)
	}
	tx.AfterCommit(func() { b.notifyWaiters(id) })
	n, err := res.RowsAffected()
	return n == 1, err
}

// SuspendTx puts a claimed event back without counting the attempt: it and its session wait
// until the given time or ResumeTx. Without a time it continues immediately, also during a
// pause, because it has already started.
func (b *Bus) SuspendTx(tx *store.Tx, id string, until time.Time) error {
	at := store.Millis(until)
	if until.IsZero() {
		at = resumed
	}
	_, err := tx.Exec(`UPDATE inbox SET state = 'pending', attempts = attempts - 1, not_before = ? WHERE id = ? AND state = 'claimed'`, at, id)
	tx.AfterCommit(func() { b.notifyWaiters(id) })
	return err
}

// MoveTx puts a claimed event into another queue without counting the attempt. It waits there
// behind the earlier events.
func (b *Bus) MoveTx(tx *store.Tx, id, lane string) error {
	_, err := tx.Exec(`UPDATE inbox SET state = 'pending', attempts = attempts - 1, not_before = 0, lane = ?, command = (? <> session) WHERE id = ? AND state = 'claimed'`, lane, lane, id)
	tx.AfterCommit(b.SignalWork)
	return err
}

// ResumeTx makes a waiting event due now, in a pause too.
func (b *Bus) ResumeTx(tx *store.Tx, id string) error {
	_, err := tx.Exec(`UPDATE inbox SET not_before = ? WHERE id = ? AND state = 'pending'`, resumed, id)
	tx.AfterCommit(b.SignalWork)
	return err
}

// Release puts a claimed event back unchanged, for a turn that a shutdown interrupted.
func (b *Bus) Release(ctx context.Context, id string) error {
	return b.db.Write(ctx, func(tx *store.Tx) error { return b.SuspendTx(tx, id, time.Time{}) })
}

// EventClosed returns a channel that is closed when the event is done, dead or
// suspended the next time; cancel forgets it.
func (b *Bus) EventClosed(id string) (done <-chan struct{}, cancel func()) {
	ch := make(chan struct{})
	b.mu.Lock()
	b.waiters[id] = append(b.waiters[id], ch)
	b.mu.Unlock()
	return ch, func() {
		b.mu.Lock()
		defer b.mu.Unlock()
		b.waiters[id] = slices.DeleteFunc(b.waiters[id], func(c chan struct{}) bool { return c == ch })
		if len(b.waiters[id]) == 0 {
			delete(b.waiters, id)
		}
	}
}

// RecheckWaiters makes the waiters for an event (see Settled) check it again.
func (b *Bus) RecheckWaiters(id string) { b.notifyWaiters(id) }

func (b *Bus) notifyWaiters(id string) {
	b.mu.Lock()
	ws := b.waiters[id]
	delete(b.waiters, id)
	b.mu.Unlock()
	for _, w := range ws {
		close(w)
	}
}
