package calendar

import (
	"context"
	"encoding/json"
	"net"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"hob/platform/pim"
	"hob/platform/pim/pimtest"
	"hob/platform/provenance"
	"hob/tools"
)

// tuesdayMorning returns a Tuesday.
func tuesdayMorning(t *testing.T) time.Time {
	t.Helper()
	loc, err := time.LoadLocation("Europe/Vilnius")
	if err != nil {
		t.Fatal(err)
	}
	return time.Date(2026, 11, 10, 8, 0, 0, 0, loc)
}

// familyCalendar returns a calendar with all kinds of events on a real server.
func familyCalendar(t *testing.T) Deps {
	t.Helper()
	r := pimtest.StartRadicale(t)
	r.Make("Work")
	r.Make("Home")
	const vilnius = ";TZID=Europe/Vilnius:"
	r.Put("Work", "standup", "SUMMARY:Standup\nDTSTART"+vilnius+"20261027T090000\nDTEND"+vilnius+"20261027T093000\nRRULE:FREQ=WEEKLY;BYDAY=TU")
	r.Put("Work", "review", "SUMMARY:Review\nLOCATION:Room 4\nDTSTART:20261110T120000Z\nDTEND:20261110T130000Z")
	r.Put("Home", "dentist", "SUMMARY:Dentist\nDTSTART:20261110T123000Z\nDTEND:20261110T131500Z")
	r.Put("Home", "birthday", "SUMMARY:Birthday of Ada\nDTSTART;VALUE=DATE:20251110\nRRULE:FREQ=YEARLY")
	r.Put("Home", "off", "SUMMARY:Called off\nSTATUS:CANCELLED\nDTSTART:20261110T080000Z\nDTEND:20261110T090000Z")
	r.Put("Home", "maybe", "SUMMARY:Concert on the radio\nTRANSP:TRANSPARENT\nDTSTART:20261110T090000Z\nDTEND:20261110T093000Z")
	r.Put("Work", "far", "SUMMARY:Talk with Grace\nDTSTART:20261119T080000Z\nDTEND:20261119T083000Z")
	return Deps{Accounts: func() []pim.Account { return []pim.Account{r.Account("tester")} }}
}

// silentAccount returns an account whose server accepts connections and never responds.
func silentAccount(t *testing.T) pim.Account {
	t.Helper()
	var lc net.ListenConfig
	l, err := lc.Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	return pim.Account{Name: "mute", Servers: pim.Servers{pim.CalDAV: "http://" + l.Addr().String() + "/"}, User: "x", Secret: func(context.Context) (string, error) { return "x", nil }}
}

func askCalendar(t *testing.T, d Deps, args string) (tools.Result, error) {
	t.Helper()
	return Tools(d)[0].Call(t.Context(), tools.Call{Args: json.RawMessage(args), Now: tuesdayMorning(t), Progress: func(float64, string) {}})
}

func TestReadCalendar(t *testing.T) {
	d := familyCalendar(t)
	for _, tc := range []struct{ name, args, want string }{
		{"today", `{}`, "Today:\n- all day Birthday of Ada\n- 09:00-09:30 Standup\n- 11:00-11:30 Concert on the radio\n- 14:00-15:00 Review (Room 4); overlaps Dentist\n" +
			"- 14:30-15:15 Dentist; overlaps Review\nFree in between: 09:30 to 14:00."},
		{"another day", `{"date":"tomorrow"}`, "There is no event in the calendar for tomorrow."},
		{"several days", `{"days_ahead":8,"query":"standup"}`, "Today:\n- 09:00-09:30 Standup\nTue 17 Nov:\n- 09:00-09:30 Standup"},
		{"the next", `{"next":true}`, "Next: Standup, today at 09:00, until 09:30."},
		{"the next event with a person", `{"next":true,"query":"Grace"}`, "Next: Talk with Grace, Thu 19 Nov at 10:00, until 10:30."},
		{"taken", `{"at":"14:45"}`, "No, today at 14:45 is taken: Review (Room 4), 14:00-15:00; Dentist, 14:30-15:15."},
		{"free", `{"at":"11:10"}`, "Yes, today at 11:10 is free until 14:00 (Review (Room 4))."},
		{"free without an end", `{"at":"16:00"}`, "Yes, today at 16:00 is free, and so is the rest of that day."},
		{"no event with a person", `{"next":true,"query":"Linus","days_ahead":60}`, `No event in the calendar for the next 60 days matches "Linus".`},
		{"no event of a person on a day", `{"query":"Grace"}`, `No event in the calendar for today matches "Grace".`},
		{"free time next to the searched event", `{"query":"standup"}`, "Today:\n- 09:00-09:30 Standup\nFree in between: 09:30 to 14:00."},
		{"overlaps an event outside the query", `{"query":"dentist"}`, "Today:\n- 14:30-15:15 Dentist; overlaps Review\nFree in between: 09:30 to 14:00."},
		{"not free because of an event outside the query", `{"at":"14:10","query":"standup"}`, "No, today at 14:10 is taken: Review (Room 4), 14:00-15:00."},
		{"free on another day", `{"at":"9:15","date":"17 November"}`, "No, Tue 17 Nov at 09:15 is taken: Standup, 09:00-09:30."},
	} {
		t.Run(tc.name, func(t *testing.T) {
			r, err := askCalendar(t, d, tc.args)
			if err != nil || r.Text != tc.want || r.Source != provenance.Outside || len(r.Origins) != 1 {
				t.Errorf("%q\nwant %q\n%s %v %v", r.Text, tc.want, r.Source, r.Origins, err)
			}
		})
	}
	for _, tc := range []struct {
		args string
		code tools.Code
	}{
		{`{"account":"nobody's"}`, tools.NotFound},
		{`{"days_ahead":1000}`, tools.InvalidArguments},
		{`{"date":"someday"}`, tools.InvalidArguments},
	} {
		if _, err := askCalendar(t, d, tc.args); tools.CodeOf(err) != tc.code {
			t.Errorf("%s: %v", tc.args, err)
		}
	}
	if _, err := askCalendar(t, Deps{Accounts: func() []pim.Account { return nil }}, `{}`); tools.CodeOf(err) != tools.Unsupported || !strings.Contains(err.Error(), "hob account add") {
		t.Error(err)
	}
}

// The error names a server that does not respond; the other servers are still read.
func TestBrief(t *testing.T) {
	d := familyCalendar(t)
	from := tuesdayMorning(t).Add(-8 * time.Hour)
	lines := func(d Deps) (out []string, err error) {
		items, err := Brief{d}.Brief(t.Context(), from, from.AddDate(0, 0, 1))
		for _, it := range items {
			line := it.Text
			if !it.At.IsZero() {
				line = it.At.Format("15:04") + " " + line
			}
			out = append(out, line)
		}
		return out, err
	}
	got, err := lines(d)
	want := "all day: Birthday of Ada\n09:00 Standup, until 09:30\n11:00 Concert on the radio, until 11:30\n14:00 Review (Room 4), until 15:00; overlaps Dentist\n" +
		"14:30 Dentist, until 15:15; overlaps Review\nfree in between: 09:30 to 14:00"
	if err != nil || strings.Join(got, "\n") != want {
		t.Errorf("%s\n%v", strings.Join(got, "\n"), err)
	}
	all := append(d.Accounts(), silentAccount(t))
	d.Accounts, d.Wait = func() []pim.Account { return all }, 2*time.Second
	got, err = lines(d)
	if len(got) != 6 || err == nil || !strings.Contains(err.Error(), "account mute: no response within 2s") || !tools.SourceOf(err).Tainted() {
		t.Errorf("%d lines, %v", len(got), err)
	}
	all = nil
	if got, err := lines(d); len(got) != 0 || err != nil {
		t.Errorf("without an account: %v, %v", got, err)
	}
}

// Invitations that repeat every minute do not hide other meetings.
func TestBrief_Flood(t *testing.T) {
	r := pimtest.StartRadicale(t)
	r.Make("Work")
	minutes := make([]string, 60)
	for i := range minutes {
		minutes[i] = strconv.Itoa(i)
	}
	for _, name := range []string{"offer-a", "offer-b"} {
		r.Put("Work", name, "SUMMARY:Offer "+name+"\nDTSTART:20261109T220000Z\nDURATION:PT1M\nRRULE:FREQ=HOURLY;BYMINUTE="+strings.Join(minutes, ",")+";COUNT=900")
	}
	r.Put("Work", "review", "SUMMARY:Review\nDTSTART:20261110T170000Z\nDTEND:20261110T180000Z")
	d := Deps{Accounts: func() []pim.Account { return []pim.Account{r.Account("tester")} }}
	if got, err := askCalendar(t, d, `{"at":"19:30"}`); err != nil || !strings.HasPrefix(got.Text, "No, today at 19:30 is taken: Review") {
		t.Errorf("%s %v", got.Text, err)
	}
	if got, err := askCalendar(t, d, `{}`); err != nil || !strings.Contains(got.Text, "19:00-20:00 Review") || !strings.Contains(got.Text, "more") {
		t.Errorf("%s %v", got.Text, err)
	}
	from := tuesdayMorning(t).Add(-8 * time.Hour)
	items, err := Brief{d}.Brief(t.Context(), from, from.AddDate(0, 0, 1))
	if err != nil || !slices.ContainsFunc(items, func(i tools.BriefItem) bool { return strings.HasPrefix(i.Text, "Review") }) {
		t.Errorf("%v %v", items, err)
	}
}

// If there are more events than the limit, the result mentions the omitted events and reports no
// time as free at which one of them may take place.
func TestBrief_IsFair(t *testing.T) {
	at := tuesdayMorning(t)
	var all []pim.Event
	add := func(uid string, n int, after time.Duration) {
		for i := range n {
			start := at.Add(after + time.Duration(i)*time.Minute)
			all = append(all, pim.Event{UID: uid, Title: uid, Start: start, End: start.Add(time.Minute)})
		}
	}
	add("flood", 100, 0)
	add("meeting", 2, 200*time.Minute)
	kept, cut := limitEvents(all, 12)
	if len(kept) != 12 || kept[11].UID != "meeting" || cut == nil || cut.count != 90 || !cut.From.Equal(at.Add(10*time.Minute)) {
		t.Errorf("%d %v", len(kept), cut)
	}
	for _, tc := range []struct {
		after time.Duration
		want  string
	}{
		{-time.Hour, "Yes, "}, {time.Minute, "No, "}, {50 * time.Minute, "I cannot tell whether "}, {201 * time.Minute, "No, "}, {300 * time.Minute, "I cannot tell whether "},
	} {
		if got, _ := freeText(kept, at.Add(tc.after), at, tools.JoinSourceErrors([]error{cut})); !strings.HasPrefix(got, tc.want) {
			t.Errorf("%s: freeText = %s", tc.after, got)
		}
	}
	all = all[:0]
	for i := range 30 {
		add(strconv.Itoa(i), 1, time.Duration(i)*time.Minute)
	}
	if kept, cut := limitEvents(all, 12); len(kept) != 12 || cut == nil || !cut.From.Equal(at.Add(12*time.Minute)) {
		t.Errorf("%d %v", len(kept), cut)
	}
}
