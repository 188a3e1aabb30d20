package watchers

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"hob/platform/store"
)

// heldTables is the schema for signals of event-driven watchers that are deferred until the active
// hours begin.
const heldTables = `CREATE TABLE watcher_held (
	seq INTEGER PRIMARY KEY AUTOINCREMENT,
	watcher TEXT NOT NULL,
	signal TEXT NOT NULL
);
CREATE INDEX watcher_held_of ON watcher_held (watcher, seq)`

// heldAtOnce is the number of deferred signals that are fired per transaction.
const heldAtOnce = 200

// splitByHours returns the signals to fire now and the signals to defer until the active hours
// begin. With the policy Skip it drops signals outside the active hours.
func (m *Manager) splitByHours(spec Spec, run []Signal, now time.Time) (fire, hold []Signal) {
	p, err := spec.PollPolicy.parsePace()
	if err != nil || p.hours.containsTime(now.In(m.opt.Zone())) {
		return run, nil
	}
	if spec.Missed != Skip {
		return nil, run
	}
	for _, s := range run {
		m.opt.Log.Info("signal skipped", "watcher", spec.ID, "why", "it came outside of the active hours "+spec.Hours+", and signals at that time are skipped", "key", s.Key)
		m.silent.addPassed(SuppressedSignal{Watcher: spec.ID, Rule: RuleHours, Key: s.Key, Text: s.Text, At: now, Why: "it came outside of the active hours " + spec.Hours + ", and signals at that time are skipped (missed)"})
	}
	return nil, nil
}

// holdTx defers signals until the active hours begin.
func (m *Manager) holdTx(tx *store.Tx, id string, signals []Signal) error {
	for _, s := range signals {
		raw, err := json.Marshal(s)
		if err != nil {
			return fmt.Errorf("watchers: defer signal: %w", err)
		}
		if _, err := tx.Exec("INSERT INTO watcher_held (watcher, signal) VALUES (?, ?)", id, string(raw)); err != nil {
			return fmt.Errorf("watchers: defer signal: %w", err)
		}
	}
	if len(signals) > 0 {
		m.checkDeferredAfterCommit(tx, id)
	}
	return nil
}

// checkDeferredAfterCommit makes the loop check the deferred signals of a watcher once tx is
// committed.
func (m *Manager) checkDeferredAfterCommit(tx *store.Tx, id string) {
	tx.AfterCommit(func() {
		m.mu.Lock()
		if m.running {
			m.holding[id] = true
		}
		m.mu.Unlock()
		m.wakeLoop()
	})
}

// DeferredSignal is a signal that the watcher fires when its active hours begin.
type DeferredSignal struct {
	Signal Signal
	Hours  string // active hours that caused the delay
}

// Held lists the deferred signals of a watcher, oldest first.
func (m *Manager) Held(ctx context.Context, id string) (out []DeferredSignal, err error) {
	q := m.opt.Store.Reader(ctx)
	r, err := m.selectRow(q, id)
	if err != nil {
		return nil, err
	}
	signals, _, err := selectHeld(q, id)
	for _, s := range signals {
		out = append(out, DeferredSignal{s, r.Hours})
	}
	return out, err
}

func selectHeld(q store.Querier, id string) (out []Signal, last int64, err error) {
	rows, err := q.Query("SELECT seq, signal FROM watcher_held WHERE watcher = ? ORDER BY seq LIMIT ?", id, heldAtOnce)
	if err != nil {
		return nil, 0, fmt.Errorf("watchers: read deferred signals: %w", err)
	}
	defer rows.Close()
	for rows.Next() {
		var s Signal
		var raw string
		if err := rows.Scan(&last, &raw); err != nil {
			return nil, 0, fmt.Errorf("watchers: read deferred signals: %w", err)
		}
		if json.Unmarshal([]byte(raw), &s) == nil { // skips rows that an erasure made invalid
			out = append(out, s)
		}
	}
	return out, last, rows.Err()
}

// loadDeferred finds the watchers with deferred signals.
func (l *loop) loadDeferred(ctx context.Context) error {
	rows, err := l.m.opt.Store.Reader(ctx).Query("SELECT DISTINCT watcher FROM watcher_held")
	if err != nil {
		return fmt.Errorf("watchers: read deferred signals: %w", err)
	}
	defer rows.Close()
	for rows.Next() {
		var id string
		if err := rows.Scan(&id); err != nil {
			return fmt.Errorf("watchers: read deferred signals: %w", err)
		}
		l.held[id] = activeHours{}
	}
	if err := rows.Err(); err != nil {
		return err
	}
	for id := range l.held {
		l.updateDeferred(ctx, id)
	}
	return nil
}

// updateDeferred records the active hours of a watcher with deferred signals.
func (l *loop) updateDeferred(ctx context.Context, id string) {
	r, err := l.m.selectRow(l.m.opt.Store.Reader(ctx), id)
	if errors.Is(err, ErrNotFound) || err == nil && r.State != Active {
		delete(l.held, id)
		return
	}
	p, _ := r.PollPolicy.parsePace() // an invalid pace does not defer signals
	l.held[id] = p.hours
}

// fireDeferred fires the deferred signals of the watchers whose active hours have started. It
// returns the time until the next active hours begin, or -1 if there are no deferred signals.
func (l *loop) fireDeferred(ctx context.Context, now time.Time) time.Duration {
	wait := time.Duration(-1)
	for id, h := range l.held {
		pause := firstRetry
		switch here := now.In(l.zone); {
		case !h.containsTime(here):
			pause = min(h.nextOpening(here).Sub(now), longestSleep)
		case l.told[id] == nil: // the watcher has ended in the meantime
			delete(l.held, id)
			continue
		default:
			err := l.fireAllDeferred(ctx, id, now)
			if err == nil {
				delete(l.held, id)
				continue
			}
			if errors.Is(err, errGone) || errors.Is(err, ErrNotFound) {
				delete(l.held, id)
				continue
			}
			l.m.reportTrouble(ctx, l.told[id], id, err)
		}
		if wait < 0 || pause < wait {
			wait = pause
		}
	}
	return wait
}

// fireAllDeferred fires all deferred signals of a watcher in chronological order.
func (l *loop) fireAllDeferred(ctx context.Context, id string, now time.Time) error {
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
		err = l.m.commitFiring(ctx, id, firing{signals: signals, at: now, save: func(tx *store.Tx) error {
			_, err := tx.Exec("DELETE FROM watcher_held WHERE watcher = ? AND seq <= ?", id, last)
			return err
		}})
		if err != nil {
			return err
		}
	}
	return ctx.Err()
}
