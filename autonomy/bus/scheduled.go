package bus

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"hob/platform/provenance"
	"hob/platform/store"
	"hob/platform/text/sorting"
)

// schemaScheduled adds the table of delayed calls.
const schemaScheduled = `
CREATE TABLE scheduled_sends (
	call TEXT PRIMARY KEY,
	event TEXT NOT NULL, session TEXT NOT NULL, report TEXT NOT NULL, agent TEXT NOT NULL, realm TEXT NOT NULL,
	tool TEXT NOT NULL, effects TEXT NOT NULL, args BLOB NOT NULL, frozen BLOB, exact TEXT NOT NULL, what TEXT NOT NULL,
	provenance TEXT NOT NULL, zone TEXT NOT NULL,
	state TEXT NOT NULL, attempts INTEGER NOT NULL DEFAULT 0, at INTEGER NOT NULL, created_at INTEGER NOT NULL,
	ended_at INTEGER NOT NULL DEFAULT 0, error TEXT NOT NULL DEFAULT '');
CREATE INDEX scheduled_open ON scheduled_sends(at) WHERE state IN ('waiting', 'sending', 'committed');
`

// SendState is the state of a delayed call.
type SendState string

// The states of a delayed call. It can be canceled while it is waiting or sending, because nothing
// has reached anyone. A crash in the state committed leaves the outcome unknown. An accepted call was
// sent, and only its result is not recorded yet.
const (
	SendWaiting   SendState = "waiting"
	SendSending   SendState = "sending"
	SendCommitted SendState = "committed"
	SendAccepted  SendState = "accepted"
	SendSent      SendState = "sent"
	SendFailed    SendState = "failed"
	SendUnknown   SendState = "unknown"
	SendCancelled SendState = "cancelled"
)

// ErrCancelled reports that a delayed call was canceled: it must not reach anyone.
var ErrCancelled = errors.New("the user canceled the call")

// ScheduledSend is a call that reaches other people and waits until At, so that the user can cancel
// it.
type ScheduledSend struct {
	Call    string
	Event   string
	Session string
	Report  string // conversation that is notified of a failure
	Agent   string
	Realm   string
	Tool    string
	Effects string
	Args    json.RawMessage
	// Frozen is what the call will send, or nil if the tool resolves the arguments again.
	Frozen json.RawMessage
	Exact  string // the approved binding
	// What describes the send, for example "the email to ada@example.org".
	What string
	// Provenance is the provenance of What and of the call's context.
	Provenance provenance.Source
	Zone       string // the user's time zone at the call
	State      SendState
	Attempts   int
	At         time.Time
	CreatedAt  time.Time
	EndedAt    time.Time
	Error      string
}

// ScheduledSends stores the delayed calls. A row is added in the transaction that records its call
// as done. Its methods may be called concurrently.
type ScheduledSends struct {
	db    *store.Store
	now   func() time.Time
	clean func(string) string
	wake  chan struct{}
}

const sendColumns = `call, event, session, report, agent, realm, tool, effects, args, frozen, exact, what, provenance, zone, state, attempts, at, created_at, ended_at, error`

func scanSend(s scanner) (d ScheduledSend, err error) {
	var at, created, ended int64
	var args, frozen []byte
	err = s.Scan(&d.Call, &d.Event, &d.Session, &d.Report, &d.Agent, &d.Realm, &d.Tool, &d.Effects, &args, &frozen, &d.Exact, &d.What, &d.Provenance, &d.Zone,
		&d.State, &d.Attempts, &at, &created, &ended, &d.Error)
	d.Args, d.Frozen, d.At, d.CreatedAt, d.EndedAt = args, frozen, store.Time(at), store.Time(created), store.Time(ended)
	return d, err
}

// Wake returns a channel that receives a value when a call is added.
func (x *ScheduledSends) Wake() <-chan struct{} { return x.wake }

// AddTx stores a call that waits until d.At.
func (x *ScheduledSends) AddTx(tx *store.Tx, d ScheduledSend) error {
	_, err := tx.Exec(`INSERT INTO scheduled_sends (call, event, session, report, agent, realm, tool, effects, args, frozen, exact, what, provenance, zone, state, at, created_at)
		VALUES (?,?,?,?,?,?,?,?,?,?,?,?,?,?,'waiting',?,?)`, d.Call, d.Event, d.Session, d.Report, d.Agent, d.Realm, d.Tool, d.Effects, []byte(d.Args), nullableBlob(d.Frozen), d.Exact,
		x.clean(d.What), d.Provenance, d.Zone, store.Millis(d.At), store.Millis(d.CreatedAt))
	if err != nil {
		return fmt.Errorf("bus: delay call %s: %w", d.Call, err)
	}
	tx.AfterCommit(x.signalWork)
	return nil
}

func (x *ScheduledSends) signalWork() {
	select {
	case x.wake <- struct{}{}:
	default:
	}
}

// Get returns one delayed call, or ErrNotFound if there is none.
func (x *ScheduledSends) Get(q store.Querier, call string) (ScheduledSend, error) {
	d, err := scanSend(q.QueryRow(`SELECT `+sendColumns+` FROM scheduled_sends WHERE call = ?`, call))
	if errors.Is(err, sql.ErrNoRows) {
		return d, fmt.Errorf("delayed call %q: %w", call, ErrNotFound)
	}
	return d, err
}

// OpenCalls returns the delayed calls of an event that can still be canceled.
func (x *ScheduledSends) OpenCalls(q store.Querier, event string) ([]string, error) {
	return queryIDs(q, `SELECT call FROM scheduled_sends INDEXED BY scheduled_open WHERE state IN ('waiting', 'sending', 'committed') AND state <> 'committed' AND event = ? ORDER BY at`, event)
}

// EventCalls returns the delayed calls of an event.
func (x *ScheduledSends) EventCalls(ctx context.Context, event string) ([]ScheduledSend, error) {
	return scanSends(x.db.Read().QueryContext(ctx, `SELECT `+sendColumns+` FROM scheduled_sends WHERE call IN (SELECT call FROM ledger WHERE event = ?) ORDER BY at`, event))
}

// CancelTx cancels a delayed call that has not reached anyone, with a reason. Otherwise it returns
// the unchanged row and ErrTooLate.
func (x *ScheduledSends) CancelTx(tx *store.Tx, call, why string) (ScheduledSend, error) {
	res, err := tx.Exec(`UPDATE scheduled_sends SET state = 'cancelled', error = ?, ended_at = ?, args = '{}', frozen = NULL WHERE call = ? AND state IN ('waiting', 'sending', 'held')`,
		why, x.now().UnixMilli(), call)
	if err != nil {
		return ScheduledSend{}, fmt.Errorf("bus: cancel call %s: %w", call, err)
	}
	d, err := x.Get(tx, call)
	if err != nil {
		return d, err
	}
	if n, err := res.RowsAffected(); err != nil || n == 0 {
		return d, errors.Join(err, ErrTooLate)
	}
	return d, nil
}

// Claim marks up to n due calls as sending and returns them, the earliest first.
func (x *ScheduledSends) Claim(ctx context.Context, n int) (out []ScheduledSend, err error) {
	if next, ok, err := x.Next(ctx); err != nil || !ok || next.After(x.now()) || n <= 0 {
		return nil, err
	}
	err = x.db.Write(ctx, func(tx *store.Tx) error {
		out, err = scanSends(tx.Query(`UPDATE scheduled_sends SET state = 'sending', attempts = attempts + 1 WHERE call IN (
			SELECT call FROM scheduled_sends INDEXED BY scheduled_open WHERE state IN ('waiting', 'sending', 'committed') AND state = 'waiting' AND at <= ? ORDER BY at LIMIT ?) RETURNING `+sendColumns, x.now().UnixMilli(), n))
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("bus: claim delayed calls: %w", err)
	}
	sorting.StableByFunc(out, func(a, b ScheduledSend) int { return a.At.Compare(b.At) })
	return out, nil
}

// Next returns the time at which the next waiting call is due.
func (x *ScheduledSends) Next(ctx context.Context) (at time.Time, ok bool, err error) {
	var ms sql.NullInt64
	err = x.db.Read().QueryRowContext(ctx, `SELECT min(at) FROM scheduled_sends INDEXED BY scheduled_open WHERE state IN ('waiting', 'sending', 'committed') AND state = 'waiting'`).Scan(&ms)
	if err != nil {
		return at, false, fmt.Errorf("bus: read delayed calls: %w", err)
	}
	return store.Time(ms.Int64), ms.Valid, nil
}

// Commit records that a claimed call is about to reach someone. It returns ErrCancelled if the call
// was canceled and must not reach anyone.
func (x *ScheduledSends) Commit(ctx context.Context, call string) error {
	return x.changeState(ctx, call, `UPDATE scheduled_sends SET state = 'committed' WHERE call = ?1 AND state = 'sending'`)
}

// Accept records that a committed call was sent.
func (x *ScheduledSends) Accept(ctx context.Context, call string) error {
	return x.changeState(ctx, call, `UPDATE scheduled_sends SET state = 'accepted' WHERE call = ?1 AND state = 'committed'`)
}

// Retry puts a claimed call that has reached no one back into the state waiting, due at the time
// at.
func (x *ScheduledSends) Retry(ctx context.Context, call string, at time.Time, why string) error {
	return x.changeState(ctx, call, `UPDATE scheduled_sends SET state = 'waiting', at = ?2, error = ?3 WHERE call = ?1 AND state IN ('sending', 'committed')`, store.Millis(at), x.clean(why))
}

func (x *ScheduledSends) changeState(ctx context.Context, call, update string, args ...any) error {
	var n int64
	err := x.db.Write(ctx, func(tx *store.Tx) error {
		res, err := tx.Exec(update, append([]any{call}, args...)...)
		if err != nil {
			return err
		}
		n, err = res.RowsAffected()
		return err
	})
	switch {
	case err != nil:
		return fmt.Errorf("bus: update delayed call %s: %w", call, err)
	case n == 0:
		return ErrCancelled
	}
	return nil
}

// EndTx records how a claimed call ended. It returns ErrCancelled if the call had
// already been canceled.
func (x *ScheduledSends) EndTx(tx *store.Tx, call string, state SendState, why string) error {
	res, err := tx.Exec(`UPDATE scheduled_sends SET state = ?, error = ?, ended_at = ?, args = '{}', frozen = NULL WHERE call = ? AND state IN ('sending', 'committed', 'accepted')`,
		state, x.clean(why), x.now().UnixMilli(), call)
	if err != nil {
		return fmt.Errorf("bus: end delayed call %s: %w", call, err)
	}
	if n, err := res.RowsAffected(); err != nil || n == 0 {
		return errors.Join(err, ErrCancelled)
	}
	return nil
}

// Recover prepares the calls that a crash interrupted: calls that reached no one wait again.
// Recover returns the committed calls, whose outcome is unknown, and the accepted ones, which were
// sent. Call it before the first Claim.
func (x *ScheduledSends) Recover(ctx context.Context) (interrupted []ScheduledSend, err error) {
	err = x.db.Write(ctx, func(tx *store.Tx) error {
		if _, err := tx.Exec(`UPDATE scheduled_sends SET state = 'waiting', attempts = attempts - 1 WHERE state = 'sending'`); err != nil {
			return err
		}
		interrupted, err = scanSends(tx.Query(`SELECT ` + sendColumns + ` FROM scheduled_sends WHERE state IN ('committed', 'accepted') ORDER BY at`))
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("bus: recover delayed calls: %w", err)
	}
	return interrupted, nil
}

func scanSends(rows *sql.Rows, err error) (out []ScheduledSend, _ error) {
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for rows.Next() {
		d, err := scanSend(rows)
		if err != nil {
			return nil, err
		}
		out = append(out, d)
	}
	return out, rows.Err()
}

// sendUndo is the undo data of a delayed call.
type sendUndo struct {
	Scheduled string `json:"scheduled"`
}

// ScheduledUndo returns the undo data of a delayed call.
func ScheduledUndo(call string) any { return sendUndo{call} }

// IsScheduledUndo reports whether undo data belongs to a delayed call.
func IsScheduledUndo(call string, undo json.RawMessage) bool {
	var u sendUndo
	return json.Unmarshal(undo, &u) == nil && u.Scheduled == call
}

// EndScheduledTx updates the row of a call that was recorded as done when it was delayed. If e has
// no undo data, the stored undo data stays, so that a later undo can explain that it is too late.
func (l *Ledger) EndScheduledTx(tx *store.Tx, e Entry) error {
	_, err := tx.Exec(`UPDATE ledger SET state = ?, code = ?, result = ?, source = ?, data = ?, finished_at = ?, undo_label = coalesce(?, undo_label), undo = coalesce(?, undo) WHERE call = ?`,
		e.State, e.Code, l.clean(e.Result), e.Source, nullableBlob(l.cleanJSON(e.Data)), l.now().UnixMilli(), nullableText(e.UndoLabel), nullableBlob(e.Undo), e.Call)
	if err != nil {
		return fmt.Errorf("bus: update the ledger: %w", err)
	}
	return nil
}

func nullableText(s string) any {
	if s == "" {
		return nil
	}
	return s
}
