package autonomy

import (
	"testing"
	"time"
)

func TestLateWords(t *testing.T) {
	for _, c := range []struct {
		name string
		f    watcherPayload
		want string
	}{
		{"on time", watcherPayload{}, ""},
		{"late", watcherPayload{Late: time.Hour, Note: "ran late, was due at 08:00"}, " (ran late, was due at 08:00)"},
		{"on time, for many", watcherPayload{Note: "also stands for 299 earlier times that were missed"}, " (also stands for 299 earlier times that were missed)"},
		{"kept without words", watcherPayload{Late: time.Hour}, " (ran late)"},
	} {
		if got := c.f.latenessNote(" (", ")"); got != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
}
