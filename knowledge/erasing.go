package knowledge

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"hob/platform/host/system"
	"hob/platform/retry"
	"hob/platform/store"
	"hob/platform/store/erase"
	"hob/platform/store/tombstone"
	"hob/platform/text/shortid"
)

// ErasingOptions configures NewErasing.
type ErasingOptions struct {
	// Erasers lists the erasers of all packages that store text, including the Base.
	Erasers func() []Eraser
	// Running returns the events whose turns are in progress. If it is nil, there are none. A turn
	// holds its input in memory and may write parts of the input until it ends.
	Running func(q store.Querier) ([]string, error)
	// Renew deletes the older backups and creates a new one. It returns the number of deleted
	// backups. If it is nil, there are no backups.
	Renew func(ctx context.Context) (int, error)
	// Tombstones records erasures outside the database, so that a restored backup does not bring
	// the text back; nil disables it.
	Tombstones *tombstone.Log
	Log        *slog.Logger
}

// ErasureService runs erasures. An erasure survives a crash: its row in the table erasures contains
// the plan until the data is removed. After that the row contains only counts.
type ErasureService struct {
	st  *store.Store
	opt ErasingOptions

	working sync.Mutex // serializes erasures
	wake    chan struct{}

	mu      sync.Mutex
	changed chan struct{}     // closed when a state changes
	trouble map[string]string // last error by erasure id
}

const erasuresTable = `
CREATE TABLE erasures (
	id TEXT PRIMARY KEY, event TEXT NOT NULL, state TEXT NOT NULL, plan BLOB, running TEXT NOT NULL DEFAULT '[]', keep_backups INTEGER NOT NULL,
	removed INTEGER NOT NULL DEFAULT 0, scrubbed INTEGER NOT NULL DEFAULT 0, files INTEGER NOT NULL DEFAULT 0, backups INTEGER NOT NULL DEFAULT 0,
	begun_at INTEGER NOT NULL, ended_at INTEGER NOT NULL DEFAULT 0) WITHOUT ROWID;
CREATE INDEX erasures_open ON erasures(begun_at) WHERE state <> 'done';
`

// NewErasing returns a service on a store that was opened with this package's Migrations.
func NewErasing(st *store.Store, opt ErasingOptions) *ErasureService {
	if opt.Running == nil {
		opt.Running = func(store.Querier) ([]string, error) { return nil, nil }
	}
	if opt.Log == nil {
		opt.Log = slog.New(slog.DiscardHandler)
	}
	return &ErasureService{st: st, opt: opt, wake: make(chan struct{}, 1), changed: make(chan struct{}), trouble: map[string]string{}}
}

// BeginTx starts an erasure. This transaction removes facts and rows. The other data is removed
// when the turn of event, which made the request, has ended. If keep is set, the older backups are
// kept.
func (x *ErasureService) BeginTx(tx *store.Tx, b *Base, e Erasure, event string, keep bool) (id string, err error) {
	if e.Empty() {
		return "", ErrNothingToGo
	}
	e.ID = shortid.New("e")
	plan, err := json.Marshal(e)
	if err != nil {
		return "", fmt.Errorf("knowledge: erase data: %w", err)
	}
	n, err := b.removeRowsTx(tx, &e, nil)
	if err != nil {
		return "", err
	}
	_, err = tx.Exec(`INSERT INTO erasures (id, event, state, plan, keep_backups, removed, begun_at) VALUES (?, ?, ?, ?, ?, ?, ?)`,
		e.ID, event, EraseOpen, plan, keep, n.Rows, time.Now().UnixMilli())
	if err != nil {
		return "", fmt.Errorf("knowledge: erase data: %w", err)
	}
	sealed, err := json.Marshal(e.Seal(x.opt.Tombstones.Key()))
	if err != nil {
		return "", fmt.Errorf("knowledge: erase data: %w", err)
	}
	if err := x.opt.Tombstones.AddTx(tx, tombstone.Erasure, e.ID, sealed); err != nil {
		return "", err
	}
	tx.AfterCommit(x.signalWork)
	return e.ID, nil
}

// ReopenTx restarts an erasure whose text a restored backup has brought back. It keeps the backups,
// and the next FinishRestored completes the erasure. An erasure that is already in the database is
// not restarted.
func ReopenTx(tx *store.Tx, e Erasure) error {
	plan, err := json.Marshal(e)
	if err != nil {
		return fmt.Errorf("knowledge: erase data: %w", err)
	}
	_, err = tx.Exec(`INSERT INTO erasures (id, event, state, plan, keep_backups, begun_at) VALUES (?, ?, ?, ?, 1, ?) ON CONFLICT (id) DO NOTHING`,
		e.ID, restoreEvent, EraseOpen, plan, time.Now().UnixMilli())
	if err != nil {
		return fmt.Errorf("knowledge: erase data: %w", err)
	}
	return nil
}

// restoreEvent takes the place of the requesting event in erasures that ReopenTx started.
const restoreEvent = "restore"

// FinishRestored completes the erasures that ReopenTx started. Call it before any turn can read the
// text.
func (x *ErasureService) FinishRestored(ctx context.Context) error {
	list, err := x.pendingErasures(ctx)
	if err != nil || !slices.ContainsFunc(list, func(p pendingErasure) bool { return p.event == restoreEvent }) {
		return err
	}
	return x.FinishAll(ctx)
}

func (x *ErasureService) signalWork() {
	select {
	case x.wake <- struct{}{}:
	default:
	}
}

// Run completes all open erasures, including those started by earlier processes, until ctx ends.
func (x *ErasureService) Run(ctx context.Context) error {
	failing := retry.Backoff{First: time.Second, Max: time.Minute}
	waiting := retry.Backoff{First: 50 * time.Millisecond, Max: time.Second}
	for fails, looks := 0, 0; ; {
		wait := time.Duration(0)
		left, err := x.advanceAll(ctx, true)
		switch {
		case ctx.Err() != nil:
			return nil
		case err != nil:
			x.opt.Log.Error("erasure not finished; it will be retried", "err", err)
			fails, looks = fails+1, 0
			wait = failing.Delay(fails)
		case left:
			fails, looks = 0, looks+1
			wait = waiting.Delay(looks)
		default:
			fails, looks = 0, 0
		}
		if !x.waitForWork(ctx, wait) {
			return nil
		}
	}
}

// waitForWork waits for the given time or, if wait is 0, until an erasure starts.
func (x *ErasureService) waitForWork(ctx context.Context, wait time.Duration) bool {
	if wait > 0 {
		return retry.Wait(ctx, wait, x.wake) == nil
	}
	select {
	case <-ctx.Done():
		return false
	case <-x.wake:
		return true
	}
}

// FinishAll completes all open erasures. No turn may be running.
func (x *ErasureService) FinishAll(ctx context.Context) error {
	_, err := x.advanceAll(ctx, false)
	return err
}

// pendingErasure is an erasure that is not done.
type pendingErasure struct {
	id, event, state string
	plan             []byte
	running          []string
	keep             bool
}

// advanceAll advances every open erasure until none of them can make progress. left reports whether
// an erasure must wait for turns to end.
func (x *ErasureService) advanceAll(ctx context.Context, patient bool) (left bool, err error) {
	x.working.Lock()
	defer x.working.Unlock()
	list, err := x.pendingErasures(ctx)
	if err != nil || len(list) == 0 {
		return false, err
	}
	keep := true
	var cleared []string
	for _, p := range list { // an error of one erasure does not stop the others
		done, berr := x.advanceErasure(ctx, p, patient)
		x.recordErrors(berr, p.id)
		err = errors.Join(err, berr)
		if !done {
			left = true
			continue
		}
		keep = keep && p.keep
		cleared = append(cleared, p.id)
	}
	if len(cleared) > 0 {
		cerr := x.compactStorage(ctx, keep)
		x.recordErrors(cerr, cleared...)
		err = errors.Join(err, cerr)
	}
	return left, err
}

// recordErrors records the last error of the given erasures, or clears it.
func (x *ErasureService) recordErrors(err error, ids ...string) {
	x.mu.Lock()
	defer x.mu.Unlock()
	for _, id := range ids {
		delete(x.trouble, id)
		if err != nil {
			x.trouble[id] = err.Error()
		}
	}
}

func (x *ErasureService) pendingErasures(ctx context.Context) (out []pendingErasure, err error) {
	rows, err := x.st.Reader(ctx).Query(`SELECT id, event, state, coalesce(plan, x''), running, keep_backups FROM erasures WHERE state <> 'done' ORDER BY begun_at`)
	if err != nil {
		return nil, fmt.Errorf("knowledge: read erasures: %w", err)
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	for rows.Next() {
		var p pendingErasure
		var running string
		if err := rows.Scan(&p.id, &p.event, &p.state, &p.plan, &running, &p.keep); err != nil {
			return nil, fmt.Errorf("knowledge: read erasures: %w", err)
		}
		if err := json.Unmarshal([]byte(running), &p.running); err != nil {
			return nil, fmt.Errorf("knowledge: read erasures: %w", err)
		}
		out = append(out, p)
	}
	return out, rows.Err()
}

// advanceErasure advances one erasure to the state cleared.
func (x *ErasureService) advanceErasure(ctx context.Context, p pendingErasure, patient bool) (bool, error) {
	if p.state == EraseCleared {
		return true, nil
	}
	if patient {
		running, err := x.opt.Running(x.st.Reader(ctx))
		if err != nil {
			return false, err
		}
		if p.state == EraseOpen && slices.Contains(running, p.event) || slices.ContainsFunc(p.running, func(ev string) bool { return slices.Contains(running, ev) }) {
			return false, nil
		}
	}
	// After a sweep, the turns that could hold erased data have ended, and later turns read
	// redacted data.
	holders, err := x.runErasers(ctx, p, patient && p.state == EraseOpen)
	if err != nil || holders > 0 {
		return false, err
	}
	return true, x.updateRow(ctx, `UPDATE erasures SET state = ?, plan = NULL, running = '[]', event = '' WHERE id = ?`, EraseCleared, p.id)
}

// HomeEraser returns the eraser for the files in Hob's own folders and for the browser's data.
// pages deletes data about pages or, if all is set, all data of the browser. The browser's packed
// files cannot be searched for a text, so pages are deleted in every erasure.
func HomeEraser(p system.Paths, pages func(all bool) error, log *slog.Logger) erase.Eraser {
	return erase.Owned{Files: func(ctx context.Context, e *erase.Erasure, s *erase.Scrubber) (erase.Erased, error) {
		n, err := erase.HomeFiles{
			Texts: []string{p.SoulFile(), p.UserFile(), p.MemoryFile(), p.AgentsFile()}, MoreTexts: filepath.Join(p.AgentDir("*"), "*.md"),
			Templates: p.TemplatesDir(), Pictures: p.Pictures(), Logs: p.Logs, Settings: []string{p.ConfigFile(), p.PolicyDir()},
			Write: system.WriteFile, Log: log,
		}.Erase(ctx, s)
		if err != nil {
			return n, err
		}
		if err := pages(slices.Contains(e.Sources, BrowserSource)); err != nil {
			return n, fmt.Errorf("delete browser data: %w", err)
		}
		return n, nil
	}}
}
