package when

import (
	"errors"
	"testing"
	"time"
)

func TestParse(t *testing.T) {
	now := time.Date(2026, 11, 23, 10, 20, 30, 0, time.UTC) // a Monday
	for phrase, want := range map[string]string{
		"2026-12-24 18:00":     "2026-12-24T18:00",
		"2026-12-24T18:00:00Z": "2026-12-24T18:00",
		"at 5":                 "2026-11-23T17:00",
		"tomorrow at 9":        "2026-11-24T09:00",
		"next Tuesday at 5":    "2026-12-01T17:00",
		"in 20 minutes":        "2026-11-23T10:40",
		"by tomorrow noon":     "2026-11-24T12:00",
		"last friday":          "2026-11-20T00:00",
		"friday at midnight":   "2026-11-28T00:00",
	} {
		m, err := Parse(phrase, now)
		if err != nil {
			t.Errorf("%q: %v", phrase, err)
		} else if got := m.Time.Format("2006-01-02T15:04"); got != want {
			t.Errorf("%q: got %s, want %s", phrase, got, want)
		}
	}
	for _, phrase := range []string{"", "rytoj 10 val", "25", "at 25", "feb 30", "soon", "tomorrow banana"} {
		if m, err := Parse(phrase, now); !errors.Is(err, ErrNotUnderstood) {
			t.Errorf("%q: got %v, %v, want ErrNotUnderstood", phrase, m, err)
		}
	}
	_, err := Parse("03/04/2026", now)
	if _, ok := errors.AsType[*AmbiguousError](err); !ok {
		t.Errorf("03/04/2026: got %v, want an AmbiguousError", err)
	}
}
