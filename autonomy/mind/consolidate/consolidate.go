// Package consolidate tidies the memory each night: it merges duplicate facts, closes superseded
// ones and retires past events (knowledge.PlanConsolidation). That needs no model. If there is one,
// it then summarizes Hob's own conclusions, within the budget. The changes of a run are committed in
// batches, each together with its entry in the ledger, so that a killed run continues where it
// stopped and `hob undo` reverts its changes.
//
// The maintenance of the loop calls Step when Hob is idle; `hob memory consolidate` calls Run.
package consolidate

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"time"

	"hob/autonomy/bus"
	"hob/autonomy/llm"
	"hob/autonomy/undo"
	"hob/knowledge"
	"hob/platform/failpoint"
	"hob/platform/store"
	"hob/platform/store/erase"
	"hob/tools"
)

// Options holds the options of New. Store, Base, Ledger, Journal and Zone are required.
type Options struct {
	Store  *store.Store
	Base   *knowledge.Base
	Ledger *bus.Ledger
	// Journal records an action that can be undone; see undo.Reverter.
	Journal func(*store.Tx, undo.Action) error
	// At is the time of day of the nightly run, such as "03:30"; "" disables it.
	At   string
	Zone func() *time.Location
	// Model returns the model for summaries, or nil. It is optional.
	Model func(ctx context.Context) (llm.Model, error)
	Log   *slog.Logger // nil discards all messages
}

// Report is the result of a run.
type Report struct {
	Merged, Closed, Expired, Summarized int
	// Event is the id under which `hob undo` reverts the changes; "" if there are none.
	Event string
}

// Consolidator tidies the memory. Its methods may be called concurrently.
type Consolidator struct {
	o  Options
	at time.Duration // since midnight; negative if the nightly run is disabled

	running sync.Mutex // one run at a time
}

// Limits of a run.
const (
	batch     = 50 // changes per transaction
	maxRounds = 20 // plans per run; a plan retires each fact at most once
	keepRuns  = 90 * 24 * time.Hour
)

// New returns a Consolidator after checking the options.
func New(o Options) (*Consolidator, error) {
	if o.Store == nil || o.Base == nil || o.Ledger == nil || o.Journal == nil || o.Zone == nil {
		return nil, errors.New("consolidate: Options needs Store, Base, Ledger, Journal and Zone")
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	c := &Consolidator{o: o, at: -1}
	if o.At != "" {
		t, err := time.Parse("15:04", o.At)
		if err != nil {
			return nil, fmt.Errorf("consolidate: %q is not a time of day such as \"03:30\"", o.At)
		}
		c.at = time.Duration(t.Hour())*time.Hour + time.Duration(t.Minute())*time.Minute
	}
	return c, nil
}

// Migrations returns the table of this package. A run is open until all its changes are made. asked
// is the time until which a model has read Hob's conclusions.
func Migrations() store.MigrationSet {
	return store.MigrationSet{Owner: "consolidations", Steps: []string{`
CREATE TABLE consolidations (
	event TEXT PRIMARY KEY, night TEXT NOT NULL, state TEXT NOT NULL,
	merged INTEGER NOT NULL DEFAULT 0, closed INTEGER NOT NULL DEFAULT 0, expired INTEGER NOT NULL DEFAULT 0, summarized INTEGER NOT NULL DEFAULT 0,
	asked INTEGER NOT NULL DEFAULT 0,
	begun_at INTEGER NOT NULL, ended_at INTEGER NOT NULL DEFAULT 0) WITHOUT ROWID;
CREATE INDEX consolidations_night ON consolidations (night);`}}
}

// Eraser returns an eraser that declares that the table contains no text.
func Eraser() erase.Eraser { return erase.Owned{Besides: []string{"consolidations"}} }

// StoreUses stores which facts searches have found.
func (c *Consolidator) StoreUses(ctx context.Context) error { return c.o.Base.StoreUses(ctx) }

// Step makes the run of the last night if it is missing or was interrupted, and returns the time of
// the next one. After the installation, the first run is that of the next night.
func (c *Consolidator) Step(ctx context.Context) (next time.Time, err error) {
	now := time.Now().In(c.o.Zone())
	event, nightly, err := c.openRun(ctx)
	if err == nil && event != "" {
		_, err = c.makeRun(ctx, event, nightly)
	}
	if err != nil || c.at < 0 {
		return now.Add(time.Hour), err
	}
	night, next := c.lastNight(now)
	var newest string
	if err := c.o.Store.Reader(ctx).QueryRow(`SELECT coalesce(max(night), '') FROM consolidations`).Scan(&newest); err != nil {
		return next, fmt.Errorf("consolidate: read the last run: %w", err)
	}
	switch {
	case newest == "":
		_, err = c.insertRun(ctx, night, "done")
	case newest < night: // ISO dates sort by time
		if event, err = c.insertRun(ctx, night, "open"); err == nil {
			_, err = c.makeRun(ctx, event, true)
		}
	}
	return next, err
}

// lastNight returns the date of the last nightly run that is due, and the time of the next one.
func (c *Consolidator) lastNight(now time.Time) (night string, next time.Time) {
	y, m, d := now.Date()
	hour, minute := int(c.at/time.Hour), int(c.at/time.Minute)%60
	next = time.Date(y, m, d, hour, minute, 0, 0, now.Location())
	if !now.Before(next) {
		return now.Format(time.DateOnly), time.Date(y, m, d+1, hour, minute, 0, 0, now.Location())
	}
	return now.AddDate(0, 0, -1).Format(time.DateOnly), next
}

// Run tidies the memory now, without a model.
func (c *Consolidator) Run(ctx context.Context) (Report, error) {
	event, err := c.insertRun(ctx, "", "open")
	if err != nil {
		return Report{}, err
	}
	return c.makeRun(ctx, event, false)
}

// insertRun adds a run to the table and removes old ones.
func (c *Consolidator) insertRun(ctx context.Context, night, state string) (event string, err error) {
	event = bus.NewID()
	now := time.Now()
	err = c.o.Store.Write(ctx, func(tx *store.Tx) error {
		if _, err := tx.Exec(`DELETE FROM consolidations WHERE begun_at < ? AND state = 'done'`, store.Millis(now.Add(-keepRuns))); err != nil {
			return err
		}
		_, err := tx.Exec(`INSERT INTO consolidations (event, night, state, begun_at) VALUES (?, ?, ?, ?)`, event, night, state, store.Millis(now))
		return err
	})
	if err != nil {
		return "", fmt.Errorf("consolidate: begin a run: %w", err)
	}
	return event, nil
}

// openRun returns the event of a run that was interrupted, or "".
func (c *Consolidator) openRun(ctx context.Context) (event string, nightly bool, err error) {
	err = c.o.Store.Reader(ctx).QueryRow(`SELECT event, night <> '' FROM consolidations WHERE state = 'open' ORDER BY begun_at LIMIT 1`).Scan(&event, &nightly)
	if err != nil && !errors.Is(err, sql.ErrNoRows) {
		return "", false, fmt.Errorf("consolidate: read open runs: %w", err)
	}
	return event, nightly, nil
}

// makeRun makes the changes of a run until no change is left. A nightly run may use the model.
func (c *Consolidator) makeRun(ctx context.Context, event string, nightly bool) (out Report, err error) {
	c.running.Lock()
	defer c.running.Unlock()
	for range maxRounds {
		p, err := c.o.Base.PlanConsolidation(c.o.Store.Reader(ctx), time.Now())
		if err != nil {
			return out, err
		}
		done, err := c.applyPlan(ctx, event, p)
		if errors.Is(err, knowledge.ErrErased) {
			continue
		}
		if err != nil {
			return out, fmt.Errorf("consolidate: %w", err)
		}
		if done == 0 {
			break
		}
	}
	if nightly {
		if err := c.summarizeConclusions(ctx, event); err != nil && ctx.Err() == nil {
			c.o.Log.Info("conclusions not summarized; Hob will try again the next night", "err", err)
		}
	}
	err = c.o.Store.Write(ctx, func(tx *store.Tx) error {
		if _, err := tx.Exec(`UPDATE consolidations SET state = 'done', ended_at = ? WHERE event = ?`, store.Millis(time.Now()), event); err != nil {
			return err
		}
		return tx.QueryRow(`SELECT merged, closed, expired, summarized FROM consolidations WHERE event = ?`, event).Scan(&out.Merged, &out.Closed, &out.Expired, &out.Summarized)
	})
	if err != nil {
		return out, fmt.Errorf("consolidate: end a run: %w", err)
	}
	if out.Merged+out.Closed+out.Expired+out.Summarized > 0 {
		out.Event = event
		c.o.Log.Info("memory consolidated", "merged", out.Merged, "closed", out.Closed, "expired", out.Expired, "summarized", out.Summarized, "event", event)
	}
	return out, nil
}

// applyPlan makes the changes of a plan in batches and returns their number.
func (c *Consolidator) applyPlan(ctx context.Context, event string, p knowledge.ConsolidationPlan) (n int, err error) {
	for part := range slices.Chunk(p.Changes, batch) {
		failpoint.Hit("consolidate.batch")
		b := p
		b.Changes = part
		err := c.o.Store.Write(ctx, func(tx *store.Tx) error {
			done, err := c.o.Base.ConsolidateTx(tx, b)
			if err != nil || len(done) == 0 {
				return err
			}
			n += len(done)
			return c.journalTx(tx, event, done)
		})
		if err != nil {
			return n, err
		}
	}
	return n, nil
}

// journalTx records changes so that they can be undone, and counts them.
func (c *Consolidator) journalTx(tx *store.Tx, event string, done []knowledge.FactChange) error {
	counts := map[string]int{}
	for _, d := range done {
		counts[d.Op]++
	}
	if _, err := tx.Exec(`UPDATE consolidations SET merged = merged + ?, closed = closed + ?, expired = expired + ?, summarized = summarized + ? WHERE event = ?`,
		counts[knowledge.MergeDuplicate], counts[knowledge.CloseSuperseded], counts[knowledge.ExpireEvent], counts[knowledge.Summarize], event); err != nil {
		return err
	}
	before, err := c.o.Ledger.CallsIn(tx, event)
	if err != nil {
		return err
	}
	return c.o.Journal(tx, undo.Action{
		Event: event, Number: len(before) + 1, Tool: knowledge.ConsolidateTool, Source: "consolidation", Actor: "hob", Rule: "nightly consolidation of the memory",
		Text: "Tidied the memory: " + knowledge.DescribeChanges(counts) + ".",
		Undo: tools.NewUndo("restore the facts that the consolidation of the memory retired", done),
	})
}
