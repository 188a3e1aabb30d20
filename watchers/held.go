package watchers

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"hob/knowledge/store"
)

// heldTables keep what event-driven watchers noticed outside of their active
// hours, until these begin.
const heldTables = `CREATE TABLE watcher_held (
	seq INTEGER PRIMARY KEY AUTOINCREMENT,
	watcher TEXT NOT NULL,
	signal TEXT NOT NULL
);
CREATE INDEX watcher_held_of ON watcher_held (watcher, seq)`

// heldAtOnce is how many held signals are told in one write.
const heldAtOnce = 200

// admit parts what may fire now from what is kept for the active hours. With the
// policy Skip what happens outside of them is not told at all.
func (m *Manager) admit(spec Spec, run []Signal, now time.Time) (fire, hold []Signal) {
	p, err := spec.Pace.parse()
	if err != nil || p.hours.in(now.In(m.opt.Zone())) {
		return run, nil
	}
	if spec.Missed != Skip {
		return nil, run
	}
	for _, s := range run {
		m.opt.Log.Info("a watcher's signal is not told", "watcher", spec.ID, "why", "it came outside of the active hours "+spec.Hours+", and what comes then is skipped", "key", s.Key)
		m.silent.note(Passed{Watcher: spec.ID, Rule: RuleHours, Key: s.Key, Text: s.Text, At: now, Why: "it came outside of the active hours " + spec.Hours + ", and what comes then is skipped (missed)"})
	}
	return nil, nil
}

// holdTx keeps signals until the active hours begin.
func (m *Manager) holdTx(tx *store.Tx, id string, signals []Signal) error {
	for _, s := range signals {
		raw, err := json.Marshal(s)
		if err != nil {
			return fmt.Errorf("watchers: hold: %w", err)
		}
		if _, err := tx.Exec("INSERT INTO watcher_held (watcher, signal) VALUES (?, ?)", id, string(raw)); err != nil {
			return fmt.Errorf("watchers: hold: %w", err)
		}
	}
	if len(signals) > 0 {
		m.lookAtHeld(tx, id)
	}
	return nil
}

// lookAtHeld has the loop look at what is held of a watcher.
func (m *Manager) lookAtHeld(tx *store.Tx, id string) {
	tx.AfterCommit(func() {
		m.mu.Lock()
		if m.running {
			m.holding[id] = true
		}
		m.mu.Unlock()
		m.nudge()
	})
}

// Held is something that a watcher noticed and tells when its active hours begin.
type Held struct {
	Signal Signal
	Hours  string // why
}

// Held lists what waits for the active hours of a watcher, oldest first.
func (m *Manager) Held(ctx context.Context, id string) (out []Held, err error) {
	q := m.opt.Store.Reader(ctx)
	r, err := selectRow(q, id)
	if err != nil {
		return nil, err
	}
	signals, _, err := selectHeld(q, id)
	for _, s := range signals {
		out = append(out, Held{s, r.Hours})
	}
	return out, err
}

func selectHeld(q store.Querier, id string) (out []Signal, last int64, err error) {
	rows, err := q.Query("SELECT seq, signal FROM watcher_held WHERE watcher = ? ORDER BY seq LIMIT ?", id, heldAtOnce)
	if err != nil {
		return nil, 0, fmt.Errorf("watchers: read what is held: %w", err)
	}
	defer rows.Close()
	for rows.Next() {
		var s Signal
		var raw string
		if err := rows.Scan(&last, &raw); err != nil {
			return nil, 0, fmt.Errorf("watchers: read what is held: %w", err)
		}
		if json.Unmarshal([]byte(raw), &s) == nil { // else something was forgotten in the midst of it
			out = append(out, s)
		}
	}
	return out, last, rows.Err()
}

// loadHeld finds the watchers that hold something.
func (l *loop) loadHeld(ctx context.Context) error {
	rows, err := l.m.opt.Store.Reader(ctx).Query("SELECT DISTINCT watcher FROM watcher_held")
	if err != nil {
		return fmt.Errorf("watchers: read what is held: %w", err)
	}
	defer rows.Close()
	for rows.Next() {
		var id string
		if err := rows.Scan(&id); err != nil {
			return fmt.Errorf("watchers: read what is held: %w", err)
		}
		l.held[id] = hours{}
	}
	if err := rows.Err(); err != nil {
		return err
	}
	for id := range l.held {
		l.hold(ctx, id)
	}
	return nil
}

// hold notes when a watcher that holds something may tell it.
func (l *loop) hold(ctx context.Context, id string) {
	r, err := selectRow(l.m.opt.Store.Reader(ctx), id)
	if errors.Is(err, ErrNotFound) || err == nil && r.State != Active {
		delete(l.held, id)
		return
	}
	p, _ := r.Pace.parse() // one that cannot be read holds nothing back
	l.held[id] = p.hours
}

// release tells what was held of watchers whose hours have begun, and returns how
// long it is until the next begin; -1 when nothing is held.
func (l *loop) release(ctx context.Context, now time.Time) time.Duration {
	wait := time.Duration(-1)
	for id, h := range l.held {
		pause := firstRetry
		switch here := now.In(l.zone); {
		case !h.in(here):
			pause = min(h.opens(here).Sub(now), longestSleep)
		case l.told[id] == nil: // it ended meanwhile
			delete(l.held, id)
			continue
		default:
			err := l.tellHeld(ctx, id, now)
			if err == nil {
				delete(l.held, id)
				continue
			}
			if errors.Is(err, errGone) || errors.Is(err, ErrNotFound) {
				delete(l.held, id)
				continue
			}
			l.m.trouble(ctx, l.told[id], id, err)
		}
		if wait < 0 || pause < wait {
			wait = pause
		}
	}
	return wait
}

// tellHeld fires all that a watcher holds, in the order in which it happened.
func (l *loop) tellHeld(ctx context.Context, id string, now time.Time) error {
	for ctx.Err() == nil {
		signals, last, err := selectHeld(l.m.opt.Store.Reader(ctx), id)
		if err != nil || last == 0 {
			return err
		}
		for i, s := range signals {
			if late := now.Sub(s.At); late > 0 && !s.At.IsZero() {
				signals[i].Late = late
			}
		}
		fired, at := firing(signals, now)
		err = l.m.fireWith(ctx, id, signals, func(tx *store.Tx) error {
			if err := one(tx.Exec("UPDATE watchers SET fired = fired + ?, fired_at = max(fired_at, ?) WHERE id = ? AND state = ?",
				fired, at, id, string(Active))); err != nil {
				return err
			}
			_, err := tx.Exec("DELETE FROM watcher_held WHERE watcher = ? AND seq <= ?", id, last)
			return err
		})
		if err != nil {
			return err
		}
	}
	return ctx.Err()
}
