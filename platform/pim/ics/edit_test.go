package ics

import (
	"errors"
	"strings"
	"testing"
	"time"

	"hob/platform/pim"
)

// readOccurrences returns the occurrences in October and November 2026, and their times in Vilnius as
// text.
func readOccurrences(t *testing.T, data []byte) (out []pim.Event, text string) {
	t.Helper()
	loc := loadVilnius(t)
	out, err := Events(data, Span{From: time.Date(2026, 10, 1, 0, 0, 0, 0, loc), To: time.Date(2026, 12, 1, 0, 0, 0, 0, loc), Zone: loc})
	if err != nil {
		t.Fatalf("%v\n%s", err, data)
	}
	var words []string
	for _, e := range out {
		words = append(words, e.Start.In(loc).Format("02.15:04")+"-"+e.End.In(loc).Format("15:04"))
	}
	return out, strings.Join(words, " ")
}

func loadVilnius(t *testing.T) *time.Location {
	t.Helper()
	loc, err := time.LoadLocation("Europe/Vilnius")
	if err != nil {
		t.Fatal(err)
	}
	return loc
}

func TestNewEvent(t *testing.T) {
	loc := loadVilnius(t)
	now := time.Date(2026, 10, 1, 8, 0, 0, 0, loc)
	start := time.Date(2026, 10, 13, 9, 0, 0, 0, loc)
	weekly := pim.NewEvent{UID: "u1", Title: `Tea; with "Ada", ` + strings.Repeat("ä", 80), Notes: "a\nb\\c", Start: start, End: start.Add(time.Hour), Rule: "FREQ=WEEKLY;COUNT=4", Guests: []pim.Person{{Name: `A "x"`, Address: "ada@example.org"}}}
	data, err := New(weekly, pim.Person{Address: "me@example.org"}, now)
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.SplitSeq(string(data), "\r\n") {
		if len(line) > 75 {
			t.Errorf("line of %d bytes", len(line))
		}
	}
	list, times := readOccurrences(t, data) // across the end of daylight saving time
	if times != "13.09:00-10:00 20.09:00-10:00 27.09:00-10:00 03.09:00-10:00" || list[0].Title != weekly.Title || list[0].Notes != weekly.Notes || len(list[0].Guests) != 2 {
		t.Errorf("%s %+v", times, list)
	}
	if z := string(data); !strings.Contains(z, "BYMONTH=3;BYDAY=-1SU") || !strings.Contains(z, "BYMONTH=10;BYDAY=-1SU") || !strings.Contains(z, "DTSTART:20261025T040000") {
		t.Error(z)
	}
	days, err := New(pim.NewEvent{UID: "u2", Title: "Trip", AllDay: true, Start: time.Date(2026, 11, 2, 0, 0, 0, 0, loc), End: time.Date(2026, 11, 5, 0, 0, 0, 0, loc)}, pim.Person{}, now)
	if list, _ := readOccurrences(t, days); err != nil || len(list) != 1 || !list[0].AllDay || list[0].End.Sub(list[0].Start) != 72*time.Hour {
		t.Errorf("%+v, %v", list, err)
	}
	for name, e := range map[string]pim.NewEvent{
		"no title":      {Start: start, End: start.Add(1)},
		"ends before":   {Title: "x", Start: start, End: start},
		"a wild rule":   {Title: "x", Start: start, End: start.Add(1), Rule: "FREQ=SECONDLY"},
		"a second line": {Title: "x", Start: start, End: start.Add(1), Rule: "FREQ=DAILY\r\nATTENDEE:mailto:eve@x.org"},
		"a bad guest":   {Title: "x", Start: start, End: start.Add(1), Guests: []pim.Person{{Address: "a\nb"}}},
	} {
		if _, err := New(e, pim.Person{}, now); !errors.Is(err, pim.ErrInvalid) {
			t.Errorf("%s: New = %v, want ErrInvalid", name, err)
		}
	}
}

const standups = "BEGIN:VCALENDAR\r\nVERSION:2.0\r\nPRODID:x\r\nX-KEEP:me\r\nBEGIN:VEVENT\r\nUID:s\r\nDTSTAMP:20261001T000000Z\r\nSUMMARY:Standup\r\nX-ODD;P=1:stays\r\n" +
	"DTSTART;TZID=Europe/Vilnius:20261013T090000\r\nDTEND;TZID=Europe/Vilnius:20261013T093000\r\nRRULE:FREQ=WEEKLY;UNTIL=20261103T070000Z\r\nEXDATE;TZID=Europe/Vilnius:20261020T090000\r\n" +
	"BEGIN:VALARM\r\nACTION:DISPLAY\r\nTRIGGER:-PT5M\r\nDESCRIPTION:x\r\nEND:VALARM\r\nEND:VEVENT\r\n" +
	"BEGIN:VEVENT\r\nUID:s\r\nDTSTAMP:20261001T000000Z\r\nSUMMARY:Standup\r\nRECURRENCE-ID;TZID=Europe/Vilnius:20261103T090000\r\nDTSTART;TZID=Europe/Vilnius:20261103T110000\r\nDTEND;TZID=Europe/Vilnius:20261103T113000\r\nEND:VEVENT\r\nEND:VCALENDAR\r\n"

func TestChanged(t *testing.T) {
	loc := loadVilnius(t)
	now := time.Date(2026, 10, 1, 8, 0, 0, 0, loc)
	all, times := readOccurrences(t, []byte(standups))
	if times != "13.09:00-09:30 27.09:00-09:30 03.11:00-11:30" {
		t.Fatal(times)
	}
	at := func(d, h int) *time.Time {
		x := time.Date(2026, time.Month(10+d/100), d%100, h, 0, 0, 0, loc)
		return &x
	}
	title := "Coffee"
	for name, tc := range map[string]struct {
		e     int
		c     pim.EventChange
		whole bool
		want  string
	}{
		"one occurrence":             {1, pim.EventChange{Start: at(28, 14)}, false, "13.09:00-09:30 28.14:00-14:30 03.11:00-11:30"},
		"one that was moved before":  {2, pim.EventChange{Start: at(104, 8)}, false, "13.09:00-09:30 27.09:00-09:30 04.08:00-08:30"},
		"its end":                    {1, pim.EventChange{End: at(27, 11)}, false, "13.09:00-09:30 27.09:00-11:00 03.11:00-11:30"},
		"all, with their exceptions": {1, pim.EventChange{Start: at(27, 10)}, true, "13.10:00-10:30 27.10:00-10:30 03.11:00-11:30"},
		"the title of all":           {0, pim.EventChange{Title: &title}, true, "13.09:00-09:30 27.09:00-09:30 03.11:00-11:30"},
	} {
		data, err := Changed([]byte(standups), all[tc.e], tc.c, tc.whole, loc, now)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if _, got := readOccurrences(t, data); got != tc.want || !strings.Contains(string(data), "X-ODD;P=1:stays") || !strings.Contains(string(data), "X-KEEP:me") || !strings.Contains(string(data), "VALARM") {
			t.Errorf("%s: %s\n%s", name, got, data)
		}
	}
	if _, err := Changed([]byte(standups), all[0], pim.EventChange{Start: at(14, 9)}, true, loc, now); !errors.Is(err, pim.ErrInvalid) {
		t.Error(err)
	}
	data, err := Without([]byte(standups), all[2], loc, now)
	if err != nil {
		t.Fatal(err)
	}
	if _, got := readOccurrences(t, data); got != "13.09:00-09:30 27.09:00-09:30" {
		t.Errorf("%s\n%s", got, data)
	}
	if _, err := Changed([]byte("no calendar"), all[0], pim.EventChange{}, true, loc, now); err == nil {
		t.Error("invalid data was changed")
	}
}

// A change is rejected if it would lose data. For example, a lost guest would be uninvited.
func TestChange_LosesNoData(t *testing.T) {
	const head, tail = "BEGIN:VCALENDAR\r\nBEGIN:VEVENT\r\nUID:u\r\nSUMMARY:Review\r\nDTSTART:20261110T120000Z\r\nDTEND:20261110T130000Z\r\n", "END:VEVENT\r\nEND:VCALENDAR\r\n"
	place := "Room 5"
	for _, tc := range []struct {
		name, data string
		lost       bool
	}{
		{"all is good", head + "ATTENDEE;CN=\"Ada\":mailto:ada@example.org\r\n\r\n" + tail + "\r\n", false},
		{"a name with quotes in it", head + "ATTENDEE;CN=\"Ada \"Al\" L\":mailto:ada@example.org\r\n" + tail, true},
		{"a parameter that is none", head + "ATTENDEE;RSVP:mailto:ada@example.org\r\n" + tail, true},
		{"cut off", head + "ATTENDEE:mailto:ada@example.org\r\n", true},
		{"a line lost and an end added", head + "ATTENDEE;RSVP:mailto:ada@example.org\r\nEND:VEVENT\r\n", true},
		{"two in one", head + tail + head + tail, true},
	} {
		_, err := Changed([]byte(tc.data), pim.Event{UID: "u"}, pim.EventChange{Place: &place}, true, time.UTC, time.Now())
		if tc.lost != errors.Is(err, pim.ErrInvalid) || !tc.lost && err != nil {
			t.Errorf("%s: Changed = %v", tc.name, err)
		}
	}
}
