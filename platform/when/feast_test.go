package when

import (
	"strings"
	"testing"
	"time"
)

func TestHolidaysTable(t *testing.T) {
	table, err := readFeasts(holidaysText)
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]string{}
	for _, names := range table {
		for _, n := range names {
			name := strings.Join(n.words, " ")
			if rule, ok := seen[name]; ok {
				t.Errorf("%q is both %q and %q", name, rule, n.feast.rule)
			}
			seen[name] = n.feast.rule
			if _, err := Parse(name, monday()); err != nil {
				t.Errorf("%q of the table is not understood: %v", name, err)
			}
		}
	}
	for _, bad := range []string{"25 dec", "25 foo: x", "easter +x: y", "9 mon jan: , ", ": x", "hebrew 3 foo: x"} {
		if _, err := readFeasts(bad); err == nil {
			t.Errorf("%q: no error", bad)
		}
	}
}

func TestMovingFeasts(t *testing.T) {
	for phrase, want := range map[string]string{
		"easter 1961": "1961-04-02", "easter 2000": "2000-04-23", "easter 2038": "2038-04-25", "easter 2285": "2285-03-22",
		"orthodox easter 2016": "2016-05-01", "orthodox easter 2025": "2025-04-20", "orthodox easter 2028": "2028-04-16",
		"rosh hashanah 2023": "2023-09-15", "rosh hashanah 2024": "2024-10-02", "yom kippur 2025": "2025-10-01",
		"passover 2024": "2024-04-22", "hanukkah 2024": "2024-12-25", "purim 2024": "2024-03-23", "purim 2025": "2025-03-13",
		"thanksgiving 2025": "2025-11-27", "mother's day 2026": "2026-05-10", "memorial day 2026": "2026-05-25",
		"king's day 2025": "2025-04-26", "labour day 2026": "2026-09-07", "pentecost 2026": "2026-05-24",
	} {
		m, err := Parse(phrase, monday())
		if err != nil {
			t.Errorf("%q: %v", phrase, err)
		} else if got := m.Time.Format(time.DateOnly); got != want {
			t.Errorf("%q: got %s, want %s", phrase, got, want)
		}
	}
}
