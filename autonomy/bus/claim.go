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
	"hob/platform/text/sorting"
)

// Claim claims the events that are due: the first open event of each queue that has no running
// event, and the parked events of sessions that run none (see ParkTx and ParkRunning). It claims at most n events
// and, in addition, all due commands. Among events with the same priority it prefers the queue
// that was served longest ago, so that one busy session cannot use all slots. next is when the
// earliest waiting event becomes due (zero: none).
func (in *Inbox) Claim(ctx context.Context, n int) (events []Event, next time.Time, err error) {
	now := in.now()
	in.mu.Lock()
	was := in.idle
	in.mu.Unlock()
	if was.isStillIdle(in.db.CommitCount(), now) {
		return nil, was.next, nil
	}
	return in.claimDue(ctx, n, now)
}

func (in *Inbox) claimDue(ctx context.Context, n int, now time.Time) (events []Event, next time.Time, err error) {
	some, next, err := in.peekDue(ctx, n, now)
	if err != nil || len(some) == 0 {
		return nil, next, err
	}
	if err := in.files.CatchUp(ctx); err != nil {
		return nil, next, err
	}
	err = in.db.Write(ctx, func(tx *store.Tx) error {
		events = events[:0]
		epoch := in.lease.Epoch()
		for _, h := range some {
			e, err := scanEvent(tx.QueryRow(`UPDATE inbox SET state = 'claimed', claimed_by = ?, attempts = attempts + 1, settle_until = 0, lane = CASE WHEN command <> 0 THEN lane ELSE session END
				WHERE seq = ? AND state = 'pending' AND not_before <= ? AND (command <> 0 OR NOT EXISTS (SELECT 1 FROM inbox r INDEXED BY inbox_running WHERE r.session = inbox.session AND r.state = 'claimed' AND r.command = 0 AND r.lane = r.session))
				RETURNING `+eventColumns, epoch, h.seq, now.UnixMilli()))
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
		return nil, next, fmt.Errorf("bus: claim events: %w", err)
	}
	in.mu.Lock()
	for _, e := range events {
		in.serial++
		in.served[e.Lane] = in.serial
	}
	in.mu.Unlock()
	return events, next, nil
}

func (in *Inbox) peekDue(ctx context.Context, n int, now time.Time) (due []queuedEvent, next time.Time, err error) {
	commits := in.db.CommitCount() // read before the query, so that a later commit causes a new query
	rows, err := in.db.Read().QueryContext(ctx, heads, now.UnixMilli())
	if err != nil {
		return nil, next, fmt.Errorf("bus: claim events: %w", err)
	}
	defer rows.Close()
	var first []queuedEvent // the first event of each queue
	for rows.Next() {
		var h queuedEvent
		if err := rows.Scan(&h.seq, &h.lane, &h.session, &h.kind, &h.from, &h.command, &h.state, &h.notBefore, &h.busy); err != nil {
			return nil, next, fmt.Errorf("bus: claim events: %w", err)
		}
		first = append(first, h)
	}
	if err := rows.Err(); err != nil {
		return nil, next, fmt.Errorf("bus: claim events: %w", err)
	}
	due, earliest := selectDue(first, now.UnixMilli())
	in.mu.Lock()
	defer in.mu.Unlock()
	for i := range due {
		due[i].served = in.served[sessionLane(due[i].lane)]
	}
	in.idle = idleMark{}
	if len(due) == 0 {
		clear(in.served) // no other session is waiting: reset the order and keep the map small
		in.idle = idleMark{commits: commits, at: now, next: store.Time(earliest)}
	}
	sorting.ByFunc(due, func(x, y queuedEvent) int {
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

// ClaimedBy counts the claimed events of each epoch (see platform/store/lease).
func ClaimedBy(ctx context.Context, in *Inbox) (map[int64]int, error) {
	rows, err := in.db.Reader(ctx).Query(`SELECT claimed_by, count(*) FROM inbox INDEXED BY inbox_open WHERE state IN ('pending', 'claimed') AND state = 'claimed' GROUP BY claimed_by`)
	if err != nil {
		return nil, fmt.Errorf("bus: count claims: %w", err)
	}
	defer rows.Close()
	out := map[int64]int{}
	for rows.Next() {
		var epoch int64
		var n int
		if err := rows.Scan(&epoch, &n); err != nil {
			return nil, fmt.Errorf("bus: count claims: %w", err)
		}
		out[epoch] = n
	}
	return out, rows.Err()
}
