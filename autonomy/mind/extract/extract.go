// Package extract stores facts that the owner mentions: who people are, where they live and work,
// and what the owner likes. It reads only the owner's literal words, never untrusted text. It works
// in the background after a turn has ended: first by rules, and then, if a model is available, by
// one model call for several turns. It accepts only those parts of the model's answer that quote
// the owner.
//
// The transaction that ends a turn stores a row that marks the turn as pending. The transaction
// that stores the facts deletes the row. Therefore nothing is lost or stored twice. Package learn
// handles lessons and preferences. Package knowledge decides which facts correct other facts.
package extract

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"time"

	"hob/autonomy/bus"
	"hob/autonomy/llm"
	"hob/autonomy/mind/learn"
	"hob/knowledge"
	"hob/platform/provenance"
	"hob/platform/retry"
	"hob/platform/store"
	"hob/platform/store/erase"
	say "hob/platform/text/triples"
)

// Values of extraction in the [knowledge] section.
const (
	Auto  = "auto"  // extracts by rules, and with a model if one is available
	Rules = "rules" // extracts only by rules
	Model = "model" // extracts only with a model
	Off   = "off"
)

// Options holds the settings of an Extractor. Store, Bus and Base are required.
type Options struct {
	Store *store.Store
	Bus   *bus.Bus
	Base  *knowledge.Base
	// Linker stores relations that the model finds. Nil means that they are dropped.
	Linker knowledge.Linker
	// Model returns the model to use. If Model is nil, or returns nil or the built-in model,
	// extraction uses no model.
	Model func(ctx context.Context) (llm.Model, error)
	Mode  string // default Auto
	// Turns is the number of turns per model call (default 8). Wait is how long a smaller number of
	// turns waits (default 2 minutes).
	Turns int
	Wait  time.Duration
	// RulesOnly reports whether Run uses no model. Turns that need a model then wait for the next
	// start. It is meant for commands, which would otherwise wait for the model.
	RulesOnly bool
	Zone      func() *time.Location // owner's time zone (default UTC)
	Log       *slog.Logger
}

// Extractor extracts facts from ended turns. Its methods may be called concurrently.
type Extractor struct {
	o    Options
	wake chan struct{}

	asking sync.Mutex // so that Run and Flush do not send the same turns to the model
}

// New returns an Extractor after checking the options.
func New(o Options) (*Extractor, error) {
	if o.Store == nil || o.Bus == nil || o.Base == nil {
		return nil, errors.New("extract: Options needs Store, Bus and Base")
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

// Migrations returns the migrations of the package's table. The table stores no text, because the
// inbox already stores it.
func Migrations() store.MigrationSet {
	return store.MigrationSet{Owner: "extract", Steps: []string{`
CREATE TABLE extractions (
	event TEXT PRIMARY KEY, realm TEXT NOT NULL, tainted INTEGER NOT NULL, at INTEGER NOT NULL,
	ruled INTEGER NOT NULL DEFAULT 0, tries INTEGER NOT NULL DEFAULT 0, not_before INTEGER NOT NULL DEFAULT 0) WITHOUT ROWID;
CREATE INDEX extractions_due ON extractions (ruled, at);`}}
}

// Eraser returns the eraser that removes erased turns from the pending turns.
func (x *Extractor) Eraser() erase.Eraser {
	return erase.Owned{List: []erase.Table{{Name: "extractions", Key: []string{"event"}, Event: "event"}}}
}

// Study marks a turn as pending. The returned function must run in the transaction that ends the
// turn. It skips turns of the built-in brain, which stores facts itself and tells the user.
// Extraction must not store facts that the built-in brain declined.
func (x *Extractor) Study(t learn.Turn) func(tx *store.Tx) {
	if x.o.Mode == Off || t.BuiltIn || !t.Owner || !say.Tells(say.OwnWords(t.Text)) {
		return func(*store.Tx) {}
	}
	return func(tx *store.Tx) {
		_, err := tx.Exec(`INSERT OR IGNORE INTO extractions (event, realm, tainted, at, ruled) VALUES (?, ?, ?, ?, ?)`, t.Event, t.Realm, t.Tainted, store.Millis(t.At), x.o.Mode == Model)
		if err != nil {
			x.o.Log.Warn("turn not marked for fact extraction", "event", t.Event, "err", err)
			return
		}
		tx.AfterCommit(x.wakeRun)
	}
}

func (x *Extractor) wakeRun() {
	select {
	case x.wake <- struct{}{}:
	default:
	}
}

// pendingTurn is a turn from which facts have not been extracted yet.
type pendingTurn struct {
	event, realm string
	tainted      bool
	at           time.Time
	tries        int
	words        string // the owner's own words
}

// Run processes pending turns until ctx ends.
func (x *Extractor) Run(ctx context.Context) error {
	if x.o.RulesOnly {
		return x.runRules(ctx)
	}
	for {
		wait, err := x.processUnlessHeld(ctx)
		if err != nil && ctx.Err() == nil {
			x.o.Log.Warn("fact extraction failed; retrying later", "err", err)
			wait = time.Minute
		}
		if retry.Wait(ctx, wait, x.wake) != nil {
			return nil
		}
	}
}

// processUnlessHeld processes the pending turns. After a backup was restored, it does nothing until
// the user ends the hold.
func (x *Extractor) processUnlessHeld(ctx context.Context) (wait time.Duration, err error) {
	s, err := x.o.Bus.Hold.Status(ctx)
	if err != nil || s.Active {
		return time.Minute, err
	}
	return x.processPending(ctx)
}

// runRules is like Run, but uses no model.
func (x *Extractor) runRules(ctx context.Context) error {
	for {
		if err := x.Rule(ctx); err != nil && ctx.Err() == nil {
			x.o.Log.Warn("fact extraction failed; retrying at the next start", "err", err)
		}
		select {
		case <-ctx.Done():
			return nil
		case <-x.wake:
		}
	}
}

// idle is the time to wait if there are no pending turns.
const idle = 24 * time.Hour

// processPending processes pending turns by rules. It also uses the model if there are enough turns
// or if they have waited long enough. It returns the time until the next call.
func (x *Extractor) processPending(ctx context.Context) (time.Duration, error) {
	x.asking.Lock()
	defer x.asking.Unlock()
	if err := x.Rule(ctx); err != nil {
		return 0, err
	}
	list, err := x.selectPending(ctx, 1, x.o.Turns)
	if err != nil {
		return 0, err
	}
	if len(list) == 0 {
		return x.nextPostponed(ctx)
	}
	due := list[0].at.Add(x.o.Wait)
	if len(list) >= x.o.Turns || !time.Now().Before(due) {
		if err := x.askModel(ctx, list); err != nil {
			return 0, err
		}
		return 0, nil
	}
	return time.Until(due), nil
}

// nextPostponed returns the time until the next postponed turn is due.
func (x *Extractor) nextPostponed(ctx context.Context) (time.Duration, error) {
	var next int64
	if err := x.o.Store.Reader(ctx).QueryRow(`SELECT coalesce(min(not_before), 0) FROM extractions WHERE ruled = 1`).Scan(&next); err != nil {
		return 0, fmt.Errorf("extract: find the next postponed turn: %w", err)
	}
	if next == 0 {
		return idle, nil
	}
	return min(idle, time.Until(store.Time(next))), nil
}

// selectPending returns the turns that are waiting for the rules (ruled is 0) or for the model
// (ruled is 1).
func (x *Extractor) selectPending(ctx context.Context, ruled, limit int) ([]pendingTurn, error) {
	rows, err := x.o.Store.Reader(ctx).Query(`SELECT event, realm, tainted, at, tries FROM extractions WHERE ruled = ? AND not_before <= ? ORDER BY at, event LIMIT ?`,
		ruled, time.Now().UnixMilli(), limit)
	if err != nil {
		return nil, fmt.Errorf("extract: read pending turns: %w", err)
	}
	defer rows.Close()
	var out []pendingTurn
	for rows.Next() {
		var t pendingTurn
		var at int64
		if err := rows.Scan(&t.event, &t.realm, &t.tainted, &at, &t.tries); err != nil {
			return nil, fmt.Errorf("extract: read pending turns: %w", err)
		}
		t.at = store.Time(at)
		out = append(out, t)
	}
	return out, rows.Err()
}

// fillWords reads the owner's words in a turn. It leaves them empty if the event was erased, if the
// owner undid the storing of its facts, or if the turn called forget.
func (x *Extractor) fillWords(ctx context.Context, t *pendingTurn) error {
	ev, err := x.o.Bus.Inbox.Event(ctx, t.event)
	if errors.Is(err, bus.ErrNotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	calls, err := x.o.Bus.Ledger.Calls(ctx, t.event)
	if err != nil {
		return err
	}
	for _, c := range calls {
		if (c.Tool == "remember" || c.Tool == "forget") && (c.Tool == "forget" || !c.UndoneAt.IsZero()) {
			return nil
		}
	}
	t.words = say.OwnWords(ev.Text)
	return nil
}

// Rule processes all turns that wait for the rules.
func (x *Extractor) Rule(ctx context.Context) error {
	for {
		list, err := x.selectPending(ctx, 0, 50)
		if err != nil || len(list) == 0 {
			return err
		}
		for _, t := range list {
			mark, err := knowledge.ErasureMark(x.o.Store.Reader(ctx))
			if err != nil {
				return err
			}
			if err := x.fillWords(ctx, &t); err != nil {
				return err
			}
			if err := x.o.Store.Write(ctx, func(tx *store.Tx) error { return x.ruleTx(tx, mark, t) }); err != nil {
				return err
			}
		}
	}
}

// ruleTx processes one turn, unless data was erased since mark was set. In that case the turn is
// read again.
func (x *Extractor) ruleTx(tx *store.Tx, mark string, t pendingTurn) error {
	if now, err := knowledge.ErasureMark(tx); err != nil || now != mark {
		return err
	}
	var there int
	if err := tx.QueryRow(`SELECT count(*) FROM extractions WHERE event = ? AND ruled = 0`, t.event).Scan(&there); err != nil || there == 0 {
		return err
	}
	for _, s := range say.Lasting(t.words, t.at.In(x.o.Zone())) {
		if _, err := x.o.Base.RememberInferredTx(tx, x.newFact(t, s)); err != nil {
			return err
		}
	}
	next := `UPDATE extractions SET ruled = 1 WHERE event = ?`
	if x.o.Mode == Rules || x.o.Model == nil || t.words == "" {
		next = `DELETE FROM extractions WHERE event = ?`
	}
	if _, err := tx.Exec(next, t.event); err != nil {
		return fmt.Errorf("extract: update a pending turn: %w", err)
	}
	return nil
}

// newFact converts a statement to a fact.
func (x *Extractor) newFact(t pendingTurn, s say.Triple) knowledge.Fact {
	return knowledge.Fact{
		Text: strings.TrimRight(s.Text, " ,;"), Provenance: provenance.Owner, Event: t.event, Source: "event:" + t.event, Realm: t.realm, CreatedAt: t.at.In(x.o.Zone()),
	}
}
