package bus

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"hob/channels"
	"hob/platform/provenance"
	"hob/platform/store"
	"hob/platform/store/lease"
)

// Inbox stores the events that arrived, and tracks each of them until it is done or dead.
type Inbox struct {
	files *SharedFiles
	db    *store.Store
	now   func() time.Time
	wake  chan struct{}
	lease *lease.Member
	// route distinguishes local channels from push channels; see Options.Route.
	route func(channel, chat string) (string, string, bool)

	mu      sync.Mutex
	waiters map[string][]chan struct{} // keyed by event id
	served  map[string]uint64          // queue -> sequence number of its last claim
	serial  uint64
	idle    idleMark
}

// Wake returns a channel that is signaled if there may be events to claim.
func (in *Inbox) Wake() <-chan struct{} { return in.wake }

// SignalWork sends on the Wake channel. It never blocks.
func (in *Inbox) SignalWork() {
	select {
	case in.wake <- struct{}{}:
	default:
	}
}

// Recover requeues interrupted events, which are those that no living instance claimed; they continue
// even during a pause. Call it before the first Claim and whenever an instance has ended. It returns the dead events (those that crashed too often), including those from
// earlier starts, until a reply or a notice has reported them.
func (in *Inbox) Recover(ctx context.Context) (dead []Event, err error) {
	err = in.db.Write(ctx, func(tx *store.Tx) error {
		dead = nil
		live, err := in.lease.Live(tx)
		if err != nil {
			return err
		}
		if _, err := tx.Exec(`UPDATE inbox SET crashes = crashes + 1, attempts = attempts - 1, state = 'pending', not_before = ? WHERE state = 'claimed'`+notClaimedBy(live), resumed); err != nil {
			return err
		}
		crashed, err := scanEvents(tx.Query(`SELECT `+eventColumns+` FROM inbox INDEXED BY inbox_crashed WHERE crashes > 0 AND crashes >= ? AND state = 'pending'`, MaxCrashes))
		if err != nil {
			return err
		}
		for _, e := range crashed {
			if err := in.deadTx(tx, e.ID, "Hob stopped unexpectedly each time it processed this event"); err != nil {
				return err
			}
		}
		dead, err = scanEvents(tx.Query(`SELECT `+eventColumns+` FROM inbox INDEXED BY inbox_crashed WHERE crashes > 0 AND crashes >= ? AND state = 'dead'
			AND NOT EXISTS (SELECT 1 FROM outbox WHERE event = inbox.id AND kind IN ('reply', 'notice')) ORDER BY seq`, MaxCrashes))
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("bus: recover events: %w", err)
	}
	return dead, nil
}

// notClaimedBy returns the condition that selects the claims of other epochs than these.
func notClaimedBy(epochs []int64) string {
	if len(epochs) == 0 {
		return "" // this is the only process, and it has just started
	}
	list := make([]string, len(epochs))
	for i, e := range epochs {
		list[i] = strconv.FormatInt(e, 10)
	}
	return " AND claimed_by NOT IN (" + strings.Join(list, ", ") + ")"
}

// schemaClaims adds a column for the epoch (see platform/store/lease) of the process that claimed an
// event. It is 0 if the process does not share its database.
const schemaClaims = `ALTER TABLE inbox ADD COLUMN claimed_by INTEGER NOT NULL DEFAULT 0;`

// Put stores an event and returns its id. For a known key, it returns the id of the first event and
// Repeated = true.
func (in *Inbox) Put(ctx context.Context, e Event) (acc channels.Accepted, err error) {
	err = in.db.Write(ctx, func(tx *store.Tx) error {
		acc, err = in.PutTx(tx, e)
		return err
	})
	if err != nil {
		return channels.Accepted{}, fmt.Errorf("bus: store event: %w", err)
	}
	return acc, nil
}

// PutTx is like Put, but runs inside the caller's transaction.
func (in *Inbox) PutTx(tx *store.Tx, e Event) (channels.Accepted, error) {
	if e.ID == "" {
		e.ID = NewID()
	}
	if e.Lane == "" {
		e.Lane = e.Session
	}
	if e.ReceivedAt.IsZero() {
		e.ReceivedAt = in.now()
	}
	if e.Provenance == "" {
		e.Provenance = provenance.Outside
	}
	var key any
	if e.Key != "" {
		key = e.Key
	}
	var payload any
	if len(e.Payload) > 0 {
		payload = []byte(e.Payload)
	}
	command := e.Lane != e.Session
	if id, err := joinedTx(tx, e); err != nil || id != "" {
		return channels.Accepted{Event: id, Repeated: id != ""}, err
	}
	_, _, local := in.route(e.Channel, e.Chat)
	state, settleEnd, err := initialState(tx, e, local)
	if err != nil {
		return channels.Accepted{}, err
	}
	res, err := tx.Exec(`INSERT INTO inbox (id, kind, source, session, lane, command, channel, chat, sender, text, payload, provenance, received_at, key, state, not_before, settle_end)
		VALUES (?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?) ON CONFLICT DO NOTHING`,
		e.ID, e.Kind, e.Source, e.Session, e.Lane, command, e.Channel, e.Chat, e.Sender, e.Text, payload, e.Provenance,
		store.Millis(e.ReceivedAt), key, state, store.Millis(e.NotBefore), settleEnd)
	if err != nil {
		return channels.Accepted{}, err
	}
	if n, err := res.RowsAffected(); err != nil || n == 0 {
		var id string
		if err := tx.QueryRow(`SELECT id FROM inbox WHERE source = ? AND key = ?`, e.Source, key).Scan(&id); err != nil {
			return channels.Accepted{}, fmt.Errorf("find the first event with the key %q: %w", e.Key, err)
		}
		return channels.Accepted{Event: id, Repeated: true}, nil
	}
	acc := channels.Accepted{Event: e.ID}
	if !command {
		if err := tx.QueryRow(`SELECT count(*) - 1 FROM (SELECT 1 FROM inbox INDEXED BY inbox_open WHERE state IN ('pending', 'claimed') AND lane = ? LIMIT `+counted+`)`,
			e.Lane).Scan(&acc.Position); err != nil {
			return acc, err
		}
		parked, err := parkedCount(tx, e)
		if err != nil {
			return acc, err
		}
		acc.Position += parked
	}
	tx.AfterCommit(in.SignalWork)
	return acc, nil
}

// DoneTx records an event that has already been handled.
func (in *Inbox) DoneTx(tx *store.Tx, e Event) error {
	if _, err := in.PutTx(tx, e); err != nil {
		return err
	}
	_, err := tx.Exec(`UPDATE inbox SET state = 'done', done_at = ? WHERE id = ?`, in.now().UnixMilli(), e.ID)
	if err != nil {
		return fmt.Errorf("bus: mark event as done: %w", err)
	}
	return nil
}

// FinishTx marks a claimed event as done and stores its answer.
func (in *Inbox) FinishTx(tx *store.Tx, id, answer string) error {
	res, err := tx.Exec(`UPDATE inbox SET state = 'done', answer = ?, error = '', done_at = ? WHERE id = ? AND state = 'claimed'`,
		answer, in.now().UnixMilli(), id)
	if err != nil {
		return err
	}
	if n, err := res.RowsAffected(); err != nil || n != 1 {
		return fmt.Errorf("bus: event %s is not claimed", id)
	}
	tx.AfterCommit(func() { in.notifyWaiters(id) })
	return nil
}

// FailTx records a failed attempt. The event waits until retryAt, or is dead after MaxAttempts or
// if permanent is set. FailTx reports whether the event is dead. It does not change an event that
// has ended.
func (in *Inbox) FailTx(tx *store.Tx, e Event, why string, retryAt time.Time, permanent bool) (bool, error) {
	if permanent || e.Attempts >= MaxAttempts {
		return true, in.deadTx(tx, e.ID, why)
	}
	_, err := tx.Exec(`UPDATE inbox SET state = 'pending', not_before = ?, error = ? WHERE id = ? AND state = 'claimed'`, store.Millis(retryAt), why, e.ID)
	tx.AfterCommit(in.SignalWork)
	return false, err
}

func (in *Inbox) deadTx(tx *store.Tx, id, why string) error {
	_, err := tx.Exec(`UPDATE inbox SET state = 'dead', error = ?, done_at = ? WHERE id = ? AND state IN ('pending', 'claimed')`, why, in.now().UnixMilli(), id)
	tx.AfterCommit(func() { in.notifyWaiters(id) })
	return err
}

// DropTx permanently drops a waiting or held event. It returns false if the event is being processed or has
// ended.
func (in *Inbox) DropTx(tx *store.Tx, id, why string) (bool, error) {
	res, err := tx.Exec(`UPDATE inbox SET state = 'dead', error = ?, done_at = ? WHERE id = ? AND state IN ('pending', 'held')`, why, in.now().UnixMilli(), id)
	if err != nil {
		return false, fmt.Errorf("bus: drop event: %w", err)
	}
	tx.AfterCommit(func() { in.notifyWaiters(id) })
	n, err := res.RowsAffected()
	return n == 1, err
}

// DropAll ends all open events without a reply. It is meant only for copies of a database.
func (in *Inbox) DropAll(ctx context.Context, why string) error {
	err := in.db.Write(ctx, func(tx *store.Tx) error {
		_, err := tx.Exec(`UPDATE inbox SET state = 'dead', error = ?, done_at = ? WHERE state IN ('pending', 'claimed')`, why, in.now().UnixMilli())
		return err
	})
	if err != nil {
		return fmt.Errorf("bus: drop event: %w", err)
	}
	return nil
}

// SuspendTx requeues a claimed event without counting the attempt. The event and its session wait
// until the given time or ResumeTx. If the time is zero, the event continues immediately, even
// during a pause, because it has already started.
func (in *Inbox) SuspendTx(tx *store.Tx, id string, until time.Time) error {
	at := store.Millis(until)
	if until.IsZero() {
		at = resumed
	}
	_, err := tx.Exec(`UPDATE inbox SET state = 'pending', attempts = attempts - 1, not_before = ? WHERE id = ? AND state = 'claimed'`, at, id)
	tx.AfterCommit(func() { in.notifyWaiters(id) })
	return err
}

// MoveTx moves a claimed event to another queue without counting the attempt. The event waits there
// behind the earlier events.
func (in *Inbox) MoveTx(tx *store.Tx, id, lane string) error {
	_, err := tx.Exec(`UPDATE inbox SET state = 'pending', attempts = attempts - 1, not_before = 0, lane = ?, command = CASE WHEN ? <> session THEN 1 ELSE 0 END WHERE id = ? AND state = 'claimed'`, lane, lane, id)
	tx.AfterCommit(in.SignalWork)
	return err
}

// ResumeTx makes a waiting event due immediately, even during a pause.
func (in *Inbox) ResumeTx(tx *store.Tx, id string) error {
	_, err := tx.Exec(`UPDATE inbox SET not_before = ? WHERE id = ? AND state = 'pending'`, resumed, id)
	tx.AfterCommit(in.SignalWork)
	return err
}

// Release requeues a claimed event unchanged. It is for a turn that a shutdown interrupted.
func (in *Inbox) Release(ctx context.Context, id string) error {
	return in.db.Write(ctx, func(tx *store.Tx) error { return in.SuspendTx(tx, id, time.Time{}) })
}

// EventClosed returns a channel that is closed the next time the event becomes done, dead or
// suspended. cancel stops waiting.
func (in *Inbox) EventClosed(id string) (done <-chan struct{}, cancel func()) {
	ch := make(chan struct{})
	in.mu.Lock()
	in.waiters[id] = append(in.waiters[id], ch)
	in.mu.Unlock()
	return ch, func() {
		in.mu.Lock()
		defer in.mu.Unlock()
		in.waiters[id] = slices.DeleteFunc(in.waiters[id], func(c chan struct{}) bool { return c == ch })
		if len(in.waiters[id]) == 0 {
			delete(in.waiters, id)
		}
	}
}

// RecheckWaiters wakes the waiters for an event (see EventClosed), so that they check it again.
func (in *Inbox) RecheckWaiters(id string) { in.notifyWaiters(id) }

// recheckAllWaiters wakes all waiters, because another process may have ended their events.
func recheckAllWaiters(in *Inbox) {
	in.mu.Lock()
	ids := slices.Collect(maps.Keys(in.waiters))
	in.mu.Unlock()
	for _, id := range ids {
		in.notifyWaiters(id)
	}
}

func (in *Inbox) notifyWaiters(id string) {
	in.mu.Lock()
	ws := in.waiters[id]
	delete(in.waiters, id)
	in.mu.Unlock()
	for _, w := range ws {
		close(w)
	}
}

// schemaRunning indexes the sessions that run an event.
const schemaRunning = `CREATE INDEX inbox_running ON inbox(session) WHERE state = 'claimed' AND command = 0;`

// heads finds the oldest open event in each queue by jumping from queue to queue in the partial
// index, so its cost depends on the number of queues, not rows. The running event of a session is
// not always the oldest of its queue: a parked event may continue while an older one waits for a
// retry. A claimed event outside its session's queue does not run: its turn waits in memory for the
// owner (see ParkRunning).
const heads = `
WITH RECURSIVE lanes(lane) AS (
	SELECT min(lane) FROM inbox INDEXED BY inbox_open WHERE state IN ('pending', 'claimed')
	UNION ALL
	SELECT (SELECT min(lane) FROM inbox INDEXED BY inbox_open WHERE state IN ('pending', 'claimed') AND lane > lanes.lane)
	FROM lanes WHERE lanes.lane IS NOT NULL)
SELECT h.seq, h.lane, h.session, h.kind, h.provenance, h.command, h.state, max(h.not_before, ` + held + `),
	EXISTS (SELECT 1 FROM inbox r INDEXED BY inbox_running WHERE r.session = h.session AND r.state = 'claimed' AND r.command = 0 AND r.lane = r.session) FROM lanes JOIN inbox h ON h.seq = (
	SELECT seq FROM inbox INDEXED BY inbox_open WHERE state IN ('pending', 'claimed') AND lane = lanes.lane ORDER BY seq LIMIT 1)
WHERE lanes.lane IS NOT NULL`

type queuedEvent struct {
	seq       int64
	lane      string
	session   string
	kind      Kind
	from      provenance.Source
	command   bool
	state     State
	notBefore int64
	busy      bool // an event of the session is running
	served    uint64
}

// priorityRank returns a sort rank: commands first, then messages from owners, then other events,
// then goals.
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
	commits int64     // number of store commits at that time
	at      time.Time // time of that check; zero means that an event was due
	next    time.Time // next known due time
}

// longestCalm is how long Claim may ignore changes that other processes make to the database file.
const longestCalm = 5 * time.Minute

// isStillIdle reports whether it is certain that nothing is due, so that an idle tick needs no
// query.
func (c idleMark) isStillIdle(commits int64, now time.Time) bool {
	return !c.at.IsZero() && c.commits == commits && !now.Before(c.at) && now.Before(c.at.Add(longestCalm)) && (c.next.IsZero() || now.Before(c.next))
}
