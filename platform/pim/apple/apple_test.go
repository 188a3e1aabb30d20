package apple_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"hob/platform/host/osrun"
	"hob/platform/host/osrun/osruntest"
	"hob/platform/pim"
	"hob/platform/pim/apple"
)

func TestScripts(t *testing.T) { osruntest.Check(t, apple.Scripts()...) }

// TestLint_DetectsBrokenScripts checks that the linter detects an unbalanced brace or a missing "end
// tell" in every script.
func TestLint_DetectsBrokenScripts(t *testing.T) {
	for _, s := range apple.Scripts() {
		s.Text = strings.Replace(s.Text, "{", "", 1)
		if s.Engine == osrun.AppleScript {
			s.Text = strings.Replace(s.Text, "end tell", "", 1)
		}
		if len(osruntest.Lint(s)) == 0 {
			t.Errorf("Lint reports nothing for the broken script %s", s.Name)
		}
	}
}

var vilnius = func() *time.Location {
	z, err := time.LoadLocation("Europe/Vilnius")
	if err != nil {
		panic(err)
	}
	return z
}()

func parseTime(s string) time.Time {
	t, err := time.ParseInLocation("2006-01-02 15:04", s, vilnius)
	if err != nil {
		panic(err)
	}
	return t
}

type obj = map[string]any

// simulateEventKit simulates EventKit with three calendars. Its behavior (occurrences
// addressed by id and start, enumerations as strings, an empty store without full
// access, no matches in ranges over four years) follows the memcal connector and
// developer.apple.com/documentation/eventkit/ekeventstore.
func simulateEventKit(status int) obj {
	standup := parseTime("2026-11-23 09:00").UnixMilli()
	week := int64(7 * 24 * time.Hour / time.Millisecond)
	return obj{"eventkit": obj{
		"status": []int{status, status},
		"calendars": []obj{
			{"id": "c1", "title": "Work"}, {"id": "c2", "title": "Šeima"}, {"id": "c3", "title": "Birthdays", "fixed": true}, {"id": "l1", "title": "Erledigen", "entity": 1},
		},
		"events": []obj{
			{"id": "e1", "uid": "u1", "title": "Standup", "start": standup, "end": standup + 900_000, "starts": []int64{standup, standup + week, standup + 2*week}, "rule": "weekly", "calendar": "c1", "modified": 5000},
			{
				"id": "e2", "uid": "u2", "title": "Dentist\u202e", "location": "Pylimo 1", "notes": "bring\x00 card", "start": parseTime("2026-11-24 15:00").UnixMilli(), "end": parseTime("2026-11-24 16:00").UnixMilli(), "calendar": "c2", "modified": 6000,
				"organizer": obj{"name": "Ada", "address": "Ada@Example.org"}, "attendees": []obj{{"name": "Bob", "address": "bob@example.org"}},
			},
			{"id": "e3", "uid": "u3", "title": "Called off", "start": parseTime("2026-11-24 17:00").UnixMilli(), "end": parseTime("2026-11-24 18:00").UnixMilli(), "calendar": "c2", "status": 3, "availability": 1},
		},
		"reminders": []obj{{"id": "r1", "title": "Milch", "calendar": "l1", "due": obj{"year": 2026, "month": 11, "day": 23}}, {"id": "r2", "title": "Call", "calendar": "l1", "due": obj{"year": 2026, "month": 11, "day": 22, "hour": 8, "minute": 30}}, {"id": "r3", "title": "Some day", "calendar": "l1"}, {"id": "r4", "title": "Old", "calendar": "l1", "done": true}},
	}}
}

func testWeek() pim.TimeRange {
	return pim.TimeRange{From: parseTime("2026-11-23 00:00"), To: parseTime("2026-11-30 00:00"), Zone: vilnius}
}

func joinTitles(list []pim.Event) string {
	var out []string
	for _, e := range list {
		out = append(out, e.Title+" "+e.Start.Format("02 15:04"))
	}
	return strings.Join(out, ", ")
}

func TestCalendar_Reads(t *testing.T) {
	m := osruntest.NewMac(t, simulateEventKit(3))
	c := apple.NewCalendar(m)
	got, err := c.FindEvents(t.Context(), testWeek())
	if err != nil || joinTitles(got) != "Standup 23 09:00, Dentist 24 15:00, Called off 24 17:00" {
		t.Fatalf("%s, %v", joinTitles(got), err)
	}
	d := got[1]
	if d.Ref != fmt.Sprintf("e2@%d", parseTime("2026-11-24 15:00").UnixMilli()) || d.UID != "u2" || d.Place != "Pylimo 1" || d.Notes != "bring card" || d.Organizer.Address != "ada@example.org" || len(d.Guests) != 1 || d.Calendar != "Šeima" || d.Occurrence != "" {
		t.Errorf("%+v", d)
	}
	if got[0].Occurrence == "" || !got[2].Cancelled || !got[2].Open {
		t.Errorf("%+v\n%+v", got[0], got[2])
	}
	if e := m.Events(); len(e) > 3 {
		t.Errorf("events %q", e)
	}
	long, err := c.FindEvents(t.Context(), pim.TimeRange{From: parseTime("2020-01-01 00:00"), To: parseTime("2031-01-01 00:00"), Zone: vilnius})
	if err != nil || len(long) != 5 {
		t.Errorf("an eleven-year range: %s, %v", joinTitles(long), err)
	}
	list, err := c.ListCalendars(t.Context())
	if err != nil || len(list) != 3 || list[1].Name != "Šeima" || list[1].Path != "c2" {
		t.Errorf("ListCalendars = %+v, %v", list, err)
	}
}

// TestCalendar_MissingAccessIsAnError checks that missing access is an error and not an empty result.
func TestCalendar_MissingAccessIsAnError(t *testing.T) {
	for status, kind := range map[int]osrun.Kind{0: osrun.Denied, 1: osrun.Denied, 2: osrun.Denied, 4: osrun.Denied} {
		m := osruntest.NewMac(t, simulateEventKit(status))
		c, r := apple.NewCalendar(m), apple.NewReminders(m, vilnius)
		if got, err := c.FindEvents(t.Context(), testWeek()); osrun.KindOf(err) != kind || got != nil || !strings.Contains(err.Error(), "Privacy_Calendars") {
			t.Errorf("status %d: %v, %v", status, got, err)
		}
		if got, err := r.FindReminders(t.Context(), false); osrun.KindOf(err) != kind || got != nil || !strings.Contains(err.Error(), "Privacy_Reminders") {
			t.Errorf("status %d: %v, %v", status, got, err)
		}
		if _, err := c.CreateEvent(t.Context(), "", pim.NewEvent{Title: "x", Start: parseTime("2026-11-24 10:00"), End: parseTime("2026-11-24 11:00")}); osrun.KindOf(err) != kind || osrun.IsUncertain(err) {
			t.Errorf("status %d: %v", status, err)
		}
	}
	world := simulateEventKit(0)
	world["eventkit"].(obj)["grants"] = true
	if got, err := apple.NewCalendar(osruntest.NewMac(t, world)).FindEvents(t.Context(), testWeek()); err != nil || len(got) != 3 {
		t.Errorf("after permission was granted: %v, %v", got, err)
	}
}

func TestCalendar_Writes(t *testing.T) {
	m := osruntest.NewMac(t, simulateEventKit(3))
	c := apple.NewCalendar(m)
	r, err := c.CreateEvent(t.Context(), "šeima", pim.NewEvent{Title: "\"); x('", Place: "ą", Start: parseTime("2026-11-26 10:00"), End: parseTime("2026-11-26 11:00"), Rule: "FREQ=WEEKLY;INTERVAL=2;BYDAY=MO,-1FR;COUNT=5", Alarm: &pim.Alarm{Before: 10 * time.Minute}})
	if err != nil || r.Outcome != pim.Sent {
		t.Fatalf("%+v, %v", r, err)
	}
	if got, want := m.EvalWorld("world.eventkit.events[3]"), `{"alarm":{"offset":-600},"id":"made-4","title":"\"); x('","location":"ą","allDay":false,"calendar":"c2","start":1795680000000,"end":1795683600000,"rule":{"frequency":1,"interval":2,"days":[{"day":2,"week":0},{"day":6,"week":-1}],"monthDays":null,"months":null,"positions":null,"end":{"count":5}}}`; got != want {
		t.Errorf("created\n%s\nwant\n%s", got, want)
	}
	if err := c.TakeBack(t.Context(), r.Undo); err != nil || m.EvalWorld("world.eventkit.events.length") != "3" {
		t.Errorf("undo: %v, %s events", err, m.EvalWorld("world.eventkit.events.length"))
	}
	for name, ask := range map[string]struct {
		calendar string
		e        pim.NewEvent
		kind     error
	}{
		"guests":             {"", pim.NewEvent{Guests: []pim.Person{{Address: "a@b.c"}}}, errors.ErrUnsupported},
		"a calendar to read": {"Birthdays", pim.NewEvent{Start: parseTime("2026-11-26 10:00"), End: parseTime("2026-11-26 11:00")}, errors.ErrUnsupported},
		"no such calendar":   {"Nowhere", pim.NewEvent{Start: parseTime("2026-11-26 10:00"), End: parseTime("2026-11-26 11:00")}, pim.ErrNotFound},
		"a rule by the hour": {"", pim.NewEvent{Rule: "FREQ=HOURLY"}, pim.ErrInvalid},
	} {
		if r, err := c.CreateEvent(t.Context(), ask.calendar, ask.e); !errors.Is(err, ask.kind) || r.Outcome != "" {
			t.Errorf("%s: CreateEvent = %+v, %v", name, r, err)
		}
	}
}

func TestCalendar_Changes(t *testing.T) {
	m := osruntest.NewMac(t, simulateEventKit(3))
	c := apple.NewCalendar(m)
	list, err := c.FindEvents(t.Context(), testWeek())
	if err != nil {
		t.Fatal(err)
	}
	later, end, title := parseTime("2026-11-25 10:00"), parseTime("2026-11-25 10:30"), "Moved"
	r, err := c.ChangeEvent(t.Context(), list[1], pim.EventChange{Start: &later, End: &end, Title: &title}, false)
	if err != nil || m.EvalWorld("[world.eventkit.events[1].title, world.eventkit.events[1].start, world.eventkit.events[1].end]") != fmt.Sprintf(`["Moved",%d,%d]`, later.UnixMilli(), end.UnixMilli()) {
		t.Fatalf("%v: %s", err, m.EvalWorld("world.eventkit.events[1]"))
	}
	if err := c.TakeBack(t.Context(), r.Undo); err != nil || m.EvalWorld("world.eventkit.events[1].start") != fmt.Sprint(parseTime("2026-11-24 15:00").UnixMilli()) {
		t.Errorf("undo: %v, %s", err, m.EvalWorld("world.eventkit.events[1]"))
	}
	m.EvalWorld("world.eventkit.events[1].notes = new Array(6001).join('n')")
	for name, ch := range map[string]pim.EventChange{"its title": {Title: &title}, "its notes": {Notes: &title}} {
		now, err := c.FindEvents(t.Context(), testWeek())
		if err != nil {
			t.Fatal(err)
		}
		r, err := c.ChangeEvent(t.Context(), now[1], ch, false)
		if err != nil {
			t.Fatal(err)
		}
		if err := c.TakeBack(t.Context(), r.Undo); err != nil || m.EvalWorld("world.eventkit.events[1].notes.length") != "6000" {
			t.Errorf("undo of %s: %v, %s", name, err, m.EvalWorld("world.eventkit.events[1].notes.length"))
		}
	}
	if list, err = c.FindEvents(t.Context(), testWeek()); err != nil {
		t.Fatal(err)
	}
	m.Events()
	if _, err := c.ChangeEvent(t.Context(), list[0], pim.EventChange{Start: &later}, false); err != nil {
		t.Error(err)
	}
	if e := strings.Join(m.Events(), " "); !strings.Contains(e, "save 0") || m.EvalWorld("world.eventkit.events[0].starts.length") != "2" {
		t.Errorf("one occurrence: %s, %s", e, m.EvalWorld("world.eventkit.events[0]"))
	}
	if _, err := c.DeleteEvent(t.Context(), list[0], false); !errors.Is(err, pim.ErrNotFound) {
		t.Errorf("a moved occurrence: %v", err)
	}
	old := list[1]
	old.Version = "1"
	if _, err := c.DeleteEvent(t.Context(), old, false); !errors.Is(err, pim.ErrChanged) || m.EvalWorld("world.eventkit.events[1].id") != `"e2"` {
		t.Errorf("a changed event: %v", err)
	}
	if _, err := c.DeleteEvent(t.Context(), list[1], false); err != nil || m.EvalWorld("world.eventkit.events[1].id") == `"e2"` {
		t.Errorf("deleted: %v", err)
	}
}

func TestReminders(t *testing.T) {
	m := osruntest.NewMac(t, simulateEventKit(3))
	r := apple.NewReminders(m, vilnius)
	list, err := r.FindReminders(t.Context(), false)
	if err != nil || len(list) != 3 || list[0].Title != "Call" || list[1].Title != "Milch" || !list[1].AllDay || !list[1].Due.Equal(parseTime("2026-11-23 00:00")) || !list[2].Due.IsZero() {
		t.Fatalf("FindReminders = %+v, %v", list, err)
	}
	made, err := r.CreateReminder(t.Context(), pim.Reminder{Title: "Žuvis", List: "erledigen", Due: parseTime("2026-11-27 00:00"), AllDay: true})
	if err != nil || !strings.Contains(m.EvalWorld("world.eventkit.reminders[4]"), `"title":"Žuvis"`) {
		t.Errorf("CreateReminder = %+v, %v", made, err)
	}
	if err := r.TakeBack(t.Context(), made.Undo); err != nil || m.EvalWorld("world.eventkit.reminders.length") != "4" {
		t.Errorf("undo: %v", err)
	}
	done, err := r.CompleteReminder(t.Context(), "r1")
	if err != nil || m.EvalWorld("world.eventkit.reminders[0].done") != "true" {
		t.Errorf("CompleteReminder = %+v, %v", done, err)
	}
	if err := r.TakeBack(t.Context(), done.Undo); err != nil || m.EvalWorld("world.eventkit.reminders[0].done") != "false" {
		t.Errorf("reopened: %v", err)
	}
	if _, err := r.CompleteReminder(t.Context(), "nobody"); !errors.Is(err, pim.ErrNotFound) {
		t.Errorf("a missing reminder: %v", err)
	}
}

// simulateOffice simulates Notes and Contacts, modeled on their scripting dictionaries.
func simulateOffice(notes, people int) obj {
	day := func(n int) obj { return obj{"$date": parseTime("2026-11-01 12:00").AddDate(0, 0, n).UnixMilli()} }
	var ns, ps []obj
	for i := range notes {
		ns = append(ns, obj{"__class": "Note", "id": fmt.Sprintf("x-coredata://1/p%d", i), "name": fmt.Sprintf("Note %d", i), "plaintext": fmt.Sprintf("Note %d\nKava ir pienas “%d”", i, i), "modificationDate": day(i % 20), "passwordProtected": false, "container": obj{"__class": "Folder", "id": "f", "name": "Notizen"}})
	}
	for i := range people {
		ps = append(ps, obj{
			"__class": "Person", "id": fmt.Sprintf("%d:ABPerson", i), "name": fmt.Sprintf("Žmogus %d", i), "organization": nil, "birthDate": nil,
			"emails": []obj{{"__class": "Info", "value": fmt.Sprintf("P%d@Example.org", i)}}, "phones": []obj{{"__class": "Info", "value": fmt.Sprintf("+370 600 %05d", i)}},
		})
	}
	props := func(p string) []string { return strings.Fields(p) }
	return obj{"apps": obj{
		"com.apple.Notes": obj{"running": true, "root": obj{"notes": ns, "folders": []obj{{"__class": "Folder", "id": "f2", "name": "Darbas"}}, "defaultAccount": obj{"__class": "Account", "defaultFolder": obj{"__class": "Folder", "id": "f", "name": "Notizen"}}}, "dict": obj{
			"Application": obj{"properties": props("defaultAccount"), "elements": obj{"notes": "Note", "folders": "Folder"}, "objects": obj{"defaultAccount": "Account"}},
			"Account":     obj{"properties": props("name id defaultFolder"), "elements": obj{}, "objects": obj{"defaultFolder": "Folder"}},
			"Folder":      obj{"properties": props("name id container"), "elements": obj{"notes": "Note"}},
			"Note":        obj{"properties": props("name id body plaintext creationDate modificationDate passwordProtected shared container"), "elements": obj{}, "objects": obj{"container": "Folder"}},
		}},
		"com.apple.AddressBook": obj{"running": true, "root": obj{"people": ps}, "dict": obj{
			"Application": obj{"properties": []string{}, "elements": obj{"people": "Person"}},
			"Person":      obj{"properties": props("id name organization birthDate note"), "elements": obj{"emails": "Info", "phones": "Info"}},
			"Info":        obj{"properties": props("id label value"), "elements": obj{}},
		}},
	}}
}

func TestNotes(t *testing.T) {
	m := osruntest.NewMac(t, simulateOffice(30, 0))
	n := apple.NewNotes(m)
	list, err := n.FindNotes(t.Context(), "KAVA “7”", 10)
	if err != nil || len(list) != 1 || list[0].Title != "Note 7" {
		t.Fatalf("FindNotes = %+v, %v", list, err)
	}
	if e := m.Events(); len(e) > 5 {
		t.Errorf("%d Apple events: %q", len(e), e)
	}
	if list, err := n.FindNotes(t.Context(), "", 2); err != nil || len(list) != 2 || list[0].Title != "Note 19" {
		t.Errorf("the newest: %+v, %v", list, err)
	}
	one, err := n.ReadNote(t.Context(), "x-coredata://1/p7")
	if err != nil || one.Text != "Note 7\nKava ir pienas “7”" || one.Folder != "Notizen" {
		t.Errorf("ReadNote = %+v, %v", one, err)
	}
	for _, ref := range []string{"x-coredata://1/none", "../etc"} {
		if _, err := n.ReadNote(t.Context(), ref); !errors.Is(err, pim.ErrNotFound) {
			t.Errorf("%s: ReadNote = %v, want ErrNotFound", ref, err)
		}
	}
	m.EvalWorld("world.apps['com.apple.Notes'].root.notes[7].passwordProtected = true")
	if one, err := n.ReadNote(t.Context(), "x-coredata://1/p7"); osrun.KindOf(err) != osrun.SetupRequired || !strings.Contains(err.Error(), "locked") {
		t.Errorf("a locked note: %+v, %v", one, err)
	}
	r, err := n.CreateNote(t.Context(), pim.Note{Title: "<b>Ąžuolas</b>", Text: "a & \"b\"\n\n<script>", Folder: "darbas"})
	if body := m.EvalWorld("world.apps['com.apple.Notes'].root.folders[0].notes[0].body"); err != nil || body != `"<div>&lt;b&gt;Ąžuolas&lt;/b&gt;</div><div>a &amp; &quot;b&quot;</div><div><br></div><div>&lt;script&gt;</div>"` {
		t.Errorf("%+v, %v: %s", r, err, body)
	}
}

func TestContacts(t *testing.T) {
	m := osruntest.NewMac(t, simulateOffice(0, 10_000))
	c := apple.NewContacts(m)
	for words, want := range map[string]string{"žmogus 9999": "Žmogus 9999", "+37060000077": "Žmogus 77"} {
		list, err := c.FindContacts(t.Context(), words, 1)
		if err != nil || want == "" && len(list) != 0 || want != "" && (len(list) != 1 || list[0].Name != want) {
			t.Errorf("%q: FindContacts = %+v, %v", words, list, err)
		}
		if e := m.Events(); len(e) > 6 {
			t.Errorf("%d Apple events", len(e))
		}
	}
}

// TestFailures tests error messages of apps, in another language.
func TestFailures(t *testing.T) {
	for number, kind := range map[int]osrun.Kind{-1743: osrun.Denied, -1712: osrun.Timeout, -600: osrun.NotRunning, -609: osrun.NotRunning, -1728: osrun.NotFound} {
		m := osruntest.NewMac(t, simulateOffice(3, 3))
		m.Fail("com.apple.Notes get app.notes.id", number)
		m.Fail("com.apple.AddressBook get app.people.id", number)
		if got, err := apple.NewNotes(m).FindNotes(t.Context(), "", 5); osrun.KindOf(err) != kind || got != nil {
			t.Errorf("%d: %v, %v", number, got, err)
		}
		if got, err := apple.NewContacts(m).FindContacts(t.Context(), "x", 5); osrun.KindOf(err) != kind || got != nil {
			t.Errorf("%d: %v, %v", number, got, err)
		}
	}
	t.Run("partial result", func(t *testing.T) {
		m := osruntest.NewMac(t, simulateOffice(3, 3))
		m.Fail("people.phones", -1728)
		got, err := apple.NewContacts(m).FindContacts(t.Context(), "žmogus", 5)
		if p, ok := errors.AsType[*pim.PartialError](err); !ok || len(got) != 3 || !strings.Contains(p.Error(), "numbers") {
			t.Errorf("%v, %v", got, err)
		}
	})
	t.Run("an unknown outcome", func(t *testing.T) {
		m := osruntest.NewMac(t, simulateOffice(3, 3))
		m.Fail("make app.defaultAccount", -1712)
		r, err := apple.NewNotes(m).CreateNote(t.Context(), pim.Note{Title: "x"})
		if err != nil || r.Outcome != pim.Uncertain || r.Why == "" || r.Undo != nil {
			t.Errorf("%+v, %v", r, err)
		}
	})
	t.Run("null result", func(t *testing.T) {
		m := osruntest.NewMac(t, simulateOffice(3, 3))
		m.EvalWorld("world.apps['com.apple.Notes'].root.notes.forEach(function (n) { n.name = n.plaintext = n.modificationDate = n.passwordProtected = null; })")
		if got, err := apple.NewNotes(m).FindNotes(t.Context(), "", 5); err != nil || len(got) != 3 {
			t.Errorf("%v, %v", got, err)
		}
	})
	t.Run("not running", func(t *testing.T) {
		m := osruntest.NewMac(t, simulateOffice(3, 3))
		m.EvalWorld("world.apps['com.apple.Notes'].running = false")
		if _, err := apple.NewNotes(m).FindNotes(t.Context(), "", 5); osrun.KindOf(err) != osrun.NotRunning || len(m.Opened()) != 0 {
			t.Errorf("%v, opened %q", err, m.Opened())
		}
		if r, err := apple.NewNotes(m).CreateNote(t.Context(), pim.Note{Title: "x"}); err != nil || r.Outcome != pim.Sent || len(m.Opened()) != 1 {
			t.Errorf("%+v, %v, opened %q", r, err, m.Opened())
		}
	})
}
