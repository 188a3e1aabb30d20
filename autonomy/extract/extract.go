// Package extract keeps what the owner says in passing: who somebody is, where
// they live and work, what the owner likes. It reads the owner's literal words
// alone, never what came from outside, once a turn has ended and off its path:
// first by rules, and then, where there is a model, by one call for several
// turns, of whose answer only what quotes the owner is kept.
//
// Which turns are still to be read is a row that rides along in the transaction
// that ends a turn and goes in the one that keeps what was found, so nothing is
// lost and nothing is kept twice. Lessons, and how the owner wants to be served,
// are the business of package learn. What is a correction of what is decided by
// package knowledge.
package extract

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"hob/autonomy/bus"
	"hob/autonomy/learn"
	"hob/autonomy/llm"
	"hob/knowledge"
	"hob/knowledge/store"
	"hob/platform/erase"
	say "hob/platform/statement"
)

// The modes of [knowledge] extraction.
const (
	Auto  = "auto"  // by rules, and by a model when there is one
	Rules = "rules" // by rules alone
	Model = "model" // by a model alone
	Off   = "off"
)

// Options of New; Store, Bus and Base are required.
type Options struct {
	Store *store.Store
	Bus   *bus.Bus
	Base  *knowledge.Base
	// Linker keeps relations that the model finds; nil: they are left out.
	Linker knowledge.Linker
	// Model is the one to ask; nil, or one that is nil or built in, is none.
	Model func(ctx context.Context) (llm.Model, error)
	Mode  string // default Auto
	// Turns is how many turns are given to the model at once (default 8), Wait how
	// long fewer are waited for (default 2 minutes).
	Turns int
	Wait  time.Duration
	Zone  func() *time.Location // the owner's; default UTC
	Log   *slog.Logger
}

// Extractor reads turns that have ended. Its methods may be called concurrently.
type Extractor struct {
	o    Options
	wake chan struct{}
}

// New checks the options.
func New(o Options) (*Extractor, error) {
	if o.Store == nil || o.Bus == nil || o.Base == nil {
		return nil, errors.New("extract: an option is missing")
	}
	o.Mode = cmp.Or(o.Mode, Auto)
	o.Turns = cmp.Or(o.Turns, 8)
	o.Wait = cmp.Or(o.Wait, 2*time.Minute)
	if o.Zone == nil {
		o.Zone = func() *time.Location { return time.UTC }
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	return &Extractor{o: o, wake: make(chan struct{}, 1)}, nil
}

// Migrations of the package's table. It holds no words: those stay in the inbox.
func Migrations() store.Set {
	return store.Set{Owner: "extract", Steps: []string{`
CREATE TABLE extractions (
	event TEXT PRIMARY KEY, realm TEXT NOT NULL, tainted INTEGER NOT NULL, at INTEGER NOT NULL,
	ruled INTEGER NOT NULL DEFAULT 0, tries INTEGER NOT NULL DEFAULT 0, not_before INTEGER NOT NULL DEFAULT 0) WITHOUT ROWID;
CREATE INDEX extractions_due ON extractions (ruled, at);`}}
}

// Eraser takes turns that are to be forgotten out of what is still to be read.
func (x *Extractor) Eraser() erase.Eraser {
	return erase.Owned{List: []erase.Table{{Name: "extractions", Key: []string{"event"}, Event: "event"}}}
}

// Study notes that a turn is to be read. What it returns rides along in the
// transaction that ends the turn.
func (x *Extractor) Study(t learn.Turn) func(tx *store.Tx) {
	if x.o.Mode == Off || !t.Owner || !say.Tells(own(t.Text)) {
		return func(*store.Tx) {}
	}
	return func(tx *store.Tx) {
		_, err := tx.Exec(`INSERT OR IGNORE INTO extractions (event, realm, tainted, at, ruled) VALUES (?, ?, ?, ?, ?)`, t.Event, t.Realm, t.Tainted, store.Millis(t.At), x.o.Mode == Model)
		if err != nil {
			x.o.Log.Warn("a turn will not be read for facts", "event", t.Event, "err", err)
			return
		}
		tx.AfterCommit(x.poke)
	}
}

func (x *Extractor) poke() {
	select {
	case x.wake <- struct{}{}:
	default:
	}
}

// turn is one that is to be read.
type turn struct {
	event, realm string
	tainted      bool
	at           time.Time
	tries        int
	words        string // the owner's own
}

// Run reads turns until ctx ends.
func (x *Extractor) Run(ctx context.Context) error {
	for {
		wait, err := x.step(ctx)
		if err != nil && ctx.Err() == nil {
			x.o.Log.Warn("turns cannot be read for facts; tried again later", "err", err)
			wait = time.Minute
		}
		t := time.NewTimer(max(wait, 0))
		select {
		case <-ctx.Done():
			t.Stop()
			return nil
		case <-x.wake:
			t.Stop()
		case <-t.C:
		}
	}
}

// RunRules is Run without a model: what waits for one is left to the next start.
func (x *Extractor) RunRules(ctx context.Context) error {
	for {
		if err := x.Rule(ctx); err != nil && ctx.Err() == nil {
			x.o.Log.Warn("turns cannot be read for facts; they are at the next start", "err", err)
		}
		select {
		case <-ctx.Done():
			return nil
		case <-x.wake:
		}
	}
}

// idle is how long there is nothing to wait for.
const idle = 24 * time.Hour

// step reads what is there by rules, and by the model when enough has gathered
// or has waited long enough. It returns when to look again.
func (x *Extractor) step(ctx context.Context) (time.Duration, error) {
	if err := x.Rule(ctx); err != nil {
		return 0, err
	}
	list, err := x.pending(ctx, 1, x.o.Turns)
	if err != nil {
		return 0, err
	}
	if len(list) == 0 {
		return x.postponed(ctx)
	}
	due := list[0].at.Add(x.o.Wait)
	if len(list) >= x.o.Turns || !time.Now().Before(due) {
		if err := x.ask(ctx, list); err != nil {
			return 0, err
		}
		return 0, nil
	}
	return time.Until(due), nil
}

// postponed is how long the next turn that was put off is to wait.
func (x *Extractor) postponed(ctx context.Context) (time.Duration, error) {
	var next int64
	if err := x.o.Store.Reader(ctx).QueryRow(`SELECT coalesce(min(not_before), 0) FROM extractions WHERE ruled = 1`).Scan(&next); err != nil {
		return 0, fmt.Errorf("extract: %w", err)
	}
	if next == 0 {
		return idle, nil
	}
	return min(idle, time.Until(store.Time(next))), nil
}

// pending lists turns that wait: for the rules (0) or for the model (1).
func (x *Extractor) pending(ctx context.Context, ruled, limit int) ([]turn, error) {
	rows, err := x.o.Store.Reader(ctx).Query(`SELECT event, realm, tainted, at, tries FROM extractions WHERE ruled = ? AND not_before <= ? ORDER BY at, event LIMIT ?`,
		ruled, time.Now().UnixMilli(), limit)
	if err != nil {
		return nil, fmt.Errorf("extract: %w", err)
	}
	defer rows.Close()
	var out []turn
	for rows.Next() {
		var t turn
		var at int64
		if err := rows.Scan(&t.event, &t.realm, &t.tainted, &at, &t.tries); err != nil {
			return nil, fmt.Errorf("extract: %w", err)
		}
		t.at = store.Time(at)
		out = append(out, t)
	}
	return out, rows.Err()
}

// fill reads the words of a turn. There are none when the event is gone, or the
// owner took back what was remembered in it.
func (x *Extractor) fill(ctx context.Context, t *turn) error {
	ev, err := x.o.Bus.Event(ctx, t.event)
	if errors.Is(err, bus.ErrNotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	calls, err := x.o.Bus.Calls(ctx, t.event)
	if err != nil {
		return err
	}
	for _, c := range calls {
		if (c.Tool == "remember" || c.Tool == "forget") && (c.Tool == "forget" || !c.UndoneAt.IsZero()) {
			return nil
		}
	}
	t.words = own(ev.Text)
	return nil
}

// Rule reads by rules every turn that waits for them.
func (x *Extractor) Rule(ctx context.Context) error {
	for {
		list, err := x.pending(ctx, 0, 50)
		if err != nil || len(list) == 0 {
			return err
		}
		for _, t := range list {
			mark, err := knowledge.ErasedMark(x.o.Store.Reader(ctx))
			if err != nil {
				return err
			}
			if err := x.fill(ctx, &t); err != nil {
				return err
			}
			if err := x.o.Store.Write(ctx, func(tx *store.Tx) error { return x.ruleTx(tx, mark, t) }); err != nil {
				return err
			}
		}
	}
}

// ruleTx reads one turn, unless something was forgotten since mark: then it is
// read again.
func (x *Extractor) ruleTx(tx *store.Tx, mark string, t turn) error {
	if now, err := knowledge.ErasedMark(tx); err != nil || now != mark {
		return err
	}
	var there int
	if err := tx.QueryRow(`SELECT count(*) FROM extractions WHERE event = ? AND ruled = 0`, t.event).Scan(&there); err != nil || there == 0 {
		return err
	}
	for _, s := range Passing(t.words, t.at.In(x.o.Zone())) {
		if _, err := x.o.Base.LearnTx(tx, x.fact(t, s)); err != nil {
			return err
		}
	}
	next := `UPDATE extractions SET ruled = 1 WHERE event = ?`
	if x.o.Mode == Rules || x.o.Model == nil || t.words == "" {
		next = `DELETE FROM extractions WHERE event = ?`
	}
	if _, err := tx.Exec(next, t.event); err != nil {
		return fmt.Errorf("extract: %w", err)
	}
	return nil
}
