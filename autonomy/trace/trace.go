// Package trace manages the traces that the loop stores. There is one row for each finished event
// (how it was handled, the model and its tokens) and one for each event in each tick (what woke the
// loop and which rule decided). The rows contain no untrusted text. The loop writes them in the
// transaction that ends the event. Package explain reads them.
package trace

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"hob/autonomy/llm"
	"hob/platform/store"
	"hob/platform/store/erase"
)

// Turn records how an event was handled.
type Turn struct {
	How       string    `json:"how"` // turn, notice, command, call or error
	Model     string    `json:"model,omitempty"`
	Rounds    int       `json:"rounds"`
	Usage     llm.Usage `json:"usage"`
	Tainted   bool      `json:"tainted"`
	StartedAt time.Time `json:"started_at"`
	EndedAt   time.Time `json:"ended_at"`
}

// Tick records how one tick handled one event.
type Tick struct {
	Tick  string `json:"tick"` // a UUIDv7, which contains the time
	Event string `json:"event"`
	Woke  string `json:"woke"` // one of the Woke constants
	// Rule names the rule that decided how the event was handled. It contains no untrusted
	// text.
	Rule    string    `json:"rule"`
	State   string    `json:"state"` // one of the Tick constants
	At      time.Time `json:"at"`
	EndedAt time.Time `json:"ended_at"`
}

// Reasons why the loop woke.
const (
	WokeStart   = "start"
	WokeArrival = "something arrived"
	WokeSlot    = "a slot became free"
	WokeClock   = "the clock"
)

// States of an event in a tick.
const (
	TickDone  = "done"
	TickWaits = "waits"    // waiting for an answer, a delegated task, or an allowed model call
	TickRetry = "failed"   // the event will be retried
	TickDead  = "given up" // the failure is permanent
)

// Migrations returns the migrations of the tables turns and ticks. Their registered owner is
// package autonomy, which created them.
func Migrations() store.MigrationSet {
	return store.MigrationSet{Owner: "autonomy", Steps: []string{`
CREATE TABLE turns (
	event TEXT PRIMARY KEY, session TEXT NOT NULL, how TEXT NOT NULL, model TEXT NOT NULL, rounds INTEGER NOT NULL,
	input INTEGER NOT NULL, output INTEGER NOT NULL, cache_read INTEGER NOT NULL, cache_write INTEGER NOT NULL, known INTEGER NOT NULL,
	tainted INTEGER NOT NULL, started_at INTEGER NOT NULL, ended_at INTEGER NOT NULL) WITHOUT ROWID;
CREATE INDEX turns_time ON turns(ended_at);
`, `CREATE TABLE ticks (
	tick TEXT NOT NULL, event TEXT NOT NULL, woke TEXT NOT NULL, rule TEXT NOT NULL, state TEXT NOT NULL,
	at INTEGER NOT NULL, ended_at INTEGER NOT NULL, PRIMARY KEY (tick, event)) WITHOUT ROWID;
CREATE INDEX ticks_event ON ticks(event);`}}
}

// Eraser covers the tables turns and ticks, which contain no text.
func Eraser() erase.Eraser { return erase.Owned{Besides: []string{"turns", "ticks"}} }

// WriteTurnTx stores the trace of an event. If the event already has a trace, it is kept.
func WriteTurnTx(tx *store.Tx, event, session string, t Turn) error {
	u := t.Usage
	_, err := tx.Exec(`INSERT INTO turns (event, session, how, model, rounds, input, output, cache_read, cache_write, known, tainted, started_at, ended_at)
		VALUES (?,?,?,?,?,?,?,?,?,?,?,?,?) ON CONFLICT (event) DO NOTHING`, event, session, t.How, t.Model, t.Rounds, u.Input, u.Output,
		u.CacheRead, u.CacheWrite, u.Known, t.Tainted, store.Millis(t.StartedAt), store.Millis(t.EndedAt))
	if err != nil {
		return fmt.Errorf("write the trace of an event: %w", err)
	}
	return nil
}

// ReadTurn returns how an event was handled, or nil if the event is not finished.
func ReadTurn(q store.Querier, event string) (*Turn, error) {
	var t Turn
	var started, ended int64
	err := q.QueryRow(`SELECT how, model, rounds, input, output, cache_read, cache_write, known, tainted, started_at, ended_at FROM turns WHERE event = ?`, event).
		Scan(&t.How, &t.Model, &t.Rounds, &t.Usage.Input, &t.Usage.Output, &t.Usage.CacheRead, &t.Usage.CacheWrite, &t.Usage.Known, &t.Tainted, &started, &ended)
	switch {
	case errors.Is(err, sql.ErrNoRows):
		return nil, nil
	case err != nil:
		return nil, fmt.Errorf("read the trace of an event: %w", err)
	}
	t.StartedAt, t.EndedAt = store.Time(started), store.Time(ended)
	return &t, nil
}

// WriteTickTx stores how a tick handled an event. A later state of the same event in the same tick
// replaces an earlier one.
func WriteTickTx(tx *store.Tx, t Tick) error {
	_, err := tx.Exec(`INSERT INTO ticks (tick, event, woke, rule, state, at, ended_at) VALUES (?,?,?,?,?,?,?)
		ON CONFLICT (tick, event) DO UPDATE SET rule = excluded.rule, state = excluded.state, ended_at = excluded.ended_at`,
		t.Tick, t.Event, t.Woke, t.Rule, t.State, store.Millis(t.At), store.Millis(t.EndedAt))
	if err != nil {
		return fmt.Errorf("write the trace of a tick: %w", err)
	}
	return nil
}

// FindTick returns the newest tick that has the given id or that contains an event with that id. If
// id is "", it returns the newest of all ticks. The result is "" if no tick matches.
func FindTick(q store.Querier, id string) (tick string, err error) {
	err = q.QueryRow(`SELECT tick FROM ticks WHERE ?1 = '' OR tick = ?1 OR event = ?1 ORDER BY tick DESC LIMIT 1`, id).Scan(&tick)
	switch {
	case errors.Is(err, sql.ErrNoRows):
		return "", nil
	case err != nil:
		return "", fmt.Errorf("read ticks: %w", err)
	}
	return tick, nil
}

// TickEvents returns the first 50 events of a tick.
func TickEvents(q store.Querier, tick string) ([]Tick, error) {
	return queryTicks(q, "WHERE tick = ? ORDER BY event LIMIT 50", tick)
}

// EventTicks returns the first 50 ticks that claimed an event, oldest first.
func EventTicks(q store.Querier, event string) ([]Tick, error) {
	return queryTicks(q, "WHERE event = ? ORDER BY tick LIMIT 50", event)
}

// LastTick returns the last tick that claimed an event, or nil if none did.
func LastTick(q store.Querier, event string) (*Tick, error) {
	rows, err := queryTicks(q, "WHERE event = ? ORDER BY tick DESC LIMIT 1", event)
	if err != nil || len(rows) == 0 {
		return nil, err
	}
	return &rows[0], nil
}

func queryTicks(q store.Querier, tail string, args ...any) (out []Tick, err error) {
	rows, err := q.Query("SELECT tick, event, woke, rule, state, at, ended_at FROM ticks "+tail, args...)
	if err != nil {
		return nil, fmt.Errorf("read ticks: %w", err)
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	for rows.Next() {
		var t Tick
		var at, ended int64
		if err := rows.Scan(&t.Tick, &t.Event, &t.Woke, &t.Rule, &t.State, &at, &ended); err != nil {
			return nil, fmt.Errorf("read ticks: %w", err)
		}
		t.At, t.EndedAt = store.Time(at), store.Time(ended)
		out = append(out, t)
	}
	return out, rows.Err()
}

// PruneTicks deletes traces of ticks that are older than keep, but at most 5,000 rows. If keep is
// 0, it deletes none.
func PruneTicks(ctx context.Context, s *store.Store, keep time.Duration) error {
	if keep <= 0 {
		return nil
	}
	before := smallestID(time.Now().Add(-keep))
	var old bool
	if err := s.Reader(ctx).QueryRow("SELECT EXISTS (SELECT 1 FROM ticks WHERE tick < ?)", before).Scan(&old); err != nil || !old {
		return err
	}
	return s.Write(ctx, func(tx *store.Tx) error {
		_, err := tx.Exec("DELETE FROM ticks WHERE tick IN (SELECT tick FROM ticks WHERE tick < ? LIMIT 5000)", before)
		return err
	})
}

// smallestID returns the smallest id that a tick at the given time can have (RFC 9562, UUIDv7: the
// first 48 bits are Unix milliseconds).
func smallestID(t time.Time) string {
	hex := fmt.Sprintf("%012x", max(0, t.UnixMilli()))
	return hex[:8] + "-" + hex[8:]
}
