package bus

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"hob/platform/provenance"
	"hob/platform/store"
)

// parkedMark separates the session and the event in the name of a parked event's queue. Such an
// event waits for the owner's answer and does not block later events of its session.
const parkedMark = "\x1fparked\x1f"

// Limits on the open questions of one session while its later events may run. When a limit is
// reached, the session's later events wait.
const (
	maxParkedMessages = 20 // limit for messages from the owner
	maxParkedSignals  = 5  // for events of a watcher, a schedule, a trigger or a task
	maxParkedGuest    = 1  // for messages from other people: a guest must not flood the owner with questions
)

// parkedLimit returns the number of parked events at which an event of this kind waits.
func parkedLimit(k Kind, from provenance.Source) int {
	switch {
	case k != Message:
		return maxParkedSignals
	case from != provenance.Owner:
		return maxParkedGuest
	}
	return maxParkedMessages
}

// canPark reports whether later events of the session may run while an event waits for the owner.
// Goals are excluded: their next event depends on the end of this one, and at most one is open.
func canPark(e Event) bool {
	return e.Lane == e.Session && slices.Contains([]Kind{Message, Watcher, Schedule, Webhook, Task}, e.Kind)
}

// ParkTx suspends a turn until the owner answers, as SuspendTx does, but lets later events of the
// session run, one at a time and in order. When the answer arrives, or until has passed, the event
// continues before later ones that are still pending. It never runs together with another event of
// its session.
func (in *Inbox) ParkTx(tx *store.Tx, e Event, until time.Time) error {
	if until.IsZero() || !canPark(e) {
		return in.SuspendTx(tx, e.ID, until)
	}
	_, err := tx.Exec(`UPDATE inbox SET state = 'pending', attempts = attempts - 1, not_before = ?, lane = ? WHERE id = ? AND state = 'claimed'`,
		store.Millis(until), e.Session+parkedMark+e.ID, e.ID)
	if err != nil {
		return fmt.Errorf("bus: park event %s: %w", e.ID, err)
	}
	tx.AfterCommit(func() {
		in.notifyWaiters(e.ID)
		in.SignalWork()
	})
	return nil
}

// ParkRunning parks a claimed event whose turn waits in memory for the owner's answer, because a
// process of the turn waits too. The event stays claimed, so after a crash Recover requeues it like
// a running one. Later events of the session run, as after ParkTx, until ContinueParked returns
// true. It returns false if the event cannot be parked.
func ParkRunning(ctx context.Context, in *Inbox, e Event) (ok bool, err error) {
	if !canPark(e) {
		return false, nil
	}
	err = in.db.Write(ctx, func(tx *store.Tx) error {
		res, err := tx.Exec(`UPDATE inbox SET lane = ?, not_before = 0 WHERE id = ? AND state = 'claimed' AND lane = session`, e.Session+parkedMark+e.ID, e.ID)
		if err != nil {
			return err
		}
		tx.AfterCommit(in.SignalWork)
		n, err := res.RowsAffected()
		ok = n == 1
		return err
	})
	if err != nil {
		return false, fmt.Errorf("bus: park event %s: %w", e.ID, err)
	}
	return ok, nil
}

// ContinueParked ends the wait of an event that ParkRunning parked. It returns false while another
// event of the session runs; from then on no further event of the session starts, and the caller
// tries again when the running one has ended or is parked.
func ContinueParked(ctx context.Context, in *Inbox, id string) (ok bool, err error) {
	var waits bool
	err = in.db.Write(ctx, func(tx *store.Tx) error {
		waits = false
		err := tx.QueryRow(`UPDATE inbox SET not_before = ?, lane = CASE WHEN EXISTS (SELECT 1 FROM inbox r INDEXED BY inbox_running
			WHERE r.session = inbox.session AND r.state = 'claimed' AND r.command = 0 AND r.lane = r.session) THEN lane ELSE session END
			WHERE id = ? AND state = 'claimed' AND lane <> session RETURNING lane <> session`, resumed, id).Scan(&waits)
		if errors.Is(err, sql.ErrNoRows) {
			return nil // the event is not parked
		}
		return err
	})
	if err != nil {
		return false, fmt.Errorf("bus: continue event %s: %w", id, err)
	}
	return !waits, nil
}

// ParkWaitingTx parks an event that waits for the end of another event, such as a delegated task,
// when that event's turn waits for the owner. It does nothing if the event with the given id does
// not wait.
func ParkWaitingTx(tx *store.Tx, in *Inbox, id string) error {
	e, err := in.EventTx(tx, id)
	if err != nil || !canPark(e) {
		return err
	}
	_, err = tx.Exec(`UPDATE inbox SET lane = ? WHERE id = ? AND state = 'pending' AND lane = session AND not_before > ?`, e.Session+parkedMark+e.ID, e.ID, in.now().UnixMilli())
	if err != nil {
		return fmt.Errorf("bus: park event %s: %w", e.ID, err)
	}
	tx.AfterCommit(in.SignalWork)
	return nil
}

// isParked reports whether the event is parked in its own queue, outside its session's queue.
func (h queuedEvent) isParked() bool { return !h.command && h.lane != h.session }

// selectDue returns the heads that may be claimed now, and the earliest time at which another head
// becomes due (0: none). It returns at most one event of each session, and none of a session that
// runs an event. These limits do not apply to commands.
func selectDue(heads []queuedEvent, now int64) (due []queuedEvent, earliest int64) {
	parked, answered := map[string]int{}, map[string]bool{}
	for _, h := range heads {
		if h.isParked() {
			parked[h.session]++
			if h.state == Claimed && h.notBefore == resumed { // ContinueParked waits for the running event
				answered[h.session] = true
			}
		}
	}
	first := map[string]int64{} // the lowest seq of each session
	for _, h := range heads {
		switch {
		case h.state != Pending:
		case h.notBefore > now:
			if earliest == 0 || h.notBefore < earliest {
				earliest = h.notBefore
			}
		case h.command:
			due = append(due, h)
		case h.busy, answered[h.session], !h.isParked() && parked[h.session] >= parkedLimit(h.kind, h.from):
		default:
			if seq, known := first[h.session]; !known || h.seq < seq {
				first[h.session] = h.seq
			}
			due = append(due, h)
		}
	}
	return slices.DeleteFunc(due, func(h queuedEvent) bool { return !h.command && first[h.session] != h.seq }), earliest
}

// OpenQuestions counts the parked and the blocked events of one session.
type OpenQuestions struct {
	Session string
	Parked  int // events waiting for the owner's answer
	// Blocked is the number of later events that wait because too many events are parked; 0 if they
	// may run.
	Blocked int
}

// ParkedSessions lists the sessions with parked events.
func (in *Inbox) ParkedSessions(ctx context.Context) (out []OpenQuestions, err error) {
	rows, err := in.db.Read().QueryContext(ctx, `SELECT session, sum(lane <> session), sum(lane = session), max(kind = 'message' AND provenance = 'owner'), max(kind = 'message')
		FROM inbox INDEXED BY inbox_open WHERE state IN ('pending', 'claimed') AND command = 0 GROUP BY session HAVING sum(lane <> session) > 0 ORDER BY session`)
	if err != nil {
		return nil, fmt.Errorf("bus: read parked events: %w", err)
	}
	defer rows.Close()
	for rows.Next() {
		var q OpenQuestions
		var owner, message bool
		if err := rows.Scan(&q.Session, &q.Parked, &q.Blocked, &owner, &message); err != nil {
			return nil, fmt.Errorf("bus: read parked events: %w", err)
		}
		limit := maxParkedSignals
		if owner {
			limit = maxParkedMessages
		} else if message {
			limit = maxParkedGuest
		}
		if q.Parked < limit {
			q.Blocked = 0
		}
		out = append(out, q)
	}
	return out, rows.Err()
}

// CountBehind returns the number of events in a session's queue that wait behind the given event,
// or 0 if that event is parked or has ended.
func CountBehind(q store.Querier, session, event string) (n int, err error) {
	err = q.QueryRow(`SELECT count(*) FROM inbox INDEXED BY inbox_open WHERE state IN ('pending', 'claimed') AND lane = ?1 AND state = 'pending' AND id <> ?2
		AND EXISTS (SELECT 1 FROM inbox e WHERE e.id = ?2 AND e.lane = e.session AND e.state IN ('pending', 'claimed'))`, session, event).Scan(&n)
	if err != nil {
		return 0, fmt.Errorf("bus: read waiting events: %w", err)
	}
	return n, nil
}

// parkedCount returns the number of parked events in the session of e, or 0 if they do not block e.
func parkedCount(q store.Querier, e Event) (n int, err error) {
	if !canPark(e) {
		return 0, nil
	}
	low, high := parkedRange(e)
	err = q.QueryRow(countParked, low, high).Scan(&n)
	if !isBlocked(e, n) {
		n = 0
	}
	return n, err
}

// countParked counts the parked events of one session with a scan of a range, because the index contains
// the lane.
const countParked = `SELECT count(*) FROM inbox INDEXED BY inbox_open WHERE state IN ('pending', 'claimed') AND lane > ? AND lane < ?`

// parkedRange returns the two lanes between which the parked events of the session of e are.
func parkedRange(e Event) (low, high string) {
	return e.Session + parkedMark, e.Session + parkedMark + "\x7f"
}

// isBlocked reports whether the parked events of its session block e.
func isBlocked(e Event, parked int) bool {
	return canPark(e) && parked >= parkedLimit(e.Kind, e.Provenance)
}

// sessionLane returns the session's queue for the queue of a parked event, and any other queue
// unchanged.
func sessionLane(lane string) string {
	session, _, _ := strings.Cut(lane, parkedMark)
	return session
}
