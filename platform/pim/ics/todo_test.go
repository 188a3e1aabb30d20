package ics

import (
	"errors"
	"strings"
	"testing"
	"time"

	"hob/platform/pim"
)

func todoOf(lines string) string {
	return "BEGIN:VTODO\nUID:t1\nDTSTAMP:20261101T000000Z\n" + lines + "\nEND:VTODO\n"
}

func TestTodos(t *testing.T) {
	vilnius := zoneNamed(t, "Europe/Vilnius")
	for _, tt := range []struct{ name, lines, want string }{
		{"no time", "SUMMARY:Milk", "Milk | | open"},
		{"a day", "SUMMARY:Milk\nDUE;VALUE=DATE:20261124", "Milk | 24 Nov, all day | open"},
		{"a time in a zone", "SUMMARY:Call\nDUE;TZID=America/New_York:20261124T090000", "Call | 24 Nov 16:00 | open"},
		{"a Windows zone name", "SUMMARY:Call\nDUE;TZID=W. Europe Standard Time:20261124T090000", "Call | 24 Nov 10:00 | open"},
		{"a time in the user's zone", "SUMMARY:Call\nDUE:20261124T090000", "Call | 24 Nov 09:00 | open"},
		{"start and length", "SUMMARY:Wash\nDTSTART:20261124T070000Z\nDURATION:PT90M", "Wash | 24 Nov 10:30 | open"},
		{"a priority", "SUMMARY:Tax\nPRIORITY:1", "Tax | | open | 1"},
		{"an invalid priority", "SUMMARY:Tax\nPRIORITY:77", "Tax | | open"},
		{"done", "SUMMARY:Old\nSTATUS:COMPLETED", "Old | | done"},
		{"done at a time", "SUMMARY:Old\nCOMPLETED:20261101T000000Z", "Old | | done"},
		{"called off", "SUMMARY:Old\nSTATUS:CANCELLED", "Old | | done"},
		{"escapes and bidi characters", "SUMMARY:a\\, b\u202e\x07c", "a, bc | | open"},
		{"a broken time", "SUMMARY:Bad\nDUE:soon", "error"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			list, err := Todos(buildCalendar(todoOf(tt.lines), todoOf("SUMMARY:Other")), vilnius)
			if tt.want == "error" {
				if err == nil || len(list) != 1 || list[0].Title != "Other" {
					t.Errorf("%+v, %v", list, err)
				}
				return
			}
			if err != nil || len(list) != 2 {
				t.Fatalf("%+v, %v", list, err)
			}
			if got := describeReminder(list[0], vilnius); got != tt.want {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
}

func describeReminder(r pim.Reminder, zone *time.Location) string {
	due := ""
	switch {
	case r.Due.IsZero():
	case r.AllDay:
		due = r.Due.In(zone).Format("2 Jan, all day")
	default:
		due = r.Due.In(zone).Format("2 Jan 15:04")
	}
	out := r.Title + " | " + strings.TrimLeft(due+" | ", " ") + map[bool]string{true: "done", false: "open"}[r.Done]
	if r.Priority > 0 {
		out += " | " + string(rune('0'+r.Priority))
	}
	return out
}

func TestNewTodo(t *testing.T) {
	vilnius := zoneNamed(t, "Europe/Vilnius")
	now := time.Date(2026, 11, 22, 12, 0, 0, 0, vilnius)
	b, err := NewTodo(pim.Reminder{UID: "u1", Title: "Call; Ada,\nplease", Notes: "a\nb", Due: time.Date(2026, 7, 1, 9, 0, 0, 0, vilnius), Priority: 1}, now)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"SUMMARY:Call\\; Ada\\,\\nplease\r\n", "DUE;TZID=Europe/Vilnius:20260701T090000\r\n", "BEGIN:VTIMEZONE\r\n", "PRIORITY:1\r\n", "TRIGGER;RELATED=END:PT0S\r\n", "STATUS:NEEDS-ACTION\r\n"} {
		if !strings.Contains(string(b), want) {
			t.Errorf("%q is missing in\n%s", want, b)
		}
	}
	list, err := Todos(b, time.UTC)
	if err != nil || len(list) != 1 || list[0].UID != "u1" || describeReminder(list[0], vilnius) != "Call; Ada, please | 1 Jul 09:00 | open | 1" {
		t.Errorf("%+v, %v", list, err)
	}
	for name, r := range map[string]pim.Reminder{"no title": {Title: " "}, "too long": {Title: strings.Repeat("a", 301)}, "a priority": {Title: "x", Priority: 10}} {
		if _, err := NewTodo(r, now); !errors.Is(err, pim.ErrInvalid) {
			t.Errorf("%s: NewTodo = %v, want ErrInvalid", name, err)
		}
	}
}

func TestDone(t *testing.T) {
	now := time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC)
	for _, tt := range []struct{ name, lines, want, holds string }{
		{"once", "SUMMARY:Milk\nX-MINE:stays", "Milk | | done", "X-MINE:stays"},
		{"recurring, several occurrences missed", "SUMMARY:Bins\nDUE:20261101T070000Z\nRRULE:FREQ=WEEKLY", "Bins | 29 Nov 07:00 | open", "RRULE:FREQ=WEEKLY"},
		{"recurring, completed early", "SUMMARY:Bins\nDTSTART;VALUE=DATE:20261124\nDUE;VALUE=DATE:20261125\nRRULE:FREQ=DAILY", "Bins | 26 Nov, all day | open", "DTSTART;VALUE=DATE:20261125"},
		{"counted", "SUMMARY:Pill\nDUE:20261122T140000Z\nRRULE:FREQ=DAILY;COUNT=3", "Pill | 23 Nov 14:00 | open", "COUNT=2"},
		{"the last occurrence", "SUMMARY:Pill\nDUE:20261122T140000Z\nRRULE:FREQ=DAILY;COUNT=1", "Pill | 22 Nov 14:00 | done", "COMPLETED:"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			b, again, err := Done(buildCalendar(todoOf(tt.lines)), "t1", time.UTC, now)
			if err != nil {
				t.Fatal(err)
			}
			list, err := Todos(b, time.UTC)
			if err != nil || len(list) != 1 || describeReminder(list[0], time.UTC) != tt.want || !strings.Contains(string(b), tt.holds) || again == list[0].Done {
				t.Errorf("%+v, %v, %v:\n%s", list, again, err, b)
			}
		})
	}
	if _, _, err := Done(buildCalendar(todoOf("SUMMARY:x")), "t2", time.UTC, now); !errors.Is(err, pim.ErrNotFound) {
		t.Error(err)
	}
	if _, _, err := Done(buildCalendar(todoOf("SUMMARY:x\nDUE:20261122T140000Z\nRRULE:FREQ=SECONDLY")), "t1", time.UTC, now); !errors.Is(err, pim.ErrInvalid) {
		t.Error(err)
	}
}

// FuzzTodos checks that any data is read within limits, and that changed data can
// be read again.
func FuzzTodos(f *testing.F) {
	for _, s := range []string{"SUMMARY:Milk\nDUE;VALUE=DATE:20261124", "DUE;TZID=Europe/Berlin:20261124T090000\nRRULE:FREQ=DAILY;COUNT=3", "DTSTART:20261124T070000Z\nDURATION:PT90M\nPRIORITY:1", "RRULE:FREQ=YEARLY;BYDAY=1MO\nDUE:00010101T000000Z"} {
		f.Add(buildCalendar(todoOf(s)))
	}
	now := time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC)
	f.Fuzz(func(t *testing.T, data []byte) {
		list, err := Todos(data, time.UTC)
		if len(list) > maxFound {
			t.Fatalf("%d", len(list))
		}
		for _, r := range list {
			if len([]rune(r.Title)) > maxTitle+1 || strings.ContainsAny(r.Title, "\n\x00") {
				t.Fatalf("%q", r.Title)
			}
		}
		b, _, derr := Done(data, "", time.UTC, now)
		if err == nil && derr == nil {
			if _, err := Todos(b, time.UTC); err != nil {
				t.Fatalf("%v:\n%s", err, b)
			}
		}
	})
}
