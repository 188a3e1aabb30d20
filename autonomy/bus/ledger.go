package bus

import (
	"cmp"
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"hob/platform/provenance"
	"hob/platform/provenance/origins"
	"hob/platform/store"
)

// CallState is the state of a tool call.
type CallState string

// The states of a tool call. If a row is in the state started when the daemon starts, Hob was
// interrupted during the call. The outcome of such a call is unknown, unless its tool only reads
// or runs inside the transaction (tools.TxTool).
const (
	CallStarted CallState = "started"
	CallDone    CallState = "done"
	CallFailed  CallState = "failed"
	CallDenied  CallState = "denied"
	CallUnknown CallState = "unknown"
)

// Entry is one tool call in the ledger.
type Entry struct {
	Call       string            `json:"call"`
	Event      string            `json:"event"`
	Session    string            `json:"session"`
	Tool       string            `json:"tool"`
	Args       json.RawMessage   `json:"arguments"`
	Effects    string            `json:"effects"`
	State      CallState         `json:"state"`
	Decision   string            `json:"decision"`
	Code       string            `json:"code,omitempty"`
	Result     string            `json:"result,omitempty"`
	Data       json.RawMessage   `json:"data,omitempty"`
	Source     provenance.Source `json:"source,omitempty"`
	UndoLabel  string            `json:"undo_label,omitempty"`
	Undo       json.RawMessage   `json:"-"`
	UndoneAt   time.Time         `json:"undone_at,omitzero"`
	UndoneBy   string            `json:"undone_by,omitempty"` // id of the event that undid the call
	StartedAt  time.Time         `json:"started_at"`
	FinishedAt time.Time         `json:"finished_at,omitzero"`
	// Links holds the addresses in the result that may be opened; see tools.Result.
	Links []string `json:"-"`
	// Origins lists the sources of the untrusted text in context when the call was made. They are
	// stored in platform/provenance/origins; the caller that shows the entry fills them in.
	Origins []provenance.Origin `json:"origins,omitempty"`
	// Returned lists the sources of the untrusted text that the call itself returned.
	Returned []provenance.Origin `json:"returned,omitempty"`
}

// ErrEnded means that the call has already ended, so it must not run or be recorded again.
var ErrEnded = errors.New("the call has already ended")

// Ledger records the tool calls that started and how they ended.
type Ledger struct {
	db    *store.Store
	now   func() time.Time
	clean func(string) string
}

// RecordTx writes the entry, or updates the row of the same call. The arguments and the decision of
// a started call may change, because an external agent may start a call before it requests
// permission. If the call has ended, RecordTx returns ErrEnded.
func (l *Ledger) RecordTx(tx *store.Tx, e Entry) error {
	e.Args, e.Result, e.Data = l.cleanJSON(e.Args), l.clean(e.Result), l.cleanJSON(e.Data)
	res, err := tx.Exec(`INSERT INTO ledger (call, event, session, tool, args, effects, state, decision, code, result, data, source, undo_label, undo, started_at, finished_at, links)
		VALUES (?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?)
		ON CONFLICT (call) DO UPDATE SET tool = excluded.tool, args = excluded.args, effects = excluded.effects, decision = excluded.decision, state = excluded.state, code = excluded.code, result = excluded.result, data = excluded.data,
		source = excluded.source, undo_label = excluded.undo_label, undo = excluded.undo, finished_at = excluded.finished_at, links = excluded.links
		WHERE ledger.state = 'started'`,
		e.Call, e.Event, e.Session, e.Tool, []byte(e.Args), e.Effects, e.State, e.Decision, e.Code, e.Result, nullableBlob(e.Data), e.Source,
		e.UndoLabel, nullableBlob(e.Undo), store.Millis(e.StartedAt), store.Millis(e.FinishedAt), strings.Join(e.Links, "\n"))
	if err != nil {
		return fmt.Errorf("bus: write ledger: %w", err)
	}
	if n, err := res.RowsAffected(); err != nil || n != 1 {
		return fmt.Errorf("bus: write the ledger: %s of %s: %w", e.Call, e.Tool, cmp.Or(err, ErrEnded))
	}
	return nil
}

// CallIDs lists the ids of the tool calls in events.
func (l *Ledger) CallIDs(q store.Querier, events []string) (out []string, err error) {
	for _, ev := range events {
		list, err := queryIDs(q, `SELECT call FROM ledger WHERE event = ? ORDER BY seq`, ev)
		if err != nil {
			return nil, err
		}
		out = append(out, list...)
	}
	return out, nil
}

// cleanJSON removes credentials from a JSON value. It drops the whole value if the result is not
// valid JSON.
func (l *Ledger) cleanJSON(raw json.RawMessage) json.RawMessage {
	if len(raw) == 0 {
		return raw
	}
	text := string(raw)
	clean := l.clean(text)
	switch {
	case clean == text:
		return raw
	case json.Valid([]byte(clean)):
		return json.RawMessage(clean)
	}
	return json.RawMessage(`"[redacted]"`)
}

func nullableBlob(b []byte) any {
	if len(b) == 0 {
		return nil
	}
	return b
}

const entryColumns = `call, event, session, tool, args, effects, state, decision, code, result, data, source, undo_label, undo, undone_at, undone_by, started_at, finished_at, links`

func scanEntry(s scanner) (e Entry, err error) {
	var args, data, undo []byte
	var undone, started, finished int64
	var links string
	err = s.Scan(&e.Call, &e.Event, &e.Session, &e.Tool, &args, &e.Effects, &e.State, &e.Decision, &e.Code, &e.Result, &data, &e.Source,
		&e.UndoLabel, &undo, &undone, &e.UndoneBy, &started, &finished, &links)
	e.Args, e.Data, e.Undo = args, data, undo
	if links != "" {
		e.Links = strings.Split(links, "\n") // an address contains no line breaks
	}
	e.UndoneAt, e.StartedAt, e.FinishedAt = store.Time(undone), store.Time(started), store.Time(finished)
	return e, err
}

func (l *Ledger) queryEntries(ctx context.Context, where string, args ...any) ([]Entry, error) {
	rows, err := l.db.Read().QueryContext(ctx, `SELECT `+entryColumns+` FROM ledger `+where, args...)
	if err != nil {
		return nil, fmt.Errorf("bus: read the ledger: %w", err)
	}
	defer rows.Close()
	out := []Entry{}
	for rows.Next() {
		e, err := scanEntry(rows)
		if err != nil {
			return nil, fmt.Errorf("bus: read the ledger: %w", err)
		}
		out = append(out, e)
	}
	return out, rows.Err()
}

// CallsBetween lists calls that started in a period, newest first. reads selects the calls that only
// read, denied the ones that were not allowed.
func (l *Ledger) CallsBetween(ctx context.Context, since, until time.Time, reads, denied bool, limit int) ([]Entry, error) {
	return l.queryEntries(ctx, `WHERE started_at >= ? AND started_at < ? AND (state = 'denied') = ? AND (? OR (effects = 'read') = ?) ORDER BY seq DESC LIMIT ?`,
		store.Millis(since), store.Millis(until), denied, denied, reads, limit)
}

// Calls returns the calls in an event, in order.
func (l *Ledger) Calls(ctx context.Context, event string) ([]Entry, error) {
	return l.queryEntries(ctx, `WHERE event = ? ORDER BY seq`, event)
}

// EffectfulCalls returns the successful calls with effects in a session. It searches the last n
// calls of the entire ledger.
func (l *Ledger) EffectfulCalls(ctx context.Context, session string, n int) ([]Entry, error) {
	return l.queryEntries(ctx, `WHERE seq > (SELECT max(seq) FROM ledger) - ? AND session = ? AND state = 'done' AND effects <> 'read' ORDER BY seq DESC`, n, session)
}

// CallsIn is like Calls, but runs within a transaction.
func (l *Ledger) CallsIn(q store.Querier, event string) ([]Entry, error) {
	rows, err := q.Query(`SELECT `+entryColumns+` FROM ledger WHERE event = ? ORDER BY seq`, event)
	if err != nil {
		return nil, fmt.Errorf("bus: read the ledger: %w", err)
	}
	defer rows.Close()
	var out []Entry
	for rows.Next() {
		e, err := scanEntry(rows)
		if err != nil {
			return nil, fmt.Errorf("bus: read the ledger: %w", err)
		}
		out = append(out, e)
	}
	return out, rows.Err()
}

// Call returns one call.
func (l *Ledger) Call(ctx context.Context, call string) (Entry, error) {
	e, err := scanEntry(l.db.Read().QueryRowContext(ctx, `SELECT `+entryColumns+` FROM ledger WHERE call = ?`, call))
	if errors.Is(err, sql.ErrNoRows) {
		return e, fmt.Errorf("call %q: %w", call, ErrNotFound)
	}
	return e, err
}

// CallWithOrigins returns one call, with the origins of its result instead of the origins of its
// context.
func (l *Ledger) CallWithOrigins(ctx context.Context, call string) (Entry, error) {
	e, err := l.Call(ctx, call)
	if err == nil && e.Source.Tainted() {
		e.Origins, err = origins.Of(l.db.Reader(ctx), origins.Result, call)
	}
	return e, err
}

// FindCreator finds the first call whose result shows that it created or changed the row called id.
// It searches the whole ledger, so use it for explanations, not in a turn.
func (l *Ledger) FindCreator(ctx context.Context, id string) (e Entry, found bool, err error) {
	list, err := l.queryEntries(ctx, `WHERE state = 'done' AND effects <> 'read' AND data IS NOT NULL AND instr(CAST(data AS TEXT), ?) > 0 ORDER BY seq LIMIT 1`, `"id":"`+id+`"`)
	if err != nil || len(list) == 0 {
		return e, false, err
	}
	return list[0], true, nil
}
