package guard_test

import (
	"testing"

	"hob/autonomy/guard"
	"hob/tools"
)

// The level of a request can only restrict the guard's level.
func TestLevel_OnlyNarrows(t *testing.T) {
	tests := []struct {
		own, asked guard.Level
		want       guard.Level
	}{
		{guard.Trusted, "", guard.Trusted},
		{guard.Trusted, guard.Supervised, guard.Supervised},
		{guard.Supervised, guard.Trusted, guard.Supervised},
		{guard.Supervised, guard.Watch, guard.Watch},
		{guard.Watch, guard.Trusted, guard.Watch},
	}
	for _, tt := range tests {
		if got := tt.own.Narrower(tt.asked); got != tt.want {
			t.Errorf("%s asked for %q: %s, want %s", tt.own, tt.asked, got, tt.want)
		}
		if got := tt.asked.Narrower(tt.own); got != tt.want {
			t.Errorf("%q asked for %s: %s, want %s", tt.asked, tt.own, got, tt.want)
		}
	}
	f := newGuard(t, guard.Options{Level: guard.Trusted})
	r := guard.Request{
		Tool: tool{spec: tools.Spec{Name: "file", Category: "files", Effects: tools.Write}, undo: true},
		Args: []byte(`{}`), Call: "c", Attended: true,
	}
	for level, want := range map[guard.Level]guard.Verdict{"": guard.Allow, guard.Supervised: guard.Allow, guard.Watch: guard.Deny, "nonsense": guard.Deny} {
		r.Level = level
		if d := f.mustDecide(r); d.Verdict != want {
			t.Errorf("level %q: %s (%s), want %s", level, d.Verdict, d.Rule, want)
		}
	}
}
