package guard

import (
	"context"
	"crypto/hmac"
	"database/sql"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"time"

	"hob/platform/host/system"
	"hob/platform/retry"
	"hob/platform/store"
)

// anchor is the end of the log as stored outside the database. If the log is shorter or contains a
// different line at that position, it was changed.
type anchor struct {
	Lines int64     `json:"lines"`
	Hash  string    `json:"head"`
	At    time.Time `json:"at"`
	MAC   string    `json:"mac"`
}

func (a anchor) computeMAC(key []byte) string {
	return hmacHex(deriveKey(key, "anchor"), fmt.Appendf(nil, "%d %s %d", a.Lines, a.Hash, a.At.UnixMilli()))
}

// Head returns the current end of the log.
func (g *Guard) Head(ctx context.Context) (h ChainHead, err error) {
	err = g.db.Read().QueryRowContext(ctx, `SELECT seq, hash FROM audit ORDER BY seq DESC LIMIT 1`).Scan(&h.Lines, &h.Hash)
	if err != nil && !errors.Is(err, sql.ErrNoRows) {
		return h, fmt.Errorf("guard: read audit log: %w", err)
	}
	return h, nil
}

// WriteAnchor writes the end of the log to the anchor file if it has changed. It does not overwrite
// the anchor of a truncated log; in that case it returns the error from Truncated.
func (g *Guard) WriteAnchor(ctx context.Context) (ChainHead, error) {
	h, err := g.Head(ctx)
	key := g.chainKey()
	if err != nil || g.opt.Anchor == "" || key == nil || g.ForeignKey() {
		return h, err
	}
	if err := g.Truncated(ctx); err != nil {
		return h, err
	}
	old, err := g.readAnchor()
	if err != nil || old != nil && old.Lines >= h.Lines {
		return h, err
	}
	a := anchor{Lines: h.Lines, Hash: h.Hash, At: time.Now().UTC().Truncate(time.Millisecond)}
	a.MAC = a.computeMAC(key)
	b, err := json.Marshal(a)
	if err != nil {
		return h, err
	}
	return h, system.WriteFile(g.opt.Anchor, append(b, '\n'))
}

// Truncated returns a *TamperError if the log does not contain the line recorded in the anchor. It
// reads only that line.
func (g *Guard) Truncated(ctx context.Context) error {
	a, err := g.readAnchor()
	if err != nil || a == nil || a.Lines == 0 {
		return err
	}
	var hash string
	err = g.db.Read().QueryRowContext(ctx, `SELECT hash FROM audit WHERE seq = ?`, a.Lines).Scan(&hash)
	switch {
	case errors.Is(err, sql.ErrNoRows):
		return &TamperError{Line: a.Lines, Why: "it is missing, although it existed on " + a.At.Format("2006-01-02 15:04")}
	case err != nil:
		return fmt.Errorf("guard: read audit log: %w", err)
	case hash != a.Hash:
		return &TamperError{Line: a.Lines, Why: "it differs from the line recorded on " + a.At.Format("2006-01-02 15:04")}
	}
	return nil
}

// readAnchor returns the anchor, or nil if there is none. An anchor with a wrong MAC is an error,
// because it may hide a change.
func (g *Guard) readAnchor() (*anchor, error) { return g.readAnchorFile(g.opt.Anchor) }

func (g *Guard) readAnchorFile(name string) (*anchor, error) {
	key := g.chainKey()
	if name == "" || key == nil {
		return nil, nil
	}
	b, err := os.ReadFile(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("guard: read the anchor of the audit log: %w; make the file readable", err)
	}
	var a anchor
	if json.Unmarshal(b, &a) != nil || !hmac.Equal([]byte(a.MAC), []byte(a.computeMAC(key))) {
		return nil, fmt.Errorf("guard: the anchor of the audit log, %s, was changed or belongs to another audit key", name)
	}
	return &a, nil
}

// OpenAuditKey reads the audit log key, or creates it. A new home of a fleet gets the key of the fleet's
// log, so that it can verify an export. If the store replaced the database, OpenAuditKey moves the anchor
// of its log away for ReplacedCut.
func OpenAuditKey(ctx context.Context, paths system.Paths, db *store.Store) ([]byte, error) {
	if r := db.Replacement(); r != nil {
		name, old := paths.AuditAnchorFile(), replacedAnchor(paths.AuditAnchorFile(), r)
		_, err := os.Stat(old)
		if err == nil { // after a crash, name is the anchor of the new log
			err = os.Remove(name)
		} else {
			err = system.Rename(name, old)
		}
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, fmt.Errorf("move the anchor of the audit log aside: %w", err)
		}
	}
	if _, err := os.Stat(paths.AuditKeyFile()); db.IsShared() && errors.Is(err, fs.ErrNotExist) {
		var key []byte
		err := db.Read().QueryRowContext(ctx, `SELECT key FROM guard_key WHERE id = 1`).Scan(&key)
		if err == nil {
			err = system.WriteFile(paths.AuditKeyFile(), []byte(hex.EncodeToString(key)+"\n"))
		}
		if err != nil && !errors.Is(err, sql.ErrNoRows) {
			return nil, fmt.Errorf("copy the key of the audit log from the database: %w", err)
		}
	}
	return system.EnsureKey(paths.AuditKeyFile())
}

// CheckStart checks the audit log at startup. It returns an error if the log lost lines since the
// last run, or was written with a key other than the one in keyFile.
func (g *Guard) CheckStart(ctx context.Context, keyFile string) error {
	if err := g.Truncated(ctx); err != nil {
		return err
	}
	if g.ForeignKey() {
		return fmt.Errorf("the audit log was written with a key other than %s", keyFile)
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.altered
}

// anchorEvery is how often the end of the log is written to the anchor while Hob is running.
const anchorEvery = 24 * time.Hour

// RunAnchor writes the end of the audit log to its anchor and to the daily log once a day.
func (g *Guard) RunAnchor(ctx context.Context, log *slog.Logger) error {
	for retry.Sleep(ctx, anchorEvery) == nil {
		g.LogAnchor(ctx, log)
	}
	return nil
}

// LogAnchor writes the end of the audit log to its anchor and to the daily log.
func (g *Guard) LogAnchor(ctx context.Context, log *slog.Logger) {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	h, err := g.WriteAnchor(ctx)
	if err != nil {
		log.WarnContext(ctx, "cannot write the anchor of the audit log", "err", err)
		return
	}
	if h.Lines > 0 {
		log.InfoContext(ctx, "audit log", "lines", h.Lines, "head", h.Hash)
	}
}
