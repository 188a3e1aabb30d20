package places

import (
	"errors"
	"strings"
	"testing"
	"time"
)

func TestFind(t *testing.T) {
	for name, want := range map[string]string{
		"Vilnius": "Europe/Vilnius", "tokyo": "Asia/Tokyo", "São Paulo": "America/Sao_Paulo", "America/New_York": "America/New_York", "san francisco": "America/Los_Angeles",
		"Japan": "Asia/Tokyo", "Lithuania": "Europe/Vilnius", "UTC": "UTC", "utc+5:30": "UTC+5:30", "GMT -3": "UTC-3", "Paris, France": "Europe/Paris", "US/Pacific": "US/Pacific",
		"Tromsø": "Europe/Oslo", "Germany": "Europe/Berlin",
	} {
		if p, err := Find(name); err != nil || p.Zone.String() != want {
			t.Errorf("Find(%q) = %v, %v; want %s", name, p.Zone, err, want)
		}
	}
	for name, want := range map[string]string{"USA": "several time zones", "Atlantis": "unknown place", "": "unknown place", "UTC+25": "25 hours", "Paris, United States": "not the Paris", "../etc/passwd": "unknown place"} {
		if p, err := Find(name); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("Find(%q) = %v, %v; want %s", name, p, err, want)
		}
	}
	if _, err := Find("Nowhere"); !errors.Is(err, ErrUnknown) {
		t.Error(err)
	}
}

// Every row of the tables must have a zone that exists and a position on Earth.
func TestTables(t *testing.T) {
	for name, e := range parsedTables().byName {
		if _, err := time.LoadLocation(e.zone); err != nil || e.lat == 0 || e.lon == 0 || e.lat < -90 || e.lat > 90 || e.lon < -180 || e.lon > 180 {
			t.Errorf("%s: %+v, %v", name, e, err)
		}
	}
}

func FuzzFind(f *testing.F) {
	for _, s := range []string{"Vilnius", "UTC+3", "Paris, France", "a/b"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, name string) {
		if p, err := Find(name); err == nil && p.Zone == nil {
			t.Errorf("Find(%q) has no zone", name)
		}
	})
}
