package guard

import (
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"hob/autonomy/api"
	"hob/platform/provenance"
	"hob/platform/store"
)

// The ways to compute the hash of a line.
const (
	plainChain = 0
	keyedChain = 1
)

// keyedNow is the outcome of the audit line that is written when a log gets its first key.
const keyedNow = "keyed"

// auditSteps make the log append-only for plain SQL. Changes made after the triggers were dropped
// are detected with the key.
const auditSteps = `
ALTER TABLE audit ADD COLUMN from_texts TEXT NOT NULL DEFAULT '';
ALTER TABLE audit ADD COLUMN chain INTEGER NOT NULL DEFAULT 0;
CREATE TRIGGER audit_no_update BEFORE UPDATE ON audit BEGIN SELECT RAISE(ABORT, 'the audit log is append-only'); END;
CREATE TRIGGER audit_no_delete BEFORE DELETE ON audit BEGIN SELECT RAISE(ABORT, 'the audit log is append-only'); END;
CREATE TRIGGER audit_no_insert BEFORE INSERT ON audit WHEN NEW.seq <= (SELECT max(seq) FROM audit)
	BEGIN SELECT RAISE(ABORT, 'the audit log is append-only'); END;
`

// computeHash computes the hash of the line from all its fields and the hash of the previous line.
func (r Record) computeHash(key []byte) string {
	r.Hash = ""
	b, err := json.Marshal(r)
	if err != nil { // plain strings and numbers can always be encoded
		panic(err)
	}
	if r.Chain == plainChain {
		sum := sha256.Sum256(b)
		return hex.EncodeToString(sum[:])
	}
	return hmacHex(key, b)
}

func hmacHex(key, b []byte) string {
	m := hmac.New(sha256.New, key)
	m.Write(b)
	return hex.EncodeToString(m.Sum(nil))
}

// deriveKey derives a key for one use from a common key.
func deriveKey(key []byte, use string) []byte {
	m := hmac.New(sha256.New, key)
	m.Write([]byte("hob audit: " + use))
	return m.Sum(nil)
}

// TamperError reports a changed line in an audit log.
type TamperError struct {
	Line int64 // the first line that does not match, or the last existing line
	Why  string
}

func (e *TamperError) Error() string {
	return fmt.Sprintf("the audit log was altered at line %d: %s", e.Line, e.Why)
}

// checker verifies a chain line by line. A log may begin without a key. From the first keyed line
// on, all lines must be keyed. The first keyed line authenticates the lines before it.
type checker struct {
	key   []byte // nil means that keyed lines cannot be verified
	begun bool
	keyed bool
	last  Record
	lines int64
}

// checkNext verifies the next line. first is the number of the first line, which is 1 for a
// complete log.
func (c *checker) checkNext(r Record, first int64) error {
	want, prev := first, ""
	if c.begun {
		want, prev = c.last.Seq+1, c.last.Hash
	}
	bad := func(why string) error { return &TamperError{Line: want, Why: why} }
	switch {
	case r.Seq != want:
		return bad(fmt.Sprintf("found line %d instead", r.Seq))
	case (c.begun || first == 1) && r.Prev != prev:
		return bad("it does not continue the chain of the line before it")
	case r.Chain == plainChain && c.keyed:
		return bad("it was written without a key, although the lines before it were written with one")
	case r.Chain == keyedChain && c.begun && !c.keyed && (r.Action != "audit" || r.Outcome != keyedNow):
		return bad("the lines before it were written without a key, and it does not authenticate them")
	case r.Chain != plainChain && r.Chain != keyedChain:
		return bad("its hash is of an unknown type")
	case r.Chain == keyedChain && c.key == nil:
		return errNoKey
	case !hmac.Equal([]byte(r.Hash), []byte(r.computeHash(c.key))):
		return bad("its content does not match its hash, or it was written with another audit key")
	}
	c.begun, c.last, c.keyed = true, r, r.Chain == keyedChain
	c.lines++
	return nil
}

// checkEnd verifies the end of a log if there is a key: the last line must then be keyed.
func (c *checker) checkEnd() error {
	if c.begun && c.key != nil && !c.keyed {
		return &TamperError{Line: c.last.Seq, Why: "it was written without a key, although an audit key exists"}
	}
	return nil
}

// Verify verifies the complete chain. It returns a *TamperError with the first line that was
// altered or is missing.
func (g *Guard) Verify(ctx context.Context) (lines int64, err error) {
	h, err := g.VerifyAll(ctx)
	return h.Lines, err
}

// ChainHead describes the end of the log.
type ChainHead struct {
	Lines int64  `json:"lines"`
	Hash  string `json:"head"`
	// Unkeyed is the number of lines written before a key existed.
	Unkeyed int64 `json:"unkeyed,omitempty"`
	// Restores lists the restores of a backup, each with the end of the log that it replaced.
	Restores []api.AuditRestore `json:"restores,omitempty"`
}

// VerifyAll is like Verify, but returns the end of the log.
func (g *Guard) VerifyAll(ctx context.Context) (h ChainHead, err error) {
	var last int64 // read the last line first, because other processes may add lines during verification
	err = g.db.Read().QueryRowContext(ctx, `SELECT coalesce((SELECT seq FROM sqlite_sequence WHERE name = 'audit'), 0)`).Scan(&last)
	if err != nil {
		return h, fmt.Errorf("guard: read audit log: %w", err)
	}
	anchor, err := g.readAnchor()
	if err != nil {
		return h, err
	}
	c := checker{key: g.chainKey()}
	err = g.eachLine(ctx, 0, 0, func(r Record) error {
		if err := c.checkNext(r, 1); err != nil {
			return err
		}
		if r.Chain == plainChain {
			h.Unkeyed++
		}
		if cut, ok := restoreOf(r); ok {
			h.Restores = append(h.Restores, cut)
		}
		if anchor != nil && r.Seq == anchor.Lines && r.Hash != anchor.Hash {
			return &TamperError{Line: r.Seq, Why: "it differs from the line recorded on " + anchor.At.Format("2006-01-02")}
		}
		return nil
	})
	h.Lines, h.Hash = c.lines, c.last.Hash
	if err == nil {
		err = c.checkEnd()
	}
	if err == nil && anchor != nil {
		last = max(last, anchor.Lines)
	}
	if err == nil && h.Lines < last {
		err = &TamperError{Line: h.Lines, Why: fmt.Sprintf("%d lines are missing after it", last-h.Lines)}
	}
	if err != nil {
		return h, fmt.Errorf("guard: verify audit log: %w", err)
	}
	return h, nil
}

// eachLine calls fn for each line from from to to, in order; a to of 0 means to the end.
func (g *Guard) eachLine(ctx context.Context, from, to int64, fn func(Record) error) error {
	rows, err := g.db.Read().QueryContext(ctx, `SELECT `+auditColumns+` FROM audit WHERE seq >= ?1 AND (?2 = 0 OR seq <= ?2) ORDER BY seq`, from, to)
	if err != nil {
		return fmt.Errorf("read lines: %w", err)
	}
	defer rows.Close()
	for rows.Next() {
		r, err := scanRecord(rows)
		if err != nil {
			return fmt.Errorf("read lines: %w", err)
		}
		if err := fn(r); err != nil {
			return err
		}
	}
	return rows.Err()
}

var errNoKey = errors.New("the audit key is missing")

// InitKeys initializes the keys of the audit log. If Options contains no digest key, InitKeys
// stores one in the database on first use. If a log has no key, InitKeys adds a line that
// authenticates all lines before it. Call it before anything is recorded.
func (g *Guard) InitKeys(ctx context.Context) error {
	key := make([]byte, 32)
	_, _ = rand.Read(key) // never fails (crypto/rand, Go 1.24)
	last := Record{Chain: -1}
	shared := g.db.IsShared() && len(g.opt.AuditKey) > 0
	if shared { // all instances write one log, so they need one key: the one of the first instance
		key = g.opt.AuditKey
	}
	err := g.db.Write(ctx, func(tx *store.Tx) error {
		rows, err := tx.Query(`SELECT ` + auditColumns + ` FROM audit ORDER BY seq DESC LIMIT 1`)
		if err != nil {
			return err
		}
		defer rows.Close()
		if rows.Next() {
			if last, err = scanRecord(rows); err != nil {
				return err
			}
		}
		if err := errors.Join(rows.Err(), rows.Close()); err != nil {
			return err
		}
		insert := `INSERT INTO guard_key (id, key) VALUES (1, ?) ON CONFLICT (id) DO NOTHING`
		if shared && (last.Chain == plainChain || last.Chain == keyedChain && last.computeHash(deriveKey(key, "chain")) == last.Hash) { // the log was copied from this home
			insert = `INSERT INTO guard_key (id, key) VALUES (1, ?) ON CONFLICT (id) DO UPDATE SET key = excluded.key`
		}
		if _, err := tx.Exec(insert, key); err != nil {
			return err
		}
		return tx.QueryRow(`SELECT key FROM guard_key WHERE id = 1`).Scan(&key)
	})
	if err != nil {
		return fmt.Errorf("guard: read audit key: %w", err)
	}
	g.mu.Lock()
	g.key = key
	if len(g.opt.AuditKey) > 0 {
		if g.master = g.opt.AuditKey; shared {
			g.master = key
		}
		g.key, g.chain = deriveKey(g.master, "digests"), deriveKey(g.master, "chain")
	}
	g.mu.Unlock()
	g.openTombstones()
	return g.takeUp(ctx, last)
}

// takeUp checks whether a log with this last line belongs to the current key, and sets foreign if
// not. A log without a key but with an anchor was replaced, because anchors are written with the
// key. Otherwise takeUp adds the first keyed line to a log without a key, and writes a missing
// anchor.
func (g *Guard) takeUp(ctx context.Context, last Record) error {
	chain := g.chainKey()
	a, err := g.readAnchor()
	strange := err != nil
	switch last.Chain {
	case keyedChain:
		strange = strange || chain == nil || last.computeHash(chain) != last.Hash
	case plainChain:
		strange = strange || a != nil
		if chain == nil || strange {
			break
		}
		err := g.db.Write(ctx, func(tx *store.Tx) error {
			return g.AuditTx(tx, Record{Actor: "hob", Action: "audit", Origin: "start", Verdict: "allow", Rule: "the chain has a key from here on", Outcome: keyedNow})
		})
		if err != nil {
			return err
		}
	}
	if strange {
		g.mu.Lock()
		g.foreign = true
		g.mu.Unlock()
		return nil
	}
	if a == nil {
		_, err = g.WriteAnchor(ctx)
	}
	return err
}

// ForeignKey reports whether the log or its anchor was written with a key other than this home's.
// This means that the key or the log was lost or replaced.
func (g *Guard) ForeignKey() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.foreign
}

func (g *Guard) chainKey() []byte {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.chain
}

// keyedDigest returns a keyed digest of b. Equal inputs have equal digests, and without the key no
// one can verify a guess of the input.
func (g *Guard) keyedDigest(b []byte) (string, error) {
	g.mu.Lock()
	key := g.key
	g.mu.Unlock()
	if len(key) == 0 {
		return "", fmt.Errorf("guard: %w; InitKeys was not called", errNoKey)
	}
	return hmacHex(key, b), nil
}

// fromOf formats origins for the log without their text: the kind of each origin, and a keyed
// digest of its label.
func (g *Guard) fromOf(list []provenance.Origin) (string, error) {
	if len(list) == 0 {
		return "", nil
	}
	var out []string
	for _, o := range provenance.Join(list) {
		if o.Kind == "more" {
			out = append(out, "more:"+o.Label)
			continue
		}
		d, err := g.keyedDigest([]byte(o.Label))
		if err != nil {
			return "", err
		}
		out = append(out, o.Kind+":"+d[:16])
	}
	return strings.Join(out, " "), nil
}
