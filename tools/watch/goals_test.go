package watch

import (
	"testing"
	"time"

	"hob/platform/provenance"
)

func TestGoal_Source(t *testing.T) {
	for _, tc := range []struct {
		name string
		goal Goal
		want bool
	}{
		{"the owner's", Goal{Provenance: provenance.Owner}, false},
		{"from outside", Goal{Provenance: provenance.Outside}, true},
		{"a reason of Hob's", Goal{Provenance: provenance.Owner, Reason: "not yet", ReasonFrom: provenance.Hob}, false},
		{"a reason from outside", Goal{Provenance: provenance.Owner, Reason: "a mail says so", ReasonFrom: provenance.Outside}, true},
		{"an unknown reason", Goal{Provenance: provenance.Owner, Reason: "a mail says so"}, true},
	} {
		if got := goalSource(tc.goal).Tainted(); got != tc.want {
			t.Errorf("%s: %v", tc.name, got)
		}
	}
}

// Undoing a change keeps the later notes of reviews.
func TestGoal_UndoKeepsLaterReviews(t *testing.T) {
	at := func(h int) time.Time { return time.Date(2026, 3, 10, h, 0, 0, 0, time.UTC) }
	before := Goal{ID: "g1", Description: "old", Seen: "t1", NextAt: at(9)}
	for _, tc := range []struct {
		name             string
		after, now, want Goal
	}{
		{
			"nothing since",
			Goal{ID: "g1", Description: "new", NextAt: at(8)},
			Goal{ID: "g1", Description: "new", NextAt: at(8)},
			Goal{ID: "g1", Description: "old", Seen: "t1", NextAt: at(9)},
		},
		{
			"reviewed since",
			Goal{ID: "g1", Description: "old", Priority: 5, Seen: "t1", NextAt: at(9)},
			Goal{ID: "g1", Description: "old", Priority: 5, Seen: "t2", NextAt: at(12), Reviewed: 3, Quiet: 2, Looked: 1, LastAt: at(11), Last: "act", Reason: "r", ReasonFrom: provenance.Outside, Event: "e3"},
			Goal{ID: "g1", Description: "old", Seen: "t2", NextAt: at(12), Reviewed: 3, Quiet: 2, Looked: 1, LastAt: at(11), Last: "act", Reason: "r", ReasonFrom: provenance.Outside, Event: "e3"},
		},
	} {
		if got := (goalUndo{Before: before, After: tc.after}).restoredGoal(tc.now); got != tc.want {
			t.Errorf("%s: restoredGoal = %+v", tc.name, got)
		}
	}
}
