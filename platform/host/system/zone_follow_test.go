package system

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"
)

// TestFollowZone checks that changes of the machine's zone are detected at run time, between zone
// names and copies of zone rules, and that an unreadable zone keeps the previous one.
func TestFollowZone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		name, nameErr := "Europe/Berlin", error(nil)
		var rules []byte
		f := &zoneFollower{
			name: func() (string, error) { return name, nameErr },
			copied: func() ([]byte, error) {
				if rules == nil {
					return nil, errors.ErrUnsupported
				}
				return rules, nil
			},
		}
		first := f.currentZone()
		is := func(what, want string, offset int) {
			t.Helper()
			time.Sleep(zoneEvery)
			loc := f.currentZone()
			_, got := time.Date(2026, 7, 1, 12, 0, 0, 0, loc).Zone()
			if loc.String() != want || got != offset*3600 {
				t.Errorf("%s: %s, %+d seconds", what, loc, got)
			}
			if f.currentZone() != loc {
				t.Errorf("%s: the zone has a new pointer", what)
			}
		}
		is("at first", "Europe/Berlin", 2)
		if f.currentZone() != first {
			t.Error("the pointer changed although the zone did not")
		}
		name = "Asia/Tokyo"
		if f.currentZone() != first {
			t.Error("zone is read at each call, want a cached one")
		}
		is("another zone", "Asia/Tokyo", 9)
		nameErr = errors.New("half changed")
		is("not to be told", "Asia/Tokyo", 9)
		rules = encodeZoneRules(-5)
		is("a copy of rules", "Local", -5)
		rules = encodeZoneRules(3)
		is("another copy", "Local", 3)
		name, nameErr = "Nowhere/At_All", nil
		is("no such zone", "Local", 3)
		name = "Europe/Berlin"
		is("back home", "Europe/Berlin", 2)
	})
}

// encodeZoneRules returns zone rules with one offset in the format of tzfile(5).
func encodeZoneRules(hours int) []byte {
	b := append([]byte("TZif"), make([]byte, 16)...)
	for _, n := range []uint32{0, 0, 0, 0, 1, 4} { // the counts in the header: one type, four characters
		b = append(b, byte(n>>24), byte(n>>16), byte(n>>8), byte(n))
	}
	s := uint32(int32(hours * 3600))
	return append(b, byte(s>>24), byte(s>>16), byte(s>>8), byte(s), 0, 0, 'X', 'X', 'X', 0)
}

func TestFollowFixedZone(t *testing.T) {
	follow, err := FollowZone("Asia/Kathmandu")
	if err != nil || follow().String() != "Asia/Kathmandu" {
		t.Errorf("following a fixed zone: %v", err)
	}
	if _, err := FollowZone("Mars/Olympus"); err == nil {
		t.Error("an unknown zone was accepted")
	}
}
