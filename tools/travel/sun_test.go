package travel

import (
	"testing"
	"time"

	"hob/platform/text/places"
)

// The expected times are those of published almanacs (timeanddate.com and NOAA's solar calculator),
// in the local time of the place.
func TestSunOn_MatchesPublishedTimes(t *testing.T) {
	for _, tc := range []struct{ place, day, rise, set string }{
		{"London", "2024-06-20", "04:43", "21:21"},
		{"London", "2024-12-21", "08:04", "15:53"},
		{"New York", "2024-06-20", "05:25", "20:31"},
		{"New York", "2024-12-21", "07:17", "16:32"},
		{"Sydney", "2024-12-21", "05:41", "20:05"},
		{"Tokyo", "2024-01-01", "06:51", "16:38"},
		{"Vilnius", "2024-06-21", "04:42", "22:00"},
		{"Vilnius", "2024-12-21", "08:40", "15:54"},
	} {
		p, err := places.Find(tc.place)
		if err != nil {
			t.Fatal(err)
		}
		day, err := time.ParseInLocation(time.DateOnly, tc.day, p.Zone)
		if err != nil {
			t.Fatal(err)
		}
		s := sunOn(day, p.Lat, p.Lon)
		for name, x := range map[string]struct {
			got  time.Time
			want string
		}{"sunrise": {s.rise, tc.rise}, "sunset": {s.set, tc.set}} {
			want, err := time.ParseInLocation("2006-01-02 15:04", tc.day+" "+x.want, p.Zone)
			if err != nil {
				t.Fatal(err)
			}
			if x.got.Sub(want).Abs() > 2*time.Minute {
				t.Errorf("%s in %s on %s = %s, want %s", name, tc.place, tc.day, x.got.Format("15:04:05"), x.want)
			}
		}
	}
}

func TestSunOn_NearThePole(t *testing.T) {
	p, err := places.Find("Tromsø")
	if err != nil {
		t.Fatal(err)
	}
	for day, up := range map[string]bool{"2024-06-20": true, "2024-12-20": false} {
		at, err := time.ParseInLocation(time.DateOnly, day, p.Zone)
		if err != nil {
			t.Fatal(err)
		}
		if s := sunOn(at, p.Lat, p.Lon); !s.rise.IsZero() || !s.set.IsZero() || s.up != up {
			t.Errorf("%s: %+v", day, s)
		}
	}
}
