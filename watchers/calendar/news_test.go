package calendar

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"hob/platform/pim"
	"hob/watchers"
)

func watchOf(t *testing.T, config string, zone *time.Location) *watch {
	t.Helper()
	s, err := parseConfig(json.RawMessage(config))
	if err != nil {
		t.Fatal(err)
	}
	return &watch{settings: s, zone: func() *time.Location { return zone }, log: slog.New(slog.DiscardHandler)}
}

func loadZone(t *testing.T, name string) *time.Location {
	t.Helper()
	loc, err := time.LoadLocation(name)
	if err != nil {
		t.Fatal(err)
	}
	return loc
}

func TestSoon(t *testing.T) {
	berlin := loadZone(t, "Europe/Berlin")
	start := time.Date(2026, 11, 2, 9, 0, 0, 0, berlin)
	timed := pim.Event{UID: "e", Title: "Call", Place: "Room 1", Start: start, End: start.Add(time.Hour)}
	whole := pim.Event{UID: "e", Title: "Birthday", Start: time.Date(2026, 11, 2, 0, 0, 0, 0, berlin), End: time.Date(2026, 11, 3, 0, 0, 0, 0, berlin), AllDay: true, Floating: true}
	gone := timed
	gone.Cancelled = true
	tests := []struct {
		name, config string
		e            pim.Event
		now          time.Time
		text, wake   string // times in the zone of Berlin
	}{
		{"long before", `{}`, timed, start.Add(-2 * time.Hour), "", "08:45"},
		{"its time", `{}`, timed, start.Add(-15 * time.Minute), "Call starts in 15 minutes (today at 09:00), Room 1", ""},
		{"the first of two times", `{"before":["1h","10m"]}`, timed, start.Add(-time.Hour), "Call starts in 1 hour (today at 09:00), Room 1", "08:50"},
		{"both times have passed", `{"before":["1h","10m"]}`, timed, start.Add(-5 * time.Minute), "Call starts in 5 minutes (today at 09:00), Room 1", ""},
		{"the day before", `{"before":["1d"]}`, timed, start.AddDate(0, 0, -1), "Call starts in 1 day (tomorrow at 09:00), Room 1", ""},
		{"slightly late", `{}`, timed, start.Add(time.Minute), "Call starts now, Room 1", ""},
		{"the event is in progress", `{}`, timed, start.Add(20 * time.Minute), "Call started 20 minutes ago (today at 09:00), Room 1", ""},
		{"the event is over", `{}`, timed, start.Add(61 * time.Minute), "", ""},
		{"cancelled", `{}`, gone, start.Add(-5 * time.Minute), "", ""},
		{"not requested", `{"tell":["moved"]}`, timed, start.Add(-5 * time.Minute), "Call starts in 5 minutes (today at 09:00), Room 1", ""}, // Poll checks "tell"
		{"an all-day event, at night", `{}`, whole, whole.Start.Add(time.Hour), "", "08:00"},
		{"an all-day event, in the morning", `{}`, whole, whole.Start.Add(8 * time.Hour), "Birthday is today", ""},
		{"an all-day event that has ended", `{}`, whole, whole.End, "", ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			w := watchOf(t, tt.config, berlin)
			got, wake := w.startingSoon([]pim.Event{tt.e}, watchers.Progress{}, tt.now)
			text, at := "", ""
			if len(got) == 1 {
				text = got[0].Text
			}
			if !wake.IsZero() {
				at = wake.In(berlin).Format("15:04")
			}
			if text != tt.text || at != tt.wake || len(got) > 1 {
				t.Errorf("text %q, next poll at %q, %d signals", text, at, len(got))
			}
		})
	}
}

// TestEvents_ZoneChange checks that a change of the user's zone fires no event if only the display
// changes, and that an all-day event stays on its day.
func TestEvents_ZoneChange(t *testing.T) {
	berlin, tokyo := loadZone(t, "Europe/Berlin"), loadZone(t, "Asia/Tokyo")
	now := time.Date(2026, 11, 1, 12, 0, 0, 0, time.UTC)
	in := func(loc *time.Location) cursor {
		fixed := time.Date(2026, 11, 3, 8, 0, 0, 0, time.UTC).In(loc)
		day, floating := time.Date(2026, 11, 4, 0, 0, 0, 0, loc), time.Date(2026, 11, 5, 9, 0, 0, 0, loc)
		return cursor{To: now.AddDate(0, 0, 14), Zone: loc.String(), Calendars: []seen{{Name: "Work"}}, Events: []pim.Event{
			{UID: "1", Title: "Call", Calendar: "Work", Start: fixed, End: fixed.Add(time.Hour)},
			{UID: "2", Title: "Day", Calendar: "Work", Start: day, End: day.AddDate(0, 0, 1), AllDay: true, Floating: true},
			{UID: "3", Title: "Alarm", Calendar: "Work", Start: floating, End: floating, Floating: true},
		}}
	}
	raw, err := json.Marshal(in(berlin)) // as read from the database
	if err != nil {
		t.Fatal(err)
	}
	var was cursor
	if err := json.Unmarshal(raw, &was); err != nil {
		t.Fatal(err)
	}
	w := watchOf(t, `{"tell":["starts","added","changed","moved","cancelled"]}`, tokyo)
	if got := w.changedEvents(was, in(tokyo), now); len(got) != 0 {
		t.Errorf("changedEvents = %+v", got)
	}
	soon, wake := w.startingSoon(in(tokyo).Events[1:2], watchers.Progress{}, now)
	if len(soon) != 0 || !wake.Equal(time.Date(2026, 11, 4, 8, 0, 0, 0, tokyo)) {
		t.Errorf("startingSoon = %v, %s", soon, wake)
	}
}

func TestDifferences(t *testing.T) {
	now := time.Date(2026, 11, 1, 12, 0, 0, 0, time.UTC)
	at := func(day int) time.Time { return time.Date(2026, 11, day, 9, 0, 0, 0, time.UTC) }
	one := func(uid, occurrence string, day int) pim.Event {
		return pim.Event{UID: uid, Occurrence: occurrence, Title: "Standup", Calendar: "Work", Start: at(day), End: at(day).Add(time.Hour), Version: "v"}
	}
	look := func(to int, events ...pim.Event) cursor {
		return cursor{To: at(to), Calendars: []seen{{Name: "Work"}}, Events: events}
	}
	series := func(hour int) (out []pim.Event) {
		for d := 2; d < 12; d++ {
			e := one("s", at(d).Format("20060102"), d)
			e.Start, e.End = e.Start.Add(time.Duration(hour)*time.Hour), e.End.Add(time.Duration(hour)*time.Hour)
			out = append(out, e)
		}
		return out
	}
	tests := []struct {
		name    string
		was, is cursor
		want    string
	}{
		{"nothing", look(14, one("1", "", 3)), look(14, one("1", "", 3)), ""},
		{"new", look(14), look(14, one("1", "", 3)), "New in your calendar: Standup, on Tue 3 Nov at 09:00"},
		{"newly in the period", look(14), look(16, one("1", "", 15)), ""},
		{"no longer in the period", look(16, one("1", "", 15)), look(14), ""},
		{"gone", look(14, one("1", "", 3)), look(14), "Standup was canceled (on Tue 3 Nov at 09:00)"},
		{"over and deleted", cursor{To: at(14), Calendars: []seen{{Name: "Work"}}, Events: []pim.Event{one("1", "", 1)}}, look(14), ""},
		{"a calendar that is no longer watched", look(14, one("1", "", 3)), cursor{To: at(14)}, ""},
		{"moved", look(14, one("1", "", 3)), look(14, one("1", "", 4)), "Standup was moved to Wed 4 Nov at 09:00 (it was on Tue 3 Nov at 09:00)"},
		{"the complete series moved", look(14, series(0)...), look(14, series(1)...), "Standup was moved to tomorrow at 10:00 (it was tomorrow at 09:00)"},
		{"the event recurs from now on", look(14, one("1", "", 3)), look(14, one("1", "20261103T090000Z", 3)), ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			w := watchOf(t, `{"tell":["starts","added","changed","moved","cancelled"]}`, time.UTC)
			var texts []string
			for _, s := range w.changedEvents(tt.was, tt.is, now) {
				texts = append(texts, s.Text)
			}
			if got := strings.Join(texts, "|"); got != tt.want {
				t.Errorf("%q", got)
			}
		})
	}
}

// TestEvents_FireWithoutTheServer checks that known events fire although the server does not answer,
// and that the watcher requests a poll at the time of the next event.
func TestEvents_FireWithoutTheServer(t *testing.T) {
	busy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Retry-After", "36000")
		w.WriteHeader(http.StatusServiceUnavailable)
	}))
	defer busy.Close()
	now := time.Now()
	at := func(d time.Duration) pim.Event {
		return pim.Event{UID: d.String(), Title: "Call", Start: now.Add(d).UTC(), End: now.Add(d + time.Hour).UTC()}
	}
	raw, err := json.Marshal(cursor{To: now.Add(horizon), Zone: "UTC", Events: []pim.Event{at(10 * time.Minute), at(3 * time.Hour)}})
	if err != nil {
		t.Fatal(err)
	}
	for name, server := range map[string]string{"nobody answers": "http://127.0.0.1:1/", "no such host": "https://nobody.invalid/", "busy": busy.URL} {
		t.Run(name, func(t *testing.T) {
			w := watchOf(t, `{}`, time.UTC)
			w.account = pim.Account{Name: "home", Servers: pim.Servers{pim.CalDAV: server}, User: "x", Secret: func(context.Context) (string, error) { return "secret", nil }}
			found, err := w.Poll(t.Context(), watchers.Progress{Cursor: raw})
			if err == nil || len(found.Signals) != 1 || !strings.HasPrefix(found.Signals[0].Text, "Call starts in 10 minutes") {
				t.Fatalf("Poll = %+v, %v", found, err)
			}
			wake := now.Add(3*time.Hour - usualLead)
			if !found.Wake.Equal(wake.Round(0)) {
				t.Errorf("wakes at %s, want %s", found.Wake, wake)
			}
			if later, is := errors.AsType[*watchers.LaterError](err); is && later.Until.After(found.Wake) {
				t.Errorf("the poll waits until %s, after the next known event", later.Until)
			}
			if errors.Is(err, watchers.ErrOffline) != (name == "no such host") {
				t.Error(err)
			}
		})
	}
}

// TestEvents_IncompleteAnswer checks that events missing from an incomplete answer do not fire as
// canceled, nor as added when the answer is complete again. Events missing from a complete answer
// fire as canceled.
func TestEvents_IncompleteAnswer(t *testing.T) {
	now := time.Now()
	event := func(name, uid, data string) string {
		return fmt.Sprintf("<response><href>/cal/%s.ics</href><propstat><status>HTTP/1.1 200 OK</status><prop><getetag>1</getetag><c:calendar-data>"+
			"BEGIN:VCALENDAR\nVERSION:2.0\nPRODID:x\nBEGIN:VEVENT\nUID:%s\nDTSTAMP:20260101T000000Z\n%s\nEND:VEVENT\nEND:VCALENDAR\n"+
			"</c:calendar-data></prop></propstat></response>", name, uid, data)
	}
	at := func(d int) string { return "DTSTART:" + now.AddDate(0, 0, d).UTC().Format("20060102T150405Z") }
	a, b, c := event("a", "a", "SUMMARY:Standup\n"+at(2)), event("b", "b", "SUMMARY:Party\n"+at(3)), event("c", "c", "SUMMARY:Lunch\n"+at(4))
	tests := []struct {
		name, answer, want string
	}{
		{"incomplete answer", a + "<response><href>/cal/</href><status>HTTP/1.1 507 Insufficient Storage</status></response>", ""},
		{"an event that is not listed", a + c + "<response><href>/cal/b.ics</href><status>HTTP/1.1 404 Not Found</status></response>", ""},
		{"one calendar fails", a + c + "<response><href>/cal/b.ics</href><propstat><status>HTTP/1.1 500 Oops</status><prop><c:calendar-data/></prop></propstat></response>", ""},
		{"an event that cannot be read", a + c + event("b", "b", "SUMMARY:Party\nDTSTART:soon"), ""},
		{"an event that cannot be read, and another that was deleted", a + event("b", "b", "SUMMARY:Party\nDTSTART:soon"), "Lunch was canceled"},
		{"one event was deleted", a + c + "<response><href>/cal/</href><propstat><status>HTTP/1.1 404 Not Found</status><prop><c:calendar-data/></prop></propstat></response>", "Party was canceled"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			answer := ""
			s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				w.WriteHeader(http.StatusMultiStatus)
				body := answer
				if r.Method == "PROPFIND" {
					body = "<response><href>/cal/</href><propstat><status>HTTP/1.1 200 OK</status><prop><resourcetype><collection/><c:calendar/></resourcetype></prop></propstat></response>"
				}
				fmt.Fprint(w, `<multistatus xmlns="DAV:" xmlns:c="urn:ietf:params:xml:ns:caldav">`, body, `</multistatus>`)
			}))
			defer s.Close()
			w := watchOf(t, `{"tell":["added","changed","moved","cancelled"]}`, time.UTC)
			w.account = pim.Account{Name: "home", Servers: pim.Servers{pim.CalDAV: s.URL + "/cal/"}, User: "x", Secret: func(context.Context) (string, error) { return "secret", nil }}
			var p watchers.Progress
			look := func(body string) (out []string) {
				answer = body
				found, err := w.Poll(t.Context(), p)
				if err != nil {
					t.Fatal(err)
				}
				p.Cursor = found.Cursor
				for _, sig := range found.Signals {
					out = append(out, sig.Text)
				}
				return out
			}
			look(a + b + c)
			if got := strings.Join(look(tt.answer), "|"); tt.want == "" && got != "" || !strings.HasPrefix(got, tt.want) || strings.Contains(got, "|") {
				t.Errorf("text = %q, want %q", got, tt.want)
			}
			if got := look(a + b + c); tt.want == "" && len(got) != 0 {
				t.Errorf("signals after a complete answer: %q", got)
			}
		})
	}
}

// TestEvents_AllDayOnAClockChange checks that an all-day event fires at 8:00 wall-clock time, even if the
// UTC offset changed between midnight and 8:00.
func TestEvents_AllDayOnAClockChange(t *testing.T) {
	berlin := loadZone(t, "Europe/Berlin")
	for _, date := range []string{"2026-10-25", "2026-03-29"} {
		midnight, err := time.ParseInLocation(time.DateOnly, date, berlin)
		if err != nil {
			t.Fatal(err)
		}
		raw, err := json.Marshal(pim.Event{UID: "e", Title: "Birthday", Start: midnight, End: midnight.AddDate(0, 0, 1), AllDay: true, Floating: true})
		if err != nil {
			t.Fatal(err)
		}
		var e pim.Event
		if err := json.Unmarshal(raw, &e); err != nil {
			t.Fatal(err)
		}
		w := watchOf(t, `{}`, berlin)
		_, wake := w.startingSoon([]pim.Event{e}, watchers.Progress{}, midnight.Add(time.Hour))
		if got := wake.In(berlin).Format("2006-01-02 15:04"); got != date+" 08:00" {
			t.Errorf("next poll at %s", got)
		}
		soon, _ := w.startingSoon([]pim.Event{e}, watchers.Progress{}, wake)
		if len(soon) != 1 || soon[0].Text != "Birthday is today" {
			t.Errorf("startingSoon = %+v", soon)
		}
	}
}
