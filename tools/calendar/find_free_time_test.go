package calendar

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"hob/platform/pim"
	"hob/platform/pim/netaccount"
	"hob/platform/pim/pimtest"
	"hob/tools"
)

// sharedFixture returns the calendars of two accounts on one server: those of the user, and those of
// Bob, whose account the user has added too.
func sharedFixture(t *testing.T) (*calendarFixture, *postbox) {
	t.Helper()
	r := pimtest.StartRadicale(t)
	w, box := &calendarFixture{t: t, r: r, clock: tuesdayMorning(t), tools: map[string]tools.Tool{}}, &postbox{address: "tester@test.local"}
	mine, bobs := r.Account("tester"), r.Account("other")
	mine.Address, bobs.Address, bobs.Name = "tester@test.local", "bob@test.local", "bob"
	r.Make("Work")
	r.Make("Home")
	r.As("other").Make("Bob")
	w.c = netaccount.NewCalendars(mine)
	d := Deps{
		Accounts: func() []pim.Account { return []pim.Account{mine, bobs} }, Calendars: func() []pim.Calendars { return []pim.Calendars{w.c} },
		Mailers: func() []pim.Mailer { return []pim.Mailer{box} }, Now: w.currentTime,
	}
	for _, x := range Tools(d) {
		w.tools[x.Spec().Name] = x
	}
	// Tuesday, 10 November 2026, 08:00 in Vilnius (UTC+2)
	r.Put("Work", "standup", "SUMMARY:Standup\nDTSTART:20261110T070000Z\nDTEND:20261110T083000Z")
	r.Put("Home", "call", "SUMMARY:Call with Boston\nDTSTART;TZID=America/New_York:20261110T050000\nDTEND;TZID=America/New_York:20261110T060000")
	r.As("other").Put("Bob", "osaka", "SUMMARY:Osaka review\nDTSTART;TZID=Asia/Tokyo:20261110T210000\nDTEND;TZID=Asia/Tokyo:20261110T223000")
	return w, box
}

func freeOf(r tools.Result) string {
	var out []string
	data, _ := r.Data.(freeOut)
	for _, f := range data.Free {
		out = append(out, f.Start.Format("2.1. 15:04")+"-"+f.End.Format("15:04"))
	}
	return strings.Join(out, ", ")
}

func TestFindFreeTime(t *testing.T) {
	w, _ := sharedFixture(t)
	for _, tc := range []struct{ name, args, free, text string }{
		{"between calendars in three zones", `{"min_duration_minutes":45,"days_ahead":1}`, "10.11. 10:30-12:00, 10.11. 13:00-14:00, 10.11. 15:30-17:00", "Best times for 45 minutes:\n1. today, 10:30-11:15 (right after Standup)"},
		{"one account", `{"days_ahead":1,"account":"home"}`, "10.11. 10:30-12:00, 10.11. 13:00-17:00", ""},
		{"one account and an attendee", `{"days_ahead":1,"account":"home","attendees":["bob@test.local"]}`, "10.11. 10:30-12:00, 10.11. 13:00-14:00, 10.11. 15:30-17:00", ""},
		{"an unknown attendee", `{"days_ahead":1,"attendees":["eve@example.org"]}`, "10.11. 10:30-12:00, 10.11. 13:00-14:00, 10.11. 15:30-17:00", "It is unknown when eve@example.org is busy: no calendar server reports"},
		{"buffer", `{"min_duration_minutes":40,"days_ahead":1,"buffer_minutes":15}`, "10.11. 10:45-11:45, 10.11. 15:45-17:00", ""},
		{"working hours in New York", `{"min_duration_minutes":60,"days_ahead":1,"working_hours_end":"19:00","zones":["New York"]}`, "10.11. 16:00-19:00", "Tue 09:00 in New York"},
		{"exact fit", `{"min_duration_minutes":60,"days_ahead":1,"working_hours_start":"13:00","working_hours_end":"14:00"}`, "10.11. 13:00-14:00", "fills the gap"},
		{"no common hours", `{"days_ahead":3,"zones":["Los Angeles","Tokyo"]}`, "", "No time of day is within the working hours of all time zones."},
		{"weekend", `{"date":"Saturday","days_ahead":2}`, "", "No free time of 30 minutes was found from Sat 14 Nov to Sun 15 Nov."},
		{"weekend allowed", `{"date":"Saturday","days_ahead":1,"weekends":true}`, "14.11. 09:00-17:00", ""},
		{"one calendar, and all calendars of an attendee", `{"days_ahead":1,"calendars":["home"],"attendees":["bob@test.local"]}`, "10.11. 09:00-12:00, 10.11. 13:00-14:00, 10.11. 15:30-17:00", ""},
		{"a misspelled calendar", `{"days_ahead":1,"calendars":["home","Wrok"]}`, "10.11. 09:00-12:00, 10.11. 13:00-17:00", "There are no events at all in: Wrok."},
		{"one calendar", `{"days_ahead":1,"calendars":["home"]}`, "10.11. 09:00-12:00, 10.11. 13:00-17:00", ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			_, r, err := w.judgeAndCall("find_free_time", tc.args, 0)
			if err != nil || freeOf(r) != tc.free || !strings.Contains(r.Text, tc.text) || !r.Source.Tainted() {
				t.Errorf("%v: %s\nwant %s\n%s", err, freeOf(r), tc.free, r.Text)
			}
		})
	}
	for _, args := range []string{`{"days_ahead":99}`, `{"min_duration_minutes":1}`, `{"zones":["Atlantis"]}`, `{"working_hours_start":"soon"}`, `{"working_hours_start":"16:50"}`, `{"buffer_minutes":-1}`, `{"date":"1 January 2020"}`, `{"attendees":["nobody"]}`, `{"calendars":["Nothing"]}`} {
		if _, _, err := w.judgeAndCall("find_free_time", args, 0); err == nil {
			t.Errorf("%s: no error", args)
		}
	}
}

// Contradictory times are treated as busy in each reading, and reported.
func TestFindFreeTime_ContradictoryZones(t *testing.T) {
	w, _ := sharedFixture(t)
	const zone = "BEGIN:VTIMEZONE\nTZID:Europe/Vilnius\nBEGIN:STANDARD\nDTSTART:19700101T000000\nTZOFFSETFROM:-0500\nTZOFFSETTO:-0500\nEND:STANDARD\nEND:VTIMEZONE\n"
	w.r.PutRaw("Work", "odd", "BEGIN:VCALENDAR\nVERSION:2.0\nPRODID:-//test//EN\n"+zone+"BEGIN:VEVENT\nUID:odd\nDTSTAMP:20261101T000000Z\nSUMMARY:Odd one\nDTSTART;TZID=Europe/Vilnius:20261111T090000\nDTEND;TZID=Europe/Vilnius:20261111T100000\nEND:VEVENT\nEND:VCALENDAR\n")
	w.r.Put("Work", "back", "SUMMARY:Backwards\nDTSTART:20261111T100000Z\nDTEND:20261111T090000Z")
	_, r, err := w.judgeAndCall("find_free_time", `{"date":"tomorrow","days_ahead":1}`, 0)
	if err != nil || freeOf(r) != "11.11. 10:00-16:00" {
		t.Errorf("%v %s", err, freeOf(r))
	}
	for _, want := range []string{`"Odd one": its data defines the time zone Europe/Vilnius differently: 07:00 or 14:00 UTC`, `"Backwards": it ends before it starts`} {
		if !strings.Contains(r.Text, want) {
			t.Errorf("no %q in %s", want, r.Text)
		}
	}
}

// A server that does not respond makes the result incomplete, which the result states. If no server
// responds, there is no result.
func TestFindFreeTime_SilentServer(t *testing.T) {
	d := familyCalendar(t)
	good := d.Accounts()[0]
	d.Wait = 300 * time.Millisecond
	find := func(d Deps) (tools.Result, error) {
		return d.findFreeTime().Call(t.Context(), tools.Call{Args: json.RawMessage(`{"days_ahead":1}`), Now: tuesdayMorning(t)})
	}
	d.Accounts = func() []pim.Account { return []pim.Account{good, silentAccount(t)} }
	if r, err := find(d); err != nil || !strings.Contains(r.Text, "so you may be busy at these times: account mute: no response") {
		t.Errorf("%v %s", err, r.Text)
	}
	d.Accounts = func() []pim.Account { return []pim.Account{silentAccount(t)} }
	if r, err := find(d); err == nil {
		t.Error(r.Text)
	}
}

// outboxServer answers as the examples of RFC 6638, appendix B.5.
func outboxServer(t *testing.T, answer string) pim.Account {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		multi := func(props string) {
			w.WriteHeader(http.StatusMultiStatus)
			fmt.Fprintf(w, `<d:multistatus xmlns:d="DAV:" xmlns:c="urn:ietf:params:xml:ns:caldav"><d:response><d:href>%s</d:href><d:propstat><d:prop>%s</d:prop><d:status>HTTP/1.1 200 OK</d:status></d:propstat></d:response></d:multistatus>`, r.URL.Path, props)
		}
		switch {
		case r.Method == http.MethodPost && r.URL.Path == "/outbox/" && strings.HasPrefix(r.Header.Get("Content-Type"), "text/calendar"):
			fmt.Fprint(w, answer)
		case r.Method == "PROPFIND" && r.URL.Path == "/me/":
			multi(`<d:current-user-principal><d:href>/me/</d:href></d:current-user-principal><c:calendar-home-set><d:href>/me/</d:href></c:calendar-home-set><c:schedule-outbox-URL><d:href>/outbox/</d:href></c:schedule-outbox-URL><d:resourcetype><c:calendar/></d:resourcetype>`)
		case r.Method == "REPORT":
			multi("")
		default:
			http.Redirect(w, r, "/me/", http.StatusMovedPermanently)
		}
	}))
	t.Cleanup(s.Close)
	a := silentAccount(t).With(pim.CalDAV, s.URL)
	a.Name, a.Address = "work", "me@example.com"
	return a
}

func TestFindFreeTime_FreeBusyOfServer(t *testing.T) {
	const reply = `<?xml version="1.0"?><C:schedule-response xmlns:D="DAV:" xmlns:C="urn:ietf:params:xml:ns:caldav">
<C:response><C:recipient><D:href>mailto:wilfredo@example.com</D:href></C:recipient><C:request-status>2.0;Success</C:request-status><C:calendar-data>BEGIN:VCALENDAR
VERSION:2.0
PRODID:-//Example Corp.//CalDAV Server//EN
METHOD:REPLY
BEGIN:VFREEBUSY
UID:4FD3AD926350
DTSTAMP:20261101T000000Z
DTSTART:20261110T000000Z
DTEND:20261111T000000Z
ORGANIZER:mailto:me@example.com
ATTENDEE:mailto:wilfredo@example.com
FREEBUSY;FBTYPE=BUSY:20261110T070000Z/20261110T090000Z,20261110T100000Z/PT2H
FREEBUSY;FBTYPE=FREE:20261110T130000Z/20261110T140000Z
END:VFREEBUSY
END:VCALENDAR
</C:calendar-data></C:response>
<C:response><C:recipient><D:href>mailto:mike@example.org</D:href></C:recipient><C:request-status>3.7;Invalid calendar user</C:request-status></C:response></C:schedule-response>`
	for _, tc := range []struct{ name, answer, free, text string }{
		{"answers", reply, "10.11. 11:00-12:00, 10.11. 14:00-17:00", `It is unknown when mike@example.org is busy: account work: calendars: free/busy: the server answered "3.7;Invalid calendar user".`},
		{"answers with HTML", "<html>Sign in", "10.11. 09:00-17:00", "It is unknown when wilfredo@example.com is busy: account work: calendars: free/busy: the response is not valid XML"},
		{"answers with nothing", "", "10.11. 09:00-17:00", "It is unknown when wilfredo@example.com is busy"},
		{"invents periods", strings.Replace(reply, "PT2H", "whenever", 1), "10.11. 09:00-17:00", `It is unknown when wilfredo@example.com is busy: ics: invalid busy period`},
	} {
		t.Run(tc.name, func(t *testing.T) {
			a := outboxServer(t, tc.answer)
			d := Deps{Accounts: func() []pim.Account { return []pim.Account{a} }}
			r, err := d.findFreeTime().Call(t.Context(), tools.Call{Args: json.RawMessage(`{"days_ahead":1,"attendees":["wilfredo@example.com","mike@example.org"]}`), Now: tuesdayMorning(t)})
			if err != nil || freeOf(r) != tc.free || !strings.Contains(r.Text, tc.text) {
				t.Errorf("%v: %s\n%s", err, freeOf(r), r.Text)
			}
		})
	}
}
