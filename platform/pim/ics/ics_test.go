package ics

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
	"unicode/utf8"
)

func buildCalendar(events ...string) []byte {
	return []byte("BEGIN:VCALENDAR\r\nVERSION:2.0\r\nPRODID:-//x//EN\r\n" + strings.ReplaceAll(strings.Join(events, ""), "\n", "\r\n") + "END:VCALENDAR\r\n")
}

func buildEvent(lines string) string {
	return "BEGIN:VEVENT\nUID:e1\nDTSTAMP:20261101T000000Z\nSUMMARY:Standup\n" + lines + "\nEND:VEVENT\n"
}

func zoneNamed(t testing.TB, name string) *time.Location {
	t.Helper()
	loc, err := time.LoadLocation(name)
	if err != nil {
		t.Fatal(err)
	}
	return loc
}

func TestEvents(t *testing.T) {
	const own = `BEGIN:VTIMEZONE
TZID:Our house
BEGIN:STANDARD
DTSTART:19701025T030000
TZOFFSETFROM:+0200
TZOFFSETTO:+0100
RRULE:FREQ=YEARLY;BYMONTH=10;BYDAY=-1SU
END:STANDARD
BEGIN:DAYLIGHT
DTSTART:19700329T020000
TZOFFSETFROM:+0100
TZOFFSETTO:+0200
RRULE:FREQ=YEARLY;BYMONTH=3;BYDAY=-1SU
END:DAYLIGHT
END:VTIMEZONE
`
	tests := []struct {
		name, from, to, zone string
		data                 []byte
		want                 string // starts in UTC, "x" after a canceled one
	}{
		{"once", "2026-11-01", "2026-12-01", "UTC", buildCalendar(buildEvent("DTSTART:20261102T090000Z\nDTEND:20261102T100000Z")), "1102T0900"},
		{"weekly", "2026-11-08", "2026-12-01", "UTC", buildCalendar(buildEvent("DTSTART:20261102T090000Z\nRRULE:FREQ=WEEKLY;COUNT=4")), "1109T0900 1116T0900 1123T0900"},
		{"over a change of the clocks", "2026-10-20", "2026-11-05", "UTC", buildCalendar(buildEvent("DTSTART;TZID=Europe/Berlin:20261020T090000\nRRULE:FREQ=WEEKLY")), "1020T0700 1027T0800 1103T0800"},
		{"a Windows zone name", "2026-10-20", "2026-11-05", "UTC", buildCalendar(buildEvent("DTSTART;TZID=W. Europe Standard Time:20261020T090000\nRRULE:FREQ=WEEKLY")), "1020T0700 1027T0800 1103T0800"},
		{"a zone with a path", "2026-10-20", "2026-10-28", "UTC", buildCalendar(buildEvent("DTSTART;TZID=/mozilla.org/20050126_1/Europe/Berlin:20261020T090000\nRRULE:FREQ=WEEKLY")), "1020T0700 1027T0800"},
		{"a zone of its own", "2026-10-20", "2026-11-05", "UTC", buildCalendar(own, buildEvent("DTSTART;TZID=Our house:20261020T090000\nRRULE:FREQ=WEEKLY")), "1020T0700 1027T0800 1103T0800"},
		{"a time without a zone is in the user's zone", "2026-11-01", "2026-12-01", "America/New_York", buildCalendar(buildEvent("DTSTART:20261102T090000")), "1102T1400"},
		{"a whole day is in the user's zone", "2026-11-01", "2026-12-01", "Asia/Tokyo", buildCalendar(buildEvent("DTSTART;VALUE=DATE:20261102\nDTEND;VALUE=DATE:20261103")), "1101T1500"},
		{"a time that does not exist", "2026-03-28", "2026-03-31", "UTC", buildCalendar(buildEvent("DTSTART;TZID=Europe/Berlin:20260328T023000\nRRULE:FREQ=DAILY;COUNT=3")), "0328T0130 0329T0130 0330T0030"},
		{"an excluded date", "2026-11-01", "2026-12-01", "UTC", buildCalendar(buildEvent("DTSTART;TZID=Europe/Berlin:20261102T090000\nRRULE:FREQ=WEEKLY;COUNT=4\nEXDATE;TZID=Europe/Berlin:20261109T090000,20261116T090000")), "1102T0800 1123T0800"},
		{"an exception in another zone", "2026-11-01", "2026-11-15", "UTC", buildCalendar(buildEvent("DTSTART;TZID=Europe/Berlin:20261102T090000\nRRULE:FREQ=WEEKLY;COUNT=2\nEXDATE:20261109T080000Z")), "1102T0800"},
		{"an excepted day", "2026-11-01", "2026-11-15", "UTC", buildCalendar(buildEvent("DTSTART;VALUE=DATE:20261102\nRRULE:FREQ=WEEKLY;COUNT=2\nEXDATE;VALUE=DATE:20261109")), "1102T0000"},
		{"added", "2026-11-01", "2026-11-15", "UTC", buildCalendar(buildEvent("DTSTART:20261102T090000Z\nRDATE:20261105T090000Z,20261106T090000Z")), "1102T0900 1105T0900 1106T0900"},
		{
			"one moved, one cancelled", "2026-11-01", "2026-12-01", "UTC",
			buildCalendar(buildEvent("DTSTART:20261102T090000Z\nRRULE:FREQ=WEEKLY;COUNT=4"), buildEvent("RECURRENCE-ID:20261109T090000Z\nDTSTART:20261110T110000Z"), buildEvent("RECURRENCE-ID:20261116T090000Z\nDTSTART:20261116T090000Z\nSTATUS:CANCELLED")),
			"1102T0900 1110T1100 1116T0900x 1123T0900",
		},
		{"moved out of the period", "2026-11-01", "2026-11-12", "UTC", buildCalendar(buildEvent("DTSTART:20261102T090000Z\nRRULE:FREQ=WEEKLY;COUNT=2"), buildEvent("RECURRENCE-ID:20261109T090000Z\nDTSTART:20261210T110000Z")), "1102T0900"},
		{"moved into the span", "2026-12-01", "2026-12-31", "UTC", buildCalendar(buildEvent("DTSTART:20261102T090000Z\nRRULE:FREQ=WEEKLY;COUNT=2"), buildEvent("RECURRENCE-ID:20261109T090000Z\nDTSTART:20261210T110000Z")), "1210T1100"},
		{"all cancelled", "2026-11-01", "2026-11-12", "UTC", buildCalendar(buildEvent("DTSTART:20261102T090000Z\nRRULE:FREQ=WEEKLY;COUNT=2\nSTATUS:CANCELLED")), "1102T0900x 1109T0900x"},
		{"an invitation to one occurrence", "2026-11-01", "2026-11-12", "UTC", buildCalendar(buildEvent("RECURRENCE-ID:20261109T090000Z\nDTSTART:20261109T093000Z")), "1109T0930"},
		{"until, in UTC", "2026-10-25", "2026-12-01", "UTC", buildCalendar(buildEvent("DTSTART;TZID=Europe/Berlin:20261102T090000\nRRULE:FREQ=DAILY;UNTIL=20261104T080000Z")), "1102T0800 1103T0800 1104T0800"},
		{"until a day", "2026-10-25", "2026-12-01", "UTC", buildCalendar(buildEvent("DTSTART;VALUE=DATE:20261102\nRRULE:FREQ=DAILY;UNTIL=20261104")), "1102T0000 1103T0000 1104T0000"},
		{"the last Friday", "2026-11-01", "2027-01-31", "UTC", buildCalendar(buildEvent("DTSTART:20260130T090000Z\nRRULE:FREQ=MONTHLY;BYDAY=-1FR")), "1127T0900 1225T0900 0129T0900"},
		{"a leap day", "2027-01-01", "2028-12-31", "UTC", buildCalendar(buildEvent("DTSTART;VALUE=DATE:20240229\nRRULE:FREQ=YEARLY")), "0229T0000"},
		{"continues", "2026-11-02T09:30", "2026-11-03", "UTC", buildCalendar(buildEvent("DTSTART:20261102T090000Z\nDURATION:PT1H")), "1102T0900"},
		{"over", "2026-11-02T10:30", "2026-11-03", "UTC", buildCalendar(buildEvent("DTSTART:20261102T090000Z\nDURATION:PT1H")), ""},
		{"the newer of two", "2026-11-01", "2026-12-01", "UTC", buildCalendar(buildEvent("SEQUENCE:2\nDTSTART:20261103T090000Z"), buildEvent("SEQUENCE:1\nDTSTART:20261102T090000Z")), "1103T0900"},
		{"bad lines beside good ones", "2026-11-01", "2026-12-01", "UTC", buildCalendar(buildEvent("what is this\nX-A;B\n;:\nATTENDEE;CN=\"a:mailto:x@y\nDTSTART:20261102T090000Z")), "1102T0900"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := Span{From: parseClock(t, tt.from), To: parseClock(t, tt.to), Zone: zoneNamed(t, tt.zone)}
			got, err := Events(tt.data, s)
			if err != nil {
				t.Fatal(err)
			}
			var starts []string
			for _, e := range got {
				x := e.Start.UTC().Format("0102T1504")
				if e.Cancelled {
					x += "x"
				}
				starts = append(starts, x)
			}
			if s := strings.Join(starts, " "); s != tt.want {
				t.Errorf("%s, want %s", s, tt.want)
			}
		})
	}
}

func parseClock(t *testing.T, s string) time.Time {
	t.Helper()
	for _, form := range []string{"2006-01-02", "2006-01-02T15:04"} {
		if at, err := time.Parse(form, s); err == nil {
			return at
		}
	}
	t.Fatal(s)
	return time.Time{}
}

func TestFields(t *testing.T) {
	got, err := Events(buildCalendar(buildEvent("DTSTART:20261102T090000Z\nLOCATION:Room 1\\, upstairs\nDESCRIPTION:a\\nb\nORGANIZER;CN=\"Lovelace, Ada\":MAILTO:Ada@example.org\nATTENDEE:mailto:bob@example.org")),
		Span{From: parseClock(t, "2026-11-01"), To: parseClock(t, "2026-12-01")})
	if err != nil || len(got) != 1 {
		t.Fatal(got, err)
	}
	e := got[0]
	if e.UID != "e1" || e.Title != "Standup" || e.Place != "Room 1, upstairs" || e.Notes != "a\nb" || e.Occurrence != "" ||
		e.Organizer.String() != "Lovelace, Ada <ada@example.org>" || e.Guests[0].Address != "bob@example.org" {
		t.Errorf("%+v", e)
	}
}

// TestEvents_HostileRules checks that no rule keeps the program busy, and that the event itself is still
// returned.
func TestEvents_HostileRules(t *testing.T) {
	for _, rule := range []string{
		"FREQ=SECONDLY", "FREQ=MINUTELY;INTERVAL=7", "FREQ=HOURLY;INTERVAL=2;BYHOUR=1", "FREQ=DAILY;BYMONTH=2;BYMONTHDAY=31", "FREQ=HOURLY;BYMONTHDAY=31;BYMONTH=2",
		"FREQ=YEARLY;BYMONTH=2;BYMONTHDAY=30", "FREQ=MONTHLY;BYMONTH=2;BYMONTHDAY=31", "FREQ=WEEKLY;BYSETPOS=300", "FREQ=DAILY;INTERVAL=999999999", "FREQ=YEARLY;BYEASTER=1",
		"FREQ=DAILY;BYHOUR=" + listNumbers(24) + ";BYMINUTE=" + listNumbers(60) + ";BYSECOND=" + listNumbers(60), "FREQ=NEVER", "", ";;;", "FREQ=DAILY;COUNT=-1", "FREQ=DAILY;INTERVAL=-5", "FREQ=YEARLY;BYYEARDAY=366;INTERVAL=3",
		"FREQ=DAILY;UNTIL=99991231T235959Z", "FREQ=WEEKLY;BYDAY=99MO", "FREQ=YEARLY;BYWEEKNO=53;BYDAY=5SU",
	} {
		for _, start := range []string{"20261102T090000Z", "00010101T000000Z"} {
			began := time.Now()
			got, err := Events(buildCalendar(buildEvent("DTSTART:"+start+"\nRRULE:"+rule)), Span{From: parseClock(t, "2026-11-01"), To: parseClock(t, "2026-12-01")})
			if d := time.Since(began); d > 5*time.Second {
				t.Errorf("%s from %s took %s", rule, start, d)
			}
			if start[0] == '2' && (len(got) == 0 || len(got) > maxFound) {
				t.Errorf("%s: %d occurrences, %v", rule, len(got), err)
			}
		}
	}
}

func listNumbers(n int) string {
	var out []string
	for i := range n {
		out = append(out, fmt.Sprint(i))
	}
	return strings.Join(out, ",")
}

func TestEvents_InvalidEventHidesNoOther(t *testing.T) {
	got, err := Events(buildCalendar(buildEvent("DTSTART:yesterday"), strings.ReplaceAll(buildEvent("DTSTART:20261102T090000Z"), "e1", "e2")), Span{From: parseClock(t, "2026-11-01"), To: parseClock(t, "2026-12-01")})
	if len(got) != 1 || err == nil || !strings.Contains(err.Error(), "Standup") {
		t.Error(got, err)
	}
}

// FuzzEvents checks that the time and the length of the result are bounded for any data.
func FuzzEvents(f *testing.F) {
	f.Add(buildCalendar(buildEvent("DTSTART;TZID=Europe/Berlin:20261020T090000\nRRULE:FREQ=WEEKLY;BYDAY=MO,TU\nEXDATE:20261109T080000Z")))
	f.Add([]byte("BEGIN:VCALENDAR\nBEGIN:VEVENT\nDTSTART;A=:1\n"))
	root := os.Getenv("HOB_TEST_DATA")
	if root == "" {
		root = "../../../../shared/data"
	}
	files, _ := filepath.Glob(filepath.Join(root, "ical", "*", "tests", "*", "*", "*.ics"))
	for _, p := range files {
		if b, err := os.ReadFile(p); err == nil && len(b) < 20_000 {
			f.Add(b)
		}
	}
	s := Span{From: time.Date(2026, 11, 1, 0, 0, 0, 0, time.UTC), To: time.Date(2026, 11, 15, 0, 0, 0, 0, time.UTC), Zone: zoneNamed(f, "Europe/Berlin")}
	f.Fuzz(func(t *testing.T, b []byte) {
		got, _ := Events(b, s)
		if len(got) > maxFound {
			t.Errorf("%d occurrences", len(got))
		}
		for _, e := range got {
			if !utf8.ValidString(e.Title+e.UID+e.Place+e.Notes) || strings.ContainsAny(e.Title+e.UID+e.Place, "\r\n\x1b\x00") || e.End.Before(e.Start) || !e.Start.Before(s.To) {
				t.Errorf("%+v", e)
			}
		}
	})
}
