package knowledge

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"time"

	"hob/knowledge/store"
	"hob/platform/failpoint"
	"hob/platform/shortid"
)

// ErasingOptions of NewErasing.
type ErasingOptions struct {
	// Erasers lists those of every package that keeps text, the Base among them.
	Erasers func() []Eraser
	// Running are the events whose turns run now; nil: there are none. A turn
	// has what it works on in memory, and writes of it until it ends.
	Running func(q store.Querier) ([]string, error)
	// Renew makes the old backups go and a new one in their place; nil: there
	// are none. It returns how many went.
	Renew func(ctx context.Context) (int, error)
	Log   *slog.Logger
}

// Erasing carries erasures out. One that was begun is finished, whatever kills
// the process: it is a row of the table erasures, which holds what is to go only
// until it is gone. Then nothing is left of it but counts.
type Erasing struct {
	st  *store.Store
	opt ErasingOptions

	working sync.Mutex // one erasure at a time
	wake    chan struct{}

	mu      sync.Mutex
	changed chan struct{} // closed when a state has changed
}

// States of an erasure.
const (
	EraseOpen    = "open"    // begun: the facts are gone, the rest waits for the turn that asked to end
	EraseSwept   = "swept"   // taken out once; turns that ran meanwhile may have written of it again
	EraseCleared = "cleared" // nothing is left but what the file of the database holds of removed rows
	EraseDone    = "done"
)

// ErasureStatus says how far an erasure is.
type ErasureStatus struct {
	ID       string    `json:"id"`
	State    string    `json:"state"`
	Rows     int       `json:"rows"`     // removed
	Scrubbed int       `json:"scrubbed"` // rows and files in which something was replaced
	Files    int       `json:"files"`    // removed
	Backups  int       `json:"backups"`  // older ones, in whose place a new one was made
	BegunAt  time.Time `json:"begun_at"`
	EndedAt  time.Time `json:"ended_at,omitzero"`
}

const erasuresTable = `
CREATE TABLE erasures (
	id TEXT PRIMARY KEY, event TEXT NOT NULL, state TEXT NOT NULL, plan BLOB, running TEXT NOT NULL DEFAULT '[]', keep_backups INTEGER NOT NULL,
	removed INTEGER NOT NULL DEFAULT 0, scrubbed INTEGER NOT NULL DEFAULT 0, files INTEGER NOT NULL DEFAULT 0, backups INTEGER NOT NULL DEFAULT 0,
	begun_at INTEGER NOT NULL, ended_at INTEGER NOT NULL DEFAULT 0) WITHOUT ROWID;
CREATE INDEX erasures_open ON erasures(begun_at) WHERE state <> 'done';
`

// NewErasing works on the store that was opened with this package's Migrations.
func NewErasing(st *store.Store, opt ErasingOptions) *Erasing {
	if opt.Running == nil {
		opt.Running = func(store.Querier) ([]string, error) { return nil, nil }
	}
	if opt.Log == nil {
		opt.Log = slog.New(slog.DiscardHandler)
	}
	return &Erasing{st: st, opt: opt, wake: make(chan struct{}, 1), changed: make(chan struct{})}
}

// BeginTx begins an erasure: facts and rows go in this transaction, all else
// follows when the turn of event, which asked for it, has ended. With keep the
// older backups stay as they are.
func (x *Erasing) BeginTx(tx *store.Tx, b *Base, e Erasure, event string, keep bool) (id string, err error) {
	if e.Empty() {
		return "", ErrNothingToGo
	}
	e.ID = shortid.New("e")
	plan, err := json.Marshal(e)
	if err != nil {
		return "", fmt.Errorf("knowledge: forget: %w", err)
	}
	n, err := b.goTx(tx, &e)
	if err != nil {
		return "", err
	}
	_, err = tx.Exec(`INSERT INTO erasures (id, event, state, plan, keep_backups, removed, begun_at) VALUES (?, ?, ?, ?, ?, ?, ?)`,
		e.ID, event, EraseOpen, plan, keep, n, time.Now().UnixMilli())
	if err != nil {
		return "", fmt.Errorf("knowledge: forget: %w", err)
	}
	tx.AfterCommit(x.poke)
	return e.ID, nil
}

func (x *Erasing) poke() {
	select {
	case x.wake <- struct{}{}:
	default:
	}
}

// Run finishes what was begun, also before the last start, until ctx ends.
func (x *Erasing) Run(ctx context.Context) error {
	wait := time.Duration(0)
	for {
		left, err := x.work(ctx, true)
		switch {
		case ctx.Err() != nil:
			return nil
		case err != nil:
			x.opt.Log.Error("what was to be forgotten is not gone yet; it is tried again", "err", err)
			wait = min(max(2*wait, time.Second), time.Minute)
		case left:
			wait = min(max(wait*3/2, 50*time.Millisecond), time.Second)
		default:
			wait = 0
		}
		if !x.pause(ctx, wait) {
			return nil
		}
	}
}

// pause waits so long, 0: until something is begun.
func (x *Erasing) pause(ctx context.Context, wait time.Duration) bool {
	var due <-chan time.Time
	if wait > 0 {
		t := time.NewTimer(wait)
		defer t.Stop()
		due = t.C
	}
	select {
	case <-ctx.Done():
		return false
	case <-due:
	case <-x.wake:
	}
	return true
}

// Finish carries out all that was begun; no turn may be running.
func (x *Erasing) Finish(ctx context.Context) error {
	_, err := x.work(ctx, false)
	return err
}

// pending is a row that is not done.
type pending struct {
	id, event, state string
	plan             []byte
	running          []string
	keep             bool
}

// work brings every erasure as far as it can be brought now; left says that one
// waits for turns to end.
func (x *Erasing) work(ctx context.Context, patient bool) (left bool, err error) {
	x.working.Lock()
	defer x.working.Unlock()
	list, err := x.pending(ctx)
	if err != nil || len(list) == 0 {
		return false, err
	}
	keep, cleared := true, 0
	for _, p := range list {
		done, err := x.bring(ctx, p, patient)
		if err != nil {
			return true, err
		}
		if !done {
			left = true
			continue
		}
		keep = keep && p.keep
		cleared++
	}
	if cleared > 0 {
		err = x.compact(ctx, keep)
	}
	return left, err
}

func (x *Erasing) pending(ctx context.Context) (out []pending, err error) {
	rows, err := x.st.Reader(ctx).Query(`SELECT id, event, state, coalesce(plan, x''), running, keep_backups FROM erasures WHERE state <> 'done' ORDER BY begun_at`)
	if err != nil {
		return nil, fmt.Errorf("knowledge: erasures: %w", err)
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	for rows.Next() {
		var p pending
		var running string
		if err := rows.Scan(&p.id, &p.event, &p.state, &p.plan, &running, &p.keep); err != nil {
			return nil, fmt.Errorf("knowledge: erasures: %w", err)
		}
		if err := json.Unmarshal([]byte(running), &p.running); err != nil {
			return nil, fmt.Errorf("knowledge: erasures: %w", err)
		}
		out = append(out, p)
	}
	return out, rows.Err()
}

// bring takes one erasure to the state cleared.
func (x *Erasing) bring(ctx context.Context, p pending, patient bool) (bool, error) {
	if p.state == EraseCleared {
		return true, nil
	}
	var running []string
	if patient {
		var err error
		if running, err = x.opt.Running(x.st.Reader(ctx)); err != nil {
			return false, err
		}
	}
	if p.state == EraseOpen && slices.Contains(running, p.event) || slices.ContainsFunc(p.running, func(ev string) bool { return slices.Contains(running, ev) }) {
		return false, nil
	}
	if p.state == EraseSwept {
		running = nil // those that may hold it have ended; what began later read what is clean
	}
	if err := x.sweep(ctx, p, running); err != nil {
		return false, err
	}
	if len(running) > 0 {
		return false, nil
	}
	return true, x.note(ctx, `UPDATE erasures SET state = ?, plan = NULL, running = '[]', event = '' WHERE id = ?`, EraseCleared, p.id)
}

// sweep lets every eraser take out what it has.
func (x *Erasing) sweep(ctx context.Context, p pending, running []string) error {
	var e Erasure
	if err := json.Unmarshal(p.plan, &e); err != nil {
		return fmt.Errorf("knowledge: erasure %s: %w", p.id, err)
	}
	s := e.Scrubber()
	holders, err := json.Marshal(running)
	if err != nil {
		return fmt.Errorf("knowledge: erasure %s: %w", p.id, err)
	}
	var n Erased
	err = x.st.Write(ctx, func(tx *store.Tx) error {
		n = Erased{}
		for _, r := range x.opt.Erasers() {
			m, err := r.EraseTx(tx, &e, s)
			if err != nil {
				return err
			}
			n = n.Add(m)
		}
		_, err := tx.Exec(`UPDATE erasures SET state = ?, running = ?, removed = removed + ?, scrubbed = scrubbed + ? WHERE id = ?`,
			EraseSwept, string(holders), n.Rows, n.Scrubbed, p.id)
		return err
	})
	if err != nil {
		return fmt.Errorf("knowledge: forget: %w", err)
	}
	failpoint.Hit("erase.swept")
	n = Erased{}
	for _, r := range x.opt.Erasers() {
		m, err := r.Purge(ctx, &e, s)
		if err != nil {
			return fmt.Errorf("knowledge: forget: %w", err)
		}
		n = n.Add(m)
	}
	failpoint.Hit("erase.purged")
	return x.note(ctx, `UPDATE erasures SET removed = removed + ?, scrubbed = scrubbed + ?, files = files + ? WHERE id = ?`, n.Rows, n.Scrubbed, n.Files, p.id)
}

// errTried ends a transaction that only looked.
var errTried = errors.New("tried")

// Try says what an erasure would change in the database, and changes nothing.
func (x *Erasing) Try(ctx context.Context, e Erasure) (n Erased, err error) {
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

// compact takes out of the file of the database what removed rows left there,
// and of the backups what they still hold.
func (x *Erasing) compact(ctx context.Context, keep bool) error {
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
	return x.note(ctx, `UPDATE erasures SET state = ?, backups = ?, ended_at = ? WHERE state = ?`, EraseDone, gone, time.Now().UnixMilli(), EraseCleared)
}

func (x *Erasing) note(ctx context.Context, stmt string, args ...any) error {
	err := x.st.Write(ctx, func(tx *store.Tx) error {
		_, err := tx.Exec(stmt, args...)
		return err
	})
	if err != nil {
		return fmt.Errorf("knowledge: erasures: %w", err)
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	close(x.changed)
	x.changed = make(chan struct{})
	return nil
}

// Status of one erasure, ErrNoErasure when there is none of that id.
func (x *Erasing) Status(ctx context.Context, id string) (ErasureStatus, error) {
	list, err := x.list(ctx, `WHERE id = ?`, id)
	if err == nil && len(list) == 0 {
		err = fmt.Errorf("%w: %s", ErrNoErasure, id)
	}
	if err != nil {
		return ErasureStatus{ID: id}, err
	}
	return list[0], nil
}

// List returns erasures, the newest first.
func (x *Erasing) List(ctx context.Context, limit int) ([]ErasureStatus, error) {
	return x.list(ctx, `ORDER BY begun_at DESC, id LIMIT ?`, limit)
}

func (x *Erasing) list(ctx context.Context, where string, args ...any) (out []ErasureStatus, err error) {
	rows, err := x.st.Reader(ctx).Query(`SELECT id, state, removed, scrubbed, files, backups, begun_at, ended_at FROM erasures `+where, args...)
	if err != nil {
		return nil, fmt.Errorf("knowledge: erasures: %w", err)
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	for rows.Next() {
		var s ErasureStatus
		var begun, ended int64
		if err := rows.Scan(&s.ID, &s.State, &s.Rows, &s.Scrubbed, &s.Files, &s.Backups, &begun, &ended); err != nil {
			return nil, fmt.Errorf("knowledge: erasures: %w", err)
		}
		s.BegunAt, s.EndedAt = store.Time(begun), store.Time(ended)
		out = append(out, s)
	}
	return out, rows.Err()
}

// Wait returns when an erasure is done, or with ctx's error. Run must be running.
func (x *Erasing) Wait(ctx context.Context, id string) (ErasureStatus, error) {
	for {
		x.mu.Lock()
		changed := x.changed
		x.mu.Unlock()
		s, err := x.Status(ctx, id)
		if err != nil || s.State == EraseDone {
			return s, err
		}
		select {
		case <-ctx.Done():
			return s, ctx.Err()
		case <-changed:
		}
	}
}

// ErasedMark names how far erasures are. Whoever holds a text outside of a transaction
// reads it before the text, and again in the transaction that writes of it: when
// it is another, what is held may have been forgotten meanwhile.
func ErasedMark(q store.Querier) (mark string, err error) {
	var begun, open, swept int
	err = q.QueryRow(`SELECT count(*), coalesce(sum(state = ?), 0), coalesce(sum(state = ?), 0) FROM erasures`, EraseOpen, EraseSwept).Scan(&begun, &open, &swept)
	if err != nil {
		return "", fmt.Errorf("knowledge: erasures: %w", err)
	}
	return fmt.Sprintf("%d.%d.%d", begun, open, swept), nil
}
