package payload

import (
	"testing"
	"time"
)

func TestSignal_LatenessNote(t *testing.T) {
	for _, c := range []struct {
		name   string
		signal Signal
		want   string
	}{
		{"on time", Signal{}, ""},
		{"late", Signal{Late: time.Hour, Note: "ran late, was due at 08:00"}, " (ran late, was due at 08:00)"},
		{"on time, for many", Signal{Note: "also stands for 299 earlier times that were missed"}, " (also stands for 299 earlier times that were missed)"},
		{"kept without words", Signal{Late: time.Hour}, " (ran late)"},
	} {
		if got := c.signal.LatenessNote(" (", ")"); got != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
}
