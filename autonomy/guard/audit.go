package guard

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"time"

	"hob/platform/provenance"
	"hob/platform/store"
)

// Record is one line of the audit log. It contains text only in the form of keyed digests.
type Record struct {
	Seq     int64           `json:"seq"`
	At      time.Time       `json:"at"`
	Actor   string          `json:"actor"`  // "hob" or "owner"
	Action  string          `json:"action"` // "call", "answer", "undo" or "stop"
	Event   string          `json:"event"`
	Session string          `json:"session"`
	Origin  string          `json:"origin"` // entry point of the action
	Tool    string          `json:"tool"`
	Call    string          `json:"call"`
	Effects string          `json:"effects"`
	Verdict string          `json:"verdict"`
	Rule    string          `json:"rule"`
	Tainted bool            `json:"tainted"`
	Outcome string          `json:"outcome"` // "started", "done" or a typed error code
	Args    json.RawMessage `json:"-"`
	Digest  string          `json:"args_digest"`
	// Origins lists the sources of the untrusted text in context, if any.
	Origins []provenance.Origin `json:"-"`
	// From holds the kind of each origin together with a keyed digest of the origin's label.
	From string `json:"from,omitempty"`
	// Chain is the type of Hash: 0 means a plain SHA-256, which was used before a key existed; 1
	// means an HMAC with the home's audit key.
	Chain int    `json:"chain,omitempty"`
	Prev  string `json:"prev"`
	Hash  string `json:"hash"`
}

// AuditTx appends a line to the chain, in the transaction of the recorded action.
func (g *Guard) AuditTx(tx *store.Tx, r Record) error {
	digest, err := g.keyedDigest(r.Args)
	if err != nil {
		return err
	}
	if r.From, err = g.fromOf(r.Origins); err != nil {
		return err
	}
	key := g.chainKey()
	if r.Chain = plainChain; key != nil {
		r.Chain = keyedChain
	}
	// The sequence number shows whether lines were removed from the end.
	err = tx.QueryRow(`SELECT max(coalesce((SELECT seq FROM sqlite_sequence WHERE name = 'audit'), 0), coalesce((SELECT max(seq) FROM audit), 0)) + 1,
		coalesce((SELECT hash FROM audit ORDER BY seq DESC LIMIT 1), '')`).Scan(&r.Seq, &r.Prev)
	if err != nil {
		return fmt.Errorf("guard: read audit log: %w", err)
	}
	r.At = store.Time(time.Now().UnixMilli())
	r.Digest = digest
	r.Hash = r.computeHash(key)
	_, err = tx.Exec(`INSERT INTO audit (seq, at, actor, action, event, session, origin, tool, call, effects, verdict, rule, tainted, outcome, args_digest, from_texts, chain, prev, hash)
		VALUES (?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?)`, r.Seq, store.Millis(r.At), r.Actor, r.Action, r.Event, r.Session, r.Origin, r.Tool, r.Call,
		r.Effects, r.Verdict, r.Rule, r.Tainted, r.Outcome, r.Digest, r.From, r.Chain, r.Prev, r.Hash)
	if err != nil {
		return fmt.Errorf("guard: write audit log: %w", err)
	}
	return nil
}

const auditColumns = `seq, at, actor, action, event, session, origin, tool, call, effects, verdict, rule, tainted, outcome, args_digest, from_texts, chain, prev, hash`

func scanRecord(rows *sql.Rows) (r Record, err error) {
	var at int64
	err = rows.Scan(&r.Seq, &at, &r.Actor, &r.Action, &r.Event, &r.Session, &r.Origin, &r.Tool, &r.Call, &r.Effects, &r.Verdict, &r.Rule,
		&r.Tainted, &r.Outcome, &r.Digest, &r.From, &r.Chain, &r.Prev, &r.Hash)
	r.At = store.Time(at)
	return r, err
}

// AuditQuery filters the audit log. The zero value selects the whole log. Since is inclusive, and
// Until exclusive.
type AuditQuery struct {
	Event, Session, Tool, Actor, Action, Verdict, Outcome, Call string
	Since, Until                                                time.Time
	Before                                                      int64 // only lines older than this one; 0 means no limit
	Tainted                                                     bool  // only lines influenced by untrusted text
	Limit                                                       int
}

// Audit lists the lines of an event, or all lines if event is "", newest first. If before is not 0,
// it lists only lines older than that line.
func (g *Guard) Audit(ctx context.Context, event string, before int64, limit int) ([]Record, error) {
	return g.AuditLines(ctx, AuditQuery{Event: event, Before: before, Limit: limit})
}

// AuditLines lists the lines that match the query, newest first.
func (g *Guard) AuditLines(ctx context.Context, q AuditQuery) ([]Record, error) {
	rows, err := g.db.Read().QueryContext(ctx, `SELECT `+auditColumns+` FROM audit
		WHERE (?1 = '' OR event = ?1) AND (?2 = '' OR session = ?2) AND (?3 = '' OR tool = ?3) AND (?4 = '' OR actor = ?4) AND (?5 = '' OR action = ?5)
		AND (?6 = '' OR verdict = ?6) AND (?7 = '' OR outcome = ?7) AND (?8 = '' OR call = ?8) AND at >= ?9 AND (?10 = 0 OR at < ?10) AND (?11 = 0 OR seq < ?11)
		AND (?12 = 0 OR tainted <> 0) ORDER BY seq DESC LIMIT ?13`, q.Event, q.Session, q.Tool, q.Actor, q.Action, q.Verdict, q.Outcome, q.Call,
		store.Millis(q.Since), store.Millis(q.Until), q.Before, q.Tainted, q.Limit)
	if err != nil {
		return nil, fmt.Errorf("guard: read audit log: %w", err)
	}
	defer rows.Close()
	out := []Record{}
	for rows.Next() {
		r, err := scanRecord(rows)
		if err != nil {
			return nil, fmt.Errorf("guard: read audit log: %w", err)
		}
		out = append(out, r)
	}
	return out, rows.Err()
}
