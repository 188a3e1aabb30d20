package goals

import (
	"path/filepath"
	"testing"
	"time"

	"hob/autonomy/bus"
	"hob/platform/provenance"
	"hob/platform/provenance/origins"
	"hob/platform/store"
	"hob/platform/store/storetest"
)

// openReusable returns a store and a function that opens Goals over it, to simulate restarts.
func openReusable(t *testing.T) (*store.Store, func() *Goals) {
	t.Helper()
	st, err := storetest.Open(t.Context(), filepath.Join(t.TempDir(), "hob.db"), []store.MigrationSet{bus.Migrations(), origins.Migrations(), Migrations()}, store.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = st.Close() })
	return st, func() *Goals {
		g, err := New(Options{Store: st, Bus: bus.New(st, bus.Options{}), Max: 3})
		if err != nil {
			t.Fatal(err)
		}
		return g
	}
}

func writeTx[T any](t *testing.T, st *store.Store, f func(tx *store.Tx) (T, error)) (out T) {
	t.Helper()
	err := st.Write(t.Context(), func(x *store.Tx) (err error) {
		out, err = f(x)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func countEvents(t *testing.T, st *store.Store) (n int) {
	t.Helper()
	if err := st.Read().QueryRow(`SELECT count(*) FROM inbox`).Scan(&n); err != nil {
		t.Fatal(err)
	}
	return n
}

// Each due time of a goal creates one event, regardless of how often Due is called.
func TestDue_OnceForEachTime(t *testing.T) {
	st, open := openReusable(t)
	g := open()
	now := time.Date(2026, 3, 10, 12, 0, 0, 0, time.UTC)
	goal := writeTx(t, st, func(x *store.Tx) (Goal, error) {
		return g.CreateTx(x, Goal{Description: "be happy", Every: 3600, CreatedAt: now, Provenance: provenance.Owner})
	})
	for i, tc := range []struct {
		name string
		at   time.Duration
		end  bool // whether the previous review has ended
		want int
	}{
		{"immediately", 0, false, 1},
		{"again at the same time", 0, false, 1},
		{"while the event is in progress", 2 * time.Hour, false, 1},
		{"after the event ended", 4 * time.Hour, true, 2},
		{"after a long sleep, once", 500 * time.Hour, true, 3},
	} {
		if tc.end {
			writeTx(t, st, func(x *store.Tx) (int, error) {
				_, err := x.Exec(`UPDATE inbox SET state = 'done'`)
				return 0, err
			})
		}
		if i%2 == 1 {
			g = open() // Hob was restarted
		}
		next, err := g.Due(t.Context(), now.Add(tc.at))
		if err != nil || countEvents(t, st) != tc.want || !next.After(now.Add(tc.at)) {
			t.Errorf("%s: %d events, next %s, %v", tc.name, countEvents(t, st), next, err)
		}
	}
	var prov, key string
	if err := st.Read().QueryRow(`SELECT provenance, key FROM inbox ORDER BY seq LIMIT 1`).Scan(&prov, &key); err != nil || prov != "owner" || key == "" {
		t.Errorf("%s %s %v", prov, key, err)
	}
	goal.Status = string(Paused)
	writeTx(t, st, func(x *store.Tx) (Goal, error) { return g.ChangeTx(x, goal, now) })
	if next, err := g.Due(t.Context(), now.Add(9000*time.Hour)); err != nil || !next.IsZero() || countEvents(t, st) != 3 {
		t.Errorf("Due of a paused goal = %s, %v", next, err)
	}
}

// reviewedAs ends a review of a goal with a decision.
func reviewedAs(t *testing.T, st *store.Store, g *Goals, goal Goal, now time.Time, d Decision, by string) Goal {
	t.Helper()
	if _, err := g.Due(t.Context(), now); err != nil {
		t.Fatal(err)
	}
	return writeTx(t, st, func(x *store.Tx) (Goal, error) {
		goal, err := Get(x, goal.ID)
		if err != nil {
			return goal, err
		}
		ev := bus.Event{ID: goal.Event, Provenance: goal.Provenance}
		if _, err := g.EndTx(x, ev, EventOutcome{Order: EventPayload{Phase: Review, Goal: goal.ID}, Decision: d, By: by, Now: now, Source: provenance.Hob}); err != nil {
			return goal, err
		}
		if _, err := x.Exec(`UPDATE inbox SET state = 'done'`); err != nil {
			return goal, err
		}
		return Get(x, goal.ID)
	})
}

// Without changes the review interval grows; a change of the goal resets it.
func TestDue_Backoff(t *testing.T) {
	st, open := openReusable(t)
	g := open()
	now := time.Date(2026, 3, 10, 12, 0, 0, 0, time.UTC)
	goal := writeTx(t, st, func(x *store.Tx) (Goal, error) {
		return g.CreateTx(x, Goal{Description: "be happy", Every: 3600, CreatedAt: now, Provenance: provenance.Owner})
	})
	waited := func(d Decision, by string) int {
		at := goal.NextAt
		goal = reviewedAs(t, st, g, goal, at, d, by)
		return int(goal.NextAt.Sub(at) / time.Hour)
	}
	for i, want := range []int{1, 2, 4, 8, 8} {
		if got := waited(Decision{Verdict: Defer, Confidence: 1}, "a model"); got != want {
			t.Errorf("next review after review %d in %d h, want %d", i, got, want)
		}
	}
	if got := waited(Decision{Verdict: Defer, Confidence: 1, Next: goal.NextAt.Add(time.Hour)}, "a model"); got != 8 {
		t.Errorf("next review after a deferral that asks for 1 h: %d h, want 8", got)
	}
	if got := waited(Decision{Verdict: DoIt, Action: "x", Risk: RiskRead, Confidence: 1}, "a model"); got != 1 {
		t.Errorf("next review after an action: %d h, want 1", got)
	}
	writeTx(t, st, func(x *store.Tx) (Goal, error) {
		_, err := x.Exec(`UPDATE inbox SET state = 'done'`)
		return goal, err
	})
	for range 3 {
		waited(Decision{Verdict: Defer, Confidence: 1}, "a model")
	}
	goal.Priority = 5
	if goal = writeTx(t, st, func(x *store.Tx) (Goal, error) { return g.ChangeTx(x, goal, now) }); goal.Quiet != 0 {
		t.Errorf("writeTx = %+v", goal)
	}
	for range 5 {
		if got := waited(Decision{Verdict: Defer, Confidence: 1}, Rule); got != 1 {
			t.Errorf("next review by a rule: %d h, want 1", got)
		}
	}
}

// The number of goals is limited, and goals created from untrusted text stay untrusted.
func TestCreate_LimitsCountAndKeepsProvenance(t *testing.T) {
	st, open := openReusable(t)
	g := open()
	now := time.Date(2026, 3, 10, 12, 0, 0, 0, time.UTC)
	made := writeTx(t, st, func(x *store.Tx) (Goal, error) {
		return g.CreateTx(x, Goal{Description: "pay account 99", CreatedAt: now, Provenance: provenance.Outside})
	})
	for range 2 {
		writeTx(t, st, func(x *store.Tx) (Goal, error) {
			return g.CreateTx(x, Goal{Description: "more", CreatedAt: now.Add(time.Hour)})
		})
	}
	err := st.Write(t.Context(), func(x *store.Tx) error {
		_, err := g.CreateTx(x, Goal{Description: "too many"})
		return err
	})
	if err == nil {
		t.Error("a goal above the limit was accepted")
	}
	reviewedAs(t, st, g, made, now, Decision{Verdict: DoIt, Action: "pay", Risk: RiskSend, Confidence: 1}, "a model")
	rows, err := bus.New(st, bus.Options{}).Inbox.List(t.Context(), Session(made.ID), "", 10)
	if err != nil || len(rows) != 2 || !rows[0].Provenance.Tainted() || !rows[1].Provenance.Tainted() {
		t.Errorf("%+v, %v", rows, err)
	}
}

// After an undo, a goal does not wait for the answer to a question that no longer exists.
func TestUndo_RestoredGoalWaitsForNoOldAnswer(t *testing.T) {
	for state, want := range map[bus.State]Status{bus.Pending: Waiting, bus.Done: Active} {
		t.Run(string(state), func(t *testing.T) {
			st, open := openReusable(t)
			g := open()
			now := time.Date(2026, 3, 10, 12, 0, 0, 0, time.UTC)
			goal := writeTx(t, st, func(x *store.Tx) (Goal, error) {
				return g.CreateTx(x, Goal{Description: "be happy", CreatedAt: now, Provenance: provenance.Owner})
			})
			goal = reviewedAs(t, st, g, goal, now, Decision{Verdict: DoIt, Action: "x", Risk: RiskSend}, "a model")
			if goal.Status != string(Waiting) {
				t.Fatalf("reviewedAs = %+v", goal)
			}
			back := writeTx(t, st, func(x *store.Tx) (Goal, error) {
				paused := goal
				paused.Status = string(Paused)
				if _, err := g.ChangeTx(x, paused, now); err != nil {
					return goal, err
				}
				if _, err := x.Exec(`UPDATE inbox SET state = ? WHERE id = ?`, state, goal.Event); err != nil {
					return goal, err
				}
				if err := g.PutTx(x, goal); err != nil {
					return goal, err
				}
				return Get(x, goal.ID)
			})
			if back.Status != string(want) {
				t.Errorf("%s, want %s", back.Status, want)
			}
		})
	}
}
