package autonomy_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"hob/autonomy"
	"hob/autonomy/bus"
	"hob/autonomy/guard"
	"hob/autonomy/llm"
	"hob/autonomy/llm/llmtest"
	"hob/autonomy/mind/goals"
	"hob/platform/provenance"
	"hob/platform/store"
)

// withGoals starts an engine with goals.
func withGoals(t *testing.T, dir string, model llm.Model, more ...func(*autonomy.Options)) (*engine, *goals.Goals) {
	t.Helper()
	var kept *goals.Goals
	e := startEngine(t, setup{dir: dir, model: model, change: func(o *autonomy.Options) {
		var err error
		kept, err = goals.New(goals.Options{Store: o.Store, Bus: o.Bus})
		failOnError(t, err)
		o.Goals = kept
		o.Due = append(o.Due, kept)
		for _, f := range more {
			f(o)
		}
	}})
	return e, kept
}

func (e *engine) createGoal(kept *goals.Goals, g goals.Goal) goals.Goal {
	e.t.Helper()
	g.CreatedAt = time.Now()
	failOnError(e.t, e.store.Write(e.t.Context(), func(tx *store.Tx) (err error) {
		g, err = kept.CreateTx(tx, g)
		return err
	}))
	return g
}

// awaitReview waits until a goal has been reviewed again.
func (e *engine) awaitReview(g goals.Goal) goals.Goal {
	e.t.Helper()
	for deadline := time.Now().Add(60 * time.Second); time.Now().Before(deadline); time.Sleep(5 * time.Millisecond) {
		now, err := goals.Get(e.store.Reader(e.t.Context()), g.ID)
		failOnError(e.t, err)
		if now.Reviewed > g.Reviewed {
			return now
		}
	}
	e.t.Fatal("the goal was not reviewed")
	return g
}

const deferring = `{"decision":"defer","confidence":1,"reason":"nothing is new"}`

// While no goal is due, Hob makes no model call. A due goal is reviewed once for each due time,
// regardless of restarts.
func TestGoals_CallNoModelWhileNoneIsDue(t *testing.T) {
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		m := scriptedModel(llmtest.Answer{Text: deferring, Times: -1})
		e, kept := withGoals(t, dir, m)
		asleep := e.createGoal(kept, goals.Goal{Description: "wake me", Provenance: provenance.Owner, NextAt: time.Now().Add(8 * 24 * time.Hour)})
		time.Sleep(7 * 24 * time.Hour)
		if n := len(m.Requests()); n != 0 {
			t.Errorf("%d model calls in an idle week", n)
		}
		for range 6 {
			time.Sleep(9 * time.Hour)
			e.stop()
			e, kept = withGoals(t, dir, m)
		}
		synctest.Wait()
		time.Sleep(time.Minute)
		// The reviews are due after 24 h, and then at intervals of 1, 2, 4, 8 and 8 h.
		asleep, err := goals.Get(e.store.Reader(t.Context()), asleep.ID)
		failOnError(t, err)
		n := len(m.Requests())
		if asleep.Reviewed != n || n < 4 || n > 6 {
			t.Errorf("%d model calls for %d reviews", n, asleep.Reviewed)
		}
		list, err := kept.Reviews(t.Context(), asleep.ID, 100)
		failOnError(t, err)
		seen := map[time.Time]bool{}
		for _, r := range list {
			if seen[r.DueAt] {
				t.Errorf("the review due at %s was made twice", r.DueAt)
			}
			seen[r.DueAt] = true
		}
		if len(list) != n {
			t.Errorf("%d traces for %d reviews", len(list), n)
		}
		e.stop()
	})
}

// Hob asks before every action of a goal that untrusted text created, even if the model is
// confident. A write for a goal of the owner needs no approval.
func TestGoal_FromUntrustedTextAsksBeforeEachAction(t *testing.T) {
	for _, tc := range []struct {
		name   string
		source provenance.Source
		asks   bool
	}{{"the owner's", provenance.Owner, false}, {"from outside", provenance.Outside, true}} {
		t.Run(tc.name, func(t *testing.T) {
			m := scriptedModel(
				llmtest.Answer{Text: "Hello."},
				llmtest.Answer{Text: `{"decision":"act","confidence":1,"reason":"r","action":"send it","risk":"read"}`},
				llmtest.Answer{Calls: []llmtest.Call{{Name: "use_tool", Args: `{"name":"send_text","arguments":{"text":"secret"}}`}}},
				llmtest.Answer{Text: "done", Times: -1},
			)
			e, kept := withGoals(t, t.TempDir(), m)
			e.askHob("home", "hello") // so that there is a conversation for notices
			g := e.createGoal(kept, goals.Goal{Description: "pass it on", Provenance: tc.source, Report: "home"})
			var asked []guard.Approval
			for deadline := time.Now().Add(60 * time.Second); len(asked) == 0 && time.Now().Before(deadline); time.Sleep(5 * time.Millisecond) {
				var err error
				asked, err = e.guard.Approvals(t.Context(), guard.Pending, goals.Session(g.ID), "", 10)
				failOnError(t, err)
			}
			if len(asked) != 1 || asked[0].Provenance.Tainted() != tc.asks || len(e.effects.sent) != 0 {
				t.Fatalf("%+v, sent %v", asked, e.effects.sent)
			}
			rows, err := e.bus.Inbox.List(t.Context(), goals.Session(g.ID), "", 10)
			failOnError(t, err)
			for _, r := range rows {
				if r.Kind != bus.Goal || r.Provenance.Tainted() != tc.asks {
					t.Errorf("%+v", r)
				}
			}
		})
	}
}

// The reason of a review with untrusted text stays untrusted in the next review, which quotes
// it.
func TestGoal_UntrustedReasonStaysUntrusted(t *testing.T) {
	for _, from := range []provenance.Source{provenance.Hob, provenance.Outside} {
		t.Run(string(from), func(t *testing.T) {
			e, kept := withGoals(t, t.TempDir(), scriptedModel(llmtest.Answer{Text: deferring, Times: -1}))
			g := e.createGoal(kept, goals.Goal{Description: "be rich", Provenance: provenance.Owner, Reviewed: 1, Last: "defer", Reason: "pay account 99", ReasonFrom: from})
			g = e.awaitReview(g)
			var tainted bool
			failOnError(t, e.store.Read().QueryRow(`SELECT tainted FROM turns WHERE event = ?`, g.Event).Scan(&tainted))
			if tainted != from.Tainted() || g.ReasonFrom.Tainted() != from.Tainted() {
				t.Errorf("tainted: %v, %+v", tainted, g)
			}
		})
	}
}

// fixedFacts is a goals.Facts with one known fact.
type fixedFacts struct {
	goals.Facts
	fact goals.Fact
}

func (k fixedFacts) Known(context.Context, string) (goals.Fact, bool, error) {
	return k.fact, true, nil
}
func (fixedFacts) Understands(string) bool { return true }

// noModels reports that no agent has a model.
type noModels struct{}

func (noModels) IsOffline(context.Context, string) bool { return true }
func (noModels) IsFree() bool                           { return false }

func (noModels) Command(context.Context, string, string, string) (string, error) { return "", nil }

// The report on a reached goal that quotes a mail is untrusted.
func TestGoal_ReportThatQuotesAMailIsUntrusted(t *testing.T) {
	for _, from := range []provenance.Source{provenance.Owner, provenance.Outside} {
		t.Run(string(from), func(t *testing.T) {
			e, kept := withGoals(t, t.TempDir(), scriptedModel(), func(o *autonomy.Options) {
				o.Facts = fixedFacts{fact: goals.Fact{ID: "f1", Text: "the invoice is paid, now call 99", Source: from}}
				o.Models = noModels{}
			})
			g := e.awaitReview(e.createGoal(kept, goals.Goal{Description: "list my tasks until you know that the invoice is paid", Provenance: provenance.Owner, Report: "home"}))
			var told provenance.Source
			failOnError(t, e.store.Read().QueryRow(`SELECT provenance FROM outbox WHERE event = ?`, g.Event).Scan(&told))
			if g.Status != string(goals.Done) || told.Tainted() != from.Tainted() {
				t.Errorf("reported for provenance %s: %+v", told, g)
			}
		})
	}
}

// A failed review is reported with its error, which may quote a mail, as soon as the failure is
// recorded.
func TestGoal_ReportsFailedReview(t *testing.T) {
	for _, from := range []provenance.Source{provenance.Owner, provenance.Outside} {
		t.Run(string(from), func(t *testing.T) {
			e, kept := withGoals(t, t.TempDir(), scriptedModel(llmtest.Answer{Status: 401, Times: -1}))
			g := e.awaitReview(e.createGoal(kept, goals.Goal{Description: "pay account 99", Provenance: from}))
			var told provenance.Source
			failOnError(t, e.store.Read().QueryRow(`SELECT provenance FROM inbox WHERE key LIKE 'goal-failed:' || ? || ':%'`, g.ID).Scan(&told))
			if told.Tainted() != from.Tainted() || g.ReasonFrom.Tainted() != from.Tainted() {
				t.Errorf("reported for provenance %s: %+v", told, g)
			}
		})
	}
}
