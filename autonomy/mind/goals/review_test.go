package goals

import (
	"strings"
	"testing"
	"time"

	"hob/autonomy/bus"
	"hob/platform/provenance"
	"hob/platform/store"
)

// newGoal stores a goal of the user that is due for review at now.
func newGoal(t *testing.T, now time.Time) (*store.Store, *Goals, Goal) {
	t.Helper()
	st, open := openReusable(t)
	g := open()
	return st, g, writeTx(t, st, func(x *store.Tx) (Goal, error) {
		return g.CreateTx(x, Goal{Description: "be happy", Every: 3600, CreatedAt: now, Provenance: provenance.Owner})
	})
}

// endEvent ends an event of a goal.
func endEvent(t *testing.T, st *store.Store, g *Goals, event string, e EventOutcome) Goal {
	t.Helper()
	return writeTx(t, st, func(x *store.Tx) (Goal, error) {
		if _, err := g.EndTx(x, bus.Event{ID: event, Provenance: provenance.Owner}, e); err != nil {
			return Goal{}, err
		}
		return Get(x, e.Order.Goal)
	})
}

// A decision about an earlier text of a goal is not executed for the new text. The goal is reviewed
// again instead.
func TestReview_IgnoresADecisionAboutAnOlderText(t *testing.T) {
	now := time.Date(2026, 3, 10, 12, 0, 0, 0, time.UTC)
	st, g, as := newGoal(t, now)
	changed := as
	changed.Description = "be rich"
	writeTx(t, st, func(x *store.Tx) (Goal, error) { return g.ChangeTx(x, changed, now.Add(time.Second)) })
	later := now.Add(time.Minute)
	got := endEvent(t, st, g, "e1", EventOutcome{Order: EventPayload{Phase: Review, Goal: as.ID}, As: as, Decision: Decision{Verdict: Complete, Confidence: 1, Reason: "you are happy"}, Now: later})
	if got.Status != string(Active) || got.Description != "be rich" || got.Reviewed != 0 || got.NextAt.After(later) {
		t.Errorf("endEvent = %+v", got)
	}
	if r, err := g.Trace(t.Context(), "e1"); err != nil || !strings.Contains(r.Error, "changed in the meantime") {
		t.Errorf("Trace = %+v, %v", r, err)
	}
}

// A failed action of a rule is retried at the next review, unless the user stopped it.
func TestReview_RetriesAFailedAction(t *testing.T) {
	now := time.Date(2026, 3, 10, 12, 0, 0, 0, time.UTC)
	for failed, want := range map[string]string{"": "t1", Stopped: "t1", "no connection": ""} {
		st, g, goal := newGoal(t, now)
		goal = reviewedAs(t, st, g, goal, now, Decision{Verdict: DoIt, Action: "list my tasks", Risk: RiskRead, Confidence: 1, Seen: "t1"}, Rule)
		got := endEvent(t, st, g, goal.Event, EventOutcome{Order: EventPayload{Phase: Act, Goal: goal.ID, Rule: true}, Failed: failed, Now: now})
		if got.Seen != want {
			t.Errorf("after %q Seen = %q", failed, got.Seen)
		}
	}
}

// The number of consecutive investigations is limited. A goal at the limit is investigated again at
// its next regular review.
func TestInvestigations(t *testing.T) {
	now := time.Date(2026, 3, 10, 12, 0, 0, 0, time.UTC)
	st, g, goal := newGoal(t, now)
	var followed []bool
	for range 6 {
		before := countEvents(t, st)
		goal = reviewedAs(t, st, g, goal, goal.NextAt, Decision{Verdict: Investigate, Action: "look", Confidence: 1}, "a model")
		followed = append(followed, countEvents(t, st) == before+2)
	}
	for i, want := range []bool{true, true, true, false, true, true} {
		if followed[i] != want {
			t.Errorf("review %d investigated %v", i, followed[i])
		}
	}
}

// An approval covers only the text that was shown.
func TestReview_ApprovalCoversTheShownText(t *testing.T) {
	now := time.Date(2026, 3, 10, 12, 0, 0, 0, time.UTC)
	for _, tc := range []struct {
		name, action string
		agreed       bool
	}{
		{"the whole", "buy\nmilk", true},
		{"its beginning", strings.Repeat("buy milk and ", 40) + "pay account 99", false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			st, g, goal := newGoal(t, now)
			d := Decision{Verdict: DoIt, Action: tc.action, Risk: RiskSend, Confidence: 0.2}
			goal = endEvent(t, st, g, "e1", EventOutcome{Order: EventPayload{Phase: Ask, Goal: goal.ID, Decision: d}, Agreed: true, Now: now})
			ev, err := bus.New(st, bus.Options{}).Inbox.Event(t.Context(), goal.Event)
			if err != nil {
				t.Fatal(err)
			}
			o, err := OrderOf(ev)
			if err != nil || o.Agreed != tc.agreed || (o.Decision.Confidence == 1) != tc.agreed {
				t.Errorf("OrderOf = %+v, %v", o, err)
			}
		})
	}
}
