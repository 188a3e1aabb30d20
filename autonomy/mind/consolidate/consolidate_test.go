package consolidate

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"hob/autonomy/bus"
	"hob/autonomy/guard"
	"hob/autonomy/llm"
	"hob/autonomy/llm/llmtest"
	"hob/autonomy/undo"
	"hob/knowledge"
	"hob/platform/provenance"
	"hob/platform/store"
	"hob/platform/store/storetest"
	"hob/tools"
	"hob/tools/memory"
)

// fixture is a memory with a consolidator and the owner's undo.
type fixture struct {
	*Consolidator

	t    *testing.T
	st   *store.Store
	base *knowledge.Base
	undo *undo.Reverter
}

func failOnError(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func newFixture(t *testing.T, change func(*Options)) *fixture {
	t.Helper()
	f := &fixture{t: t}
	var err error
	f.st, err = storetest.Open(t.Context(), filepath.Join(t.TempDir(), "hob.db"), append(knowledge.Migrations(), bus.Migrations(), guard.Migrations(), Migrations()), store.Options{})
	failOnError(t, err)
	f.base, err = knowledge.New(f.st, knowledge.Options{})
	failOnError(t, err)
	b := bus.New(f.st, bus.Options{})
	g, err := guard.New(f.st, guard.Options{})
	failOnError(t, err)
	failOnError(t, g.InitKeys(t.Context()))
	catalog, err := tools.NewCatalog()
	failOnError(t, err)
	f.undo, err = undo.New(undo.Options{Store: f.st, Bus: b, Guard: g, Catalog: catalog, Acts: []tools.Tool{memory.ConsolidateMemory(f.base)}})
	failOnError(t, err)
	o := Options{Store: f.st, Base: f.base, Ledger: b.Ledger, Journal: f.undo.JournalTx, At: "03:30", Zone: func() *time.Location { return time.UTC }}
	if change != nil {
		change(&o)
	}
	f.Consolidator, err = New(o)
	failOnError(t, err)
	return f
}

// rememberFacts stores facts that are duplicates only for the consolidation.
func (f *fixture) rememberFacts(list ...knowledge.Fact) {
	f.t.Helper()
	failOnError(f.t, f.st.Write(f.t.Context(), func(tx *store.Tx) error {
		for _, x := range list {
			if x.Provenance == provenance.Unknown {
				x.Provenance = provenance.Owner
			}
			if _, err := f.base.RememberTx(tx, x); err != nil {
				return err
			}
		}
		return nil
	}))
}

func (f *fixture) liveTexts() (out []string) {
	f.t.Helper()
	list, err := f.base.ListFacts(f.t.Context(), 1000, false)
	failOnError(f.t, err)
	for _, x := range list {
		out = append(out, x.Text)
	}
	slices.Sort(out)
	return out
}

func (f *fixture) countRuns() (n int) {
	f.t.Helper()
	failOnError(f.t, f.st.Read().QueryRowContext(f.t.Context(), `SELECT count(*) FROM consolidations WHERE night <> '' AND state = 'done'`).Scan(&n))
	return n
}

// The first run is that of the night after the installation. Then there is one run per night, also
// if Hob was off at that time.
func TestStep_RunsOncePerNight(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t, nil)
		step := func(wantRuns int, wantNext string) {
			t.Helper()
			next, err := f.Step(t.Context())
			failOnError(t, err)
			if got := next.Format("2006-01-02 15:04"); got != wantNext || f.countRuns() != wantRuns {
				t.Errorf("%s: next %s after %d runs, want %s after %d", time.Now().UTC().Format(time.DateTime), got, f.countRuns(), wantNext, wantRuns)
			}
		}
		step(1, "2000-01-01 03:30") // a bubble starts at midnight; the row of the last night counts as done
		two := []knowledge.Fact{{Text: "to open the locker, push the door"}, {Text: "to open locker, please push door"}}
		f.rememberFacts(two...)
		time.Sleep(3 * time.Hour)
		step(1, "2000-01-01 03:30")
		time.Sleep(time.Hour)
		if len(f.liveTexts()) != 2 {
			t.Error("a duplicate was merged before the night")
		}
		step(2, "2000-01-02 03:30")
		if len(f.liveTexts()) != 1 {
			t.Errorf("facts after the night: %q", f.liveTexts())
		}
		step(2, "2000-01-02 03:30")
		time.Sleep(5 * 24 * time.Hour)
		step(3, "2000-01-07 03:30")
		failOnError(t, f.st.Close())
	})
}

// A run that was interrupted goes on, and all its changes have one id for undo.
func TestStep_ContinuesAnInterruptedRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		stop := errors.New("killed")
		left := 2
		f := newFixture(t, func(o *Options) {
			journal := o.Journal
			o.Journal = func(tx *store.Tx, a undo.Action) error {
				if left--; left < 0 {
					return stop
				}
				return journal(tx, a)
			}
		})
		_, err := f.Step(t.Context())
		failOnError(t, err)
		var all []knowledge.Fact
		for n := range 3 * batch {
			all = append(all, knowledge.Fact{Text: fmt.Sprintf("to open the locker %d, push the door", n)}, knowledge.Fact{Text: fmt.Sprintf("to open locker %d, please push door", n)})
		}
		f.rememberFacts(all...)
		before := f.liveTexts()
		time.Sleep(4 * time.Hour)
		if _, err := f.Step(t.Context()); !errors.Is(err, stop) {
			t.Fatalf("Step = %v, want %v", err, stop)
		}
		if n := len(f.liveTexts()); n != 4*batch { // two of three batches
			t.Errorf("%d facts after the interruption, want %d", n, 4*batch)
		}
		left = 100
		_, err = f.Step(t.Context())
		failOnError(t, err)
		if n := len(f.liveTexts()); n != 3*batch {
			t.Errorf("%d facts after the night, want %d", n, 3*batch)
		}
		var event string
		failOnError(t, f.st.Read().QueryRowContext(t.Context(), `SELECT event FROM consolidations WHERE merged = ?`, 3*batch).Scan(&event))
		r, err := f.undo.Undo(t.Context(), tools.UndoRequest{ID: event, Origin: "cli"})
		failOnError(t, err)
		if d := cmp.Diff(before, f.liveTexts()); d != "" {
			t.Errorf("facts after undo (%s): %s", r.Text, d)
		}
		time.Sleep(24 * time.Hour)
		_, err = f.Step(t.Context())
		failOnError(t, err)
		if d := cmp.Diff(before, f.liveTexts()); d != "" {
			t.Errorf("facts after the next night: %s", d)
		}
		failOnError(t, f.st.Close())
	})
}

// With a model, a night summarizes new conclusions once. Undo restores them, and a failed call
// leaves the rest of the night as it is.
func TestStep_SummarizesConclusionsWithAModel(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		calls, fails := 0, true
		f := newFixture(t, func(o *Options) {
			o.Model = func(context.Context) (llm.Model, error) {
				if fails {
					return nil, errors.New("the budget of today is spent")
				}
				calls++
				return llmtest.NewScripted(llmtest.Options{}, llmtest.Answer{Text: `{"summaries": [{"of": [1, 2], "text": "the user walks in place 11 and place 10"}]}`}), nil
			}
		})
		_, err := f.Step(t.Context())
		failOnError(t, err)
		for n := range leastNew {
			f.rememberFacts(knowledge.Fact{Text: fmt.Sprintf("the user walks in place %d", n), Kind: knowledge.KindObservation, Provenance: provenance.Hob})
		}
		f.rememberFacts(knowledge.Fact{Text: "to open the locker, push the door"}, knowledge.Fact{Text: "to open locker, please push door"})
		before := f.liveTexts()
		time.Sleep(4 * time.Hour)
		_, err = f.Step(t.Context())
		failOnError(t, err)
		if n := len(f.liveTexts()); n != len(before)-1 {
			t.Errorf("%d facts after a night without a budget, want %d", n, len(before)-1)
		}
		fails = false
		for range 3 {
			time.Sleep(24 * time.Hour)
			_, err = f.Step(t.Context())
			failOnError(t, err)
		}
		if live := f.liveTexts(); len(live) != len(before)-2 || !slices.Contains(live, "the user walks in place 11 and place 10") || calls != 1 {
			t.Errorf("%d facts after %d calls: %q", len(live), calls, live)
		}
		r, err := f.undo.Undo(t.Context(), tools.UndoRequest{Last: 2, Origin: "cli"})
		failOnError(t, err)
		if d := cmp.Diff(before, f.liveTexts()); d != "" {
			t.Errorf("facts after undo (%s): %s", r.Text, d)
		}
		failOnError(t, f.st.Close())
	})
}
