package ics

import (
	"errors"
	"strings"
	"testing"
	"time"

	"hob/platform/pim"
)

const invited = "ORGANIZER;CN=\"Ada; L\":mailto:ada@example.org\nATTENDEE;CN=Me;RSVP=TRUE;PARTSTAT=NEEDS-ACTION:MAILTO:Me@Example.org\nATTENDEE;CN=\"B;ob\":mailto:bob@example.org\nSEQUENCE:3\n"

// TestAnswered follows RFC 5546, 3.2.3: the reply lists only the guest who answers, and keeps the
// organizer's version.
func TestAnswered(t *testing.T) {
	now := time.Date(2026, 11, 1, 12, 0, 0, 0, time.UTC)
	me := pim.Person{Address: "me@example.org"}
	once := buildCalendar(buildEvent(invited + "DTSTART:20261102T090000Z\nDTEND:20261102T100000Z\nX-OF-ADA:stays"))
	after, reply, err := Answered(once, pim.Event{UID: "e1"}, me, pim.Declined, "Sorry;\nnext time", true, time.UTC, now)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"ATTENDEE;CN=Me;PARTSTAT=DECLINED:MAILTO:Me@Example.org", "X-OF-ADA:stays", "SEQUENCE:3", "ATTENDEE;CN=\"B;ob\":mailto:bob@example.org"} {
		if !strings.Contains(string(after), want+"\r\n") {
			t.Errorf("%q is missing in\n%s", want, after)
		}
	}
	for _, want := range []string{"METHOD:REPLY", "UID:e1", "SEQUENCE:3", "ORGANIZER;CN=\"Ada; L\":mailto:ada@example.org", "ATTENDEE;CN=Me;PARTSTAT=DECLINED:mailto:me@example.org", `COMMENT:Sorry\;\nnext time`, "DTSTAMP:20261101T120000Z"} {
		if !strings.Contains(reply, want+"\r\n") {
			t.Errorf("%q is missing in\n%s", want, reply)
		}
	}
	if strings.Contains(reply, "bob@") || strings.Contains(reply, "X-OF-ADA") {
		t.Errorf("unexpected content:\n%s", reply)
	}
	series := buildCalendar(buildEvent(invited + "DTSTART;TZID=Europe/Berlin:20261102T090000\nDTEND;TZID=Europe/Berlin:20261102T100000\nRRULE:FREQ=WEEKLY;COUNT=4"))
	after, reply, err = Answered(series, pim.Event{UID: "e1", Occurrence: "20261109T080000Z"}, me, pim.Accepted, "", false, time.UTC, now)
	if err != nil || !strings.Contains(reply, "RECURRENCE-ID;TZID=Europe/Berlin:20261109T090000\r\n") || strings.Count(string(after), "PARTSTAT=NEEDS-ACTION") != 1 || strings.Count(string(after), "PARTSTAT=ACCEPTED") != 1 {
		t.Errorf("%v\n%s\n%s", err, after, reply)
	}
	if _, _, err := Answered(once, pim.Event{UID: "e1"}, pim.Person{Address: "eve@example.org"}, pim.Accepted, "", true, time.UTC, now); !errors.Is(err, pim.ErrInvalid) {
		t.Error(err)
	}
	if _, _, err := Answered(buildCalendar(buildEvent("ATTENDEE:mailto:me@example.org\nDTSTART:20261102T090000Z")), pim.Event{UID: "e1"}, me, pim.Accepted, "", true, time.UTC, now); !errors.Is(err, pim.ErrInvalid) {
		t.Error(err)
	}
}

// TestMessage checks the messages to guests for a change and a cancellation (RFC
// 5546, 3.2.2, 3.2.5).
func TestMessage(t *testing.T) {
	now := time.Date(2026, 11, 1, 12, 0, 0, 0, time.UTC)
	series := buildCalendar(buildEvent(invited + "DTSTART:20261102T090000Z\nDTEND:20261102T100000Z\nRRULE:FREQ=WEEKLY;COUNT=4\nBEGIN:VALARM\nTRIGGER:-PT5M\nEND:VALARM"))
	for _, tt := range []struct {
		name, method, occurrence string
		whole                    bool
		has, lacks               []string
	}{
		{"changed", Request, "", true, []string{"METHOD:REQUEST", "SEQUENCE:3", "RRULE:FREQ=WEEKLY;COUNT=4"}, []string{"VALARM", "CANCELLED"}},
		{"called off", Cancel, "20261109T090000Z", true, []string{"METHOD:CANCEL", "STATUS:CANCELLED", "SEQUENCE:4", "RRULE"}, []string{"RECURRENCE-ID", "VALARM"}},
		{"one called off", Cancel, "20261109T090000Z", false, []string{"METHOD:CANCEL", "STATUS:CANCELLED", "RECURRENCE-ID:20261109T090000Z", "DTSTART:20261109T090000Z", "SEQUENCE:4"}, []string{"RRULE"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, err := Message(tt.method, series, pim.Event{UID: "e1", Occurrence: tt.occurrence}, tt.whole, time.UTC, now)
			if err != nil {
				t.Fatal(err)
			}
			for _, want := range tt.has {
				if !strings.Contains(got, want) {
					t.Errorf("%q is missing in\n%s", want, got)
				}
			}
			for _, not := range tt.lacks {
				if strings.Contains(got, not) {
					t.Errorf("%q in\n%s", not, got)
				}
			}
		})
	}
}
