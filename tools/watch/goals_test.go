package watch

import (
	"testing"

	"hob/platform/provenance"
)

func TestGoalSource(t *testing.T) {
	for _, tc := range []struct {
		name string
		goal Goal
		want bool
	}{
		{"the owner's", Goal{Provenance: provenance.Owner}, false},
		{"from outside", Goal{Provenance: provenance.Outside}, true},
		{"a reason of Hob's", Goal{Provenance: provenance.Owner, Reason: "not yet", ReasonFrom: provenance.Hob}, false},
		{"a reason from outside", Goal{Provenance: provenance.Owner, Reason: "a mail says so", ReasonFrom: provenance.Outside}, true},
		{"a reason of which nothing is known", Goal{Provenance: provenance.Owner, Reason: "a mail says so"}, true},
	} {
		if got := goalSource(tc.goal).Tainted(); got != tc.want {
			t.Errorf("%s: %v", tc.name, got)
		}
	}
}
