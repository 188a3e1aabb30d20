package holidays

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

const calendar = `BEGIN:VCALENDAR
VERSION:2.0
PRODID:-//test//EN
BEGIN:VEVENT
UID:christmas
SUMMARY:Christmas
DTSTART;VALUE=DATE:19991225
DTEND;VALUE=DATE:19991227
RRULE:FREQ=YEARLY
TRANSP:TRANSPARENT
END:VEVENT
BEGIN:VEVENT
UID:leave
SUMMARY:Leave
DTSTART;VALUE=DATE:20000210
END:VEVENT
BEGIN:VEVENT
UID:meeting
SUMMARY:Meeting
DTSTART:20000211T090000Z
DTEND:20000211T100000Z
END:VEVENT
END:VCALENDAR
`

func TestFiles(t *testing.T) {
	synctest.Test(t, func(t *testing.T) { // the clock starts in January 2000
		path := filepath.Join(t.TempDir(), "days.ics")
		write := func(text string) {
			if err := os.WriteFile(path, []byte(strings.ReplaceAll(text, "\n", "\r\n")), 0o600); err != nil {
				t.Fatal(err)
			}
			time.Sleep(again)
		}
		var bad []error
		f := New([]string{path}, func(err error) { bad = append(bad, err) })
		day := func(s string) time.Time {
			at, err := time.ParseInLocation(time.DateOnly, s, time.FixedZone("", 7*3600))
			if err != nil {
				t.Fatal(err)
			}
			return at.Add(9 * time.Hour)
		}
		if f.Has(day("2000-02-10")) || len(bad) != 1 {
			t.Errorf("without a file: %v", bad)
		}
		write(calendar)
		for s, want := range map[string]bool{
			"2000-02-10": true, "2000-02-11": false, "2000-02-09": false, "2000-12-25": true, "2000-12-26": true, "2000-12-27": false, "2002-12-25": true,
		} {
			if got := f.Has(day(s)); got != want {
				t.Errorf("%s: Has = %t", s, got)
			}
		}
		write("no calendar")
		if !f.Has(day("2000-02-10")) || len(bad) != 2 {
			t.Errorf("previous content was lost: %v", bad)
		}
		write(strings.ReplaceAll(calendar, "20000210", "20000310"))
		if f.Has(day("2000-02-10")) || !f.Has(day("2000-03-10")) || len(bad) != 2 {
			t.Errorf("a change was not detected: %v", bad)
		}
	})
}
