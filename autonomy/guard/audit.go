package guard

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"hob/knowledge/store"
)

// Record is one line of the audit log. Texts enter it only as keyed digests.
type Record struct {
	Seq     int64           `json:"seq"`
	At      time.Time       `json:"at"`
	Actor   string          `json:"actor"`  // "hob", "owner"
	Action  string          `json:"action"` // "call", "answer", "undo", "stop"
	Event   string          `json:"event"`
	Session string          `json:"session"`
	Origin  string          `json:"origin"` // the entry point
	Tool    string          `json:"tool"`
	Call    string          `json:"call"`
	Effects string          `json:"effects"`
	Verdict string          `json:"verdict"`
	Rule    string          `json:"rule"`
	Tainted bool            `json:"tainted"`
	Outcome string          `json:"outcome"` // "started", "done", a typed error code
	Args    json.RawMessage `json:"-"`
	Digest  string          `json:"args_digest"`
	Prev    string          `json:"prev"`
	Hash    string          `json:"hash"`
}

// chain computes the line's hash over all its fields and the one before it.
func (r Record) chain() string {
	r.Hash = ""
	b, err := json.Marshal(r)
	if err != nil { // plain strings and numbers always encode
		panic(err)
	}
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:])
}

// AuditTx appends a line to the chain, in the transaction of what it reports.
func (g *Guard) AuditTx(tx *store.Tx, r Record) error {
	digest, err := g.digest(r.Args)
	if err != nil {
		return err
	}
	err = tx.QueryRow(`SELECT seq, hash FROM audit ORDER BY seq DESC LIMIT 1`).Scan(&r.Seq, &r.Prev)
	if err != nil && !errors.Is(err, sql.ErrNoRows) {
		return fmt.Errorf("guard: audit: %w", err)
	}
	r.Seq++
	r.At = store.Time(time.Now().UnixMilli())
	r.Digest = digest
	r.Hash = r.chain()
	_, err = tx.Exec(`INSERT INTO audit (seq, at, actor, action, event, session, origin, tool, call, effects, verdict, rule, tainted, outcome, args_digest, prev, hash)
		VALUES (?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?)`, r.Seq, store.Millis(r.At), r.Actor, r.Action, r.Event, r.Session, r.Origin, r.Tool, r.Call,
		r.Effects, r.Verdict, r.Rule, r.Tainted, r.Outcome, r.Digest, r.Prev, r.Hash)
	if err != nil {
		return fmt.Errorf("guard: audit: %w", err)
	}
	return nil
}

const auditColumns = `seq, at, actor, action, event, session, origin, tool, call, effects, verdict, rule, tainted, outcome, args_digest, prev, hash`

func scanRecord(rows *sql.Rows) (r Record, err error) {
	var at int64
	err = rows.Scan(&r.Seq, &at, &r.Actor, &r.Action, &r.Event, &r.Session, &r.Origin, &r.Tool, &r.Call, &r.Effects, &r.Verdict, &r.Rule,
		&r.Tainted, &r.Outcome, &r.Digest, &r.Prev, &r.Hash)
	r.At = store.Time(at)
	return r, err
}

// Audit lists the log, newest first, older than the line `before` when it is
// not 0, of one event or (empty) all.
func (g *Guard) Audit(ctx context.Context, event string, before int64, limit int) ([]Record, error) {
	rows, err := g.db.Read().QueryContext(ctx, `SELECT `+auditColumns+` FROM audit
		WHERE (? = '' OR event = ?) AND (? = 0 OR seq < ?) ORDER BY seq DESC LIMIT ?`, event, event, before, before, limit)
	if err != nil {
		return nil, fmt.Errorf("guard: audit: %w", err)
	}
	defer rows.Close()
	out := []Record{}
	for rows.Next() {
		r, err := scanRecord(rows)
		if err != nil {
			return nil, fmt.Errorf("guard: audit: %w", err)
		}
		out = append(out, r)
	}
	return out, rows.Err()
}

// Verify walks the whole chain and reports the first line that was altered or
// is missing.
func (g *Guard) Verify(ctx context.Context) (lines int64, err error) {
	rows, err := g.db.Read().QueryContext(ctx, `SELECT `+auditColumns+` FROM audit ORDER BY seq`)
	if err != nil {
		return 0, fmt.Errorf("guard: audit: %w", err)
	}
	defer rows.Close()
	prev := ""
	for rows.Next() {
		r, err := scanRecord(rows)
		if err != nil {
			return lines, fmt.Errorf("guard: audit: %w", err)
		}
		lines++
		if r.Seq != lines || r.Prev != prev || r.Hash != r.chain() {
			return lines, fmt.Errorf("guard: the audit log was altered at line %d", lines)
		}
		prev = r.Hash
	}
	return lines, rows.Err()
}
