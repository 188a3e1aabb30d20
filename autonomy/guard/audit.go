package guard

import (
	"context"
	"crypto/hmac"
	"crypto/rand"
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
	// The sequence remembers lines that were removed from the end.
	err = tx.QueryRow(`SELECT max(coalesce((SELECT seq FROM sqlite_sequence WHERE name = 'audit'), 0), coalesce((SELECT max(seq) FROM audit), 0)) + 1,
		coalesce((SELECT hash FROM audit ORDER BY seq DESC LIMIT 1), '')`).Scan(&r.Seq, &r.Prev)
	if err != nil {
		return fmt.Errorf("guard: audit: %w", err)
	}
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
	var last int64 // read first: lines may be added meanwhile
	err = g.db.Read().QueryRowContext(ctx, `SELECT coalesce((SELECT seq FROM sqlite_sequence WHERE name = 'audit'), 0)`).Scan(&last)
	if err != nil {
		return 0, fmt.Errorf("guard: audit: %w", err)
	}
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
	if err := rows.Err(); err != nil {
		return lines, fmt.Errorf("guard: audit: %w", err)
	}
	if lines < last {
		return lines, fmt.Errorf("guard: the audit log was altered: %d lines are missing after line %d", last-lines, lines)
	}
	return lines, nil
}

var errNoKey = errors.New("guard: the audit key is missing; Prepare was not called")

// Prepare reads the key of the audit log's digests, and makes it on first use.
// It must be called before anything is recorded.
func (g *Guard) Prepare(ctx context.Context) error {
	key := make([]byte, 32)
	_, _ = rand.Read(key) // never fails (crypto/rand, Go 1.24)
	err := g.db.Write(ctx, func(tx *store.Tx) error {
		if _, err := tx.Exec(`INSERT OR IGNORE INTO guard_key (id, key) VALUES (1, ?)`, key); err != nil {
			return err
		}
		return tx.QueryRow(`SELECT key FROM guard_key WHERE id = 1`).Scan(&key)
	})
	if err != nil {
		return fmt.Errorf("guard: key: %w", err)
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	g.key = key
	return nil
}

// digest is a keyed digest of a text: equal texts are recognised, none can be
// read back or guessed without the key.
func (g *Guard) digest(b []byte) (string, error) {
	g.mu.Lock()
	key := g.key
	g.mu.Unlock()
	if len(key) == 0 {
		return "", errNoKey
	}
	m := hmac.New(sha256.New, key)
	m.Write(b)
	return hex.EncodeToString(m.Sum(nil)), nil
}
