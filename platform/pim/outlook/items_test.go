package outlook_test

import (
	"context"
	"errors"
	"os/exec"
	"strings"
	"testing"
	"time"

	"hob/platform/host/osrun"
	"hob/platform/pim"
	"hob/platform/pim/outlook"
)

func loadVilnius(t *testing.T) *time.Location {
	t.Helper()
	z, err := time.LoadLocation("Europe/Vilnius")
	if err != nil {
		t.Fatal(err)
	}
	return z
}

// scriptAnswers returns a Runner whose scripts return the given texts one after another, and records
// their input. The format is that of ConvertTo-Json in PowerShell 5.1.
func scriptAnswers(given *[]string, said ...string) osrun.Runner {
	return osrun.NewScripts(osrun.Options{Output: func(_ context.Context, _ *exec.Cmd, in []byte) ([]byte, error) {
		*given = append(*given, string(in))
		s := said[min(len(*given), len(said))-1]
		return []byte("\n--hob--\n" + s), nil
	}})
}

func lastText(list []string) string { return list[len(list)-1] }

// The formats are from Microsoft Learn. "TaskItem object (Outlook)": DueDate is a date,
// ReminderTime a time, Importance an OlImportance. "PidLidTaskDeadOccurrence": completing a
// recurring task completes a copy. The date 1/1/4501 means that there is no date.
func TestTasks(t *testing.T) {
	var given []string
	zone := loadVilnius(t)
	due := time.Date(2026, 11, 24, 9, 0, 0, 0, zone)
	r := outlook.NewReminders(scriptAnswers(&given,
		`{"ok":true,"data":{"store":"00FF","more":false,"rows":[{"id":"00AA","title":"Pienas\u0000","day":"","done":false,"importance":1,"rings":0,"repeats":false},{"id":"00AB","title":"Call","day":"2026-11-24","done":false,"importance":2,"rings":1795503600000,"repeats":true},{"id":"00AC","title":"Tax","day":"2026-11-23","done":false,"importance":0,"rings":0,"repeats":false}]}}`,
		`{"ok":true,"data":{"id":"00AD","store":"00FF","version":"1795503600000"}}`, `{"ok":true,"data":{"id":""}}`,
		`{"ok":true,"data":{"id":"00AA","store":"00FF","version":"7","repeats":false}}`, `{"ok":true,"data":{"id":"00AA","store":"00FF","version":"8","repeats":false}}`,
		`{"ok":true,"data":{"id":"00AB","store":"00FF","version":"7","repeats":true}}`,
	), zone)
	list, err := r.FindReminders(t.Context(), false)
	if err != nil || len(list) != 3 || list[0].Title != "Tax" || !list[0].AllDay || list[0].Priority != 9 || !list[1].Due.Equal(due) || list[1].AllDay || !list[1].Repeat || list[1].Priority != 1 || list[2].Title != "Pienas" || !list[2].Due.IsZero() {
		t.Fatalf("FindReminders = %+v, %v", list, err)
	}
	made, err := r.CreateReminder(t.Context(), pim.Reminder{Title: "'; iex \"x\"", Due: due, Priority: 1})
	if err != nil || made.ID != "outlook/task/00AD/00FF" || lastText(given) != `{"how":"create","title":"'; iex \"x\"","importance":2,"day":"2026-11-24","at":1795503600000}` {
		t.Errorf("%+v, %v, %s", made, err, lastText(given))
	}
	if err := r.TakeBack(t.Context(), made.Undo); err != nil || lastText(given) != `{"how":"remove","id":"00AD","store":"00FF","version":"1795503600000"}` {
		t.Errorf("%v, %s", err, lastText(given))
	}
	done, err := r.CompleteReminder(t.Context(), list[2].Ref)
	if err != nil || lastText(given) != `{"how":"done","id":"00AA","store":"00FF"}` {
		t.Errorf("%+v, %v, %s", done, err, lastText(given))
	}
	if err := r.TakeBack(t.Context(), done.Undo); err != nil || lastText(given) != `{"how":"open","id":"00AA","store":"00FF","version":"7"}` {
		t.Errorf("%v, %s", err, lastText(given))
	}
	if again, err := r.CompleteReminder(t.Context(), list[1].Ref); err != nil || again.Undo != nil {
		t.Errorf("a recurring task: %+v, %v", again, err)
	}
	for _, ref := range []string{"", "outlook/task/x'/1", "outlook/note/00AA/00FF", "outlook/task//00"} {
		if _, err := r.CompleteReminder(t.Context(), ref); !errors.Is(err, pim.ErrNotFound) {
			t.Errorf("%q: CompleteReminder = %v, want ErrNotFound", ref, err)
		}
	}
	if _, err := r.CreateReminder(t.Context(), pim.Reminder{Title: "x", List: "Other"}); !errors.Is(err, errors.ErrUnsupported) {
		t.Error(err)
	}
}

func TestNotesAndContacts(t *testing.T) {
	var given []string
	n := outlook.NewNotes(scriptAnswers(&given,
		`{"ok":true,"data":{"store":"00FF","more":true,"rows":[{"id":"00AA","title":"WLAN","text":"WLAN\r\nhunter2","cut":false,"changed":1795503600000}]}}`,
		`{"ok":true,"data":{"store":"00FF","more":false,"rows":[{"id":"00AA","title":"WLAN","text":"WLAN\r\nhunter2","cut":false,"changed":1795503600000}]}}`,
		`{"ok":true,"data":{"id":"00AB","store":"00FF","version":"5"}}`,
	))
	list, err := n.FindNotes(t.Context(), "Hunter2", 5)
	if p, ok := errors.AsType[*pim.PartialError](err); !ok || !strings.Contains(p.Error(), "newest 2000") || len(list) != 1 || lastText(given) != `{"words":["hunter2"],"limit":5,"scan":2000,"most":0}` {
		t.Fatalf("%+v, %v, %s", list, err, lastText(given))
	}
	if x, err := n.ReadNote(t.Context(), list[0].Ref); err != nil || x.Text != "WLAN\nhunter2" {
		t.Errorf("ReadNote = %+v, %v", x, err)
	}
	made, err := n.CreateNote(t.Context(), pim.Note{Title: "Id\u0117ja", Text: "a\nb"})
	if err != nil || lastText(given) != `{"how":"create","title":"Id\u0117ja","text":"a\nb"}` {
		t.Errorf("%+v, %v, %s", made, err, lastText(given))
	}
	if err := n.TakeBack(t.Context(), made.Undo); err != nil || lastText(given) != `{"how":"remove","id":"00AB","store":"00FF","version":"5"}` {
		t.Errorf("%v, %s", err, lastText(given))
	}
	c := outlook.NewContacts(scriptAnswers(&given, `{"ok":true,"data":{"seen":3,"people":[{"id":"1","name":"Ada","company":"","addresses":["Ada@Example.org","/o=x/cn=ada",""],"phones":["+370 600","",""],"born":"1990-12-31"}]}}`))
	people, err := c.FindContacts(t.Context(), "ADA", 5)
	if err != nil || len(people) != 1 || len(people[0].Addresses) != 1 || people[0].Addresses[0] != "ada@example.org" || len(people[0].Phones) != 1 || people[0].Birthday != "1990-12-31" {
		t.Errorf("FindContacts = %+v, %v", people, err)
	}
}

// The formats are from Microsoft Learn. "Items.IncludeRecurrences property": the items must first
// be sorted by Start. "AppointmentItem": GlobalAppointmentID, StartUTC, MeetingStatus
// (OlMeetingStatus); the End of an all-day event is the midnight after it. "RecurrencePattern": the
// Interval of a yearly recurrence is in months.
func TestCalendar(t *testing.T) {
	var given []string
	zone := loadVilnius(t)
	at := time.Date(2026, 11, 24, 15, 0, 0, 0, zone)
	dentist := `{"id":"00AA","store":"00FF","uid":"u1","title":"Dentist","place":"","notes":"","start":1795525200000,"end":1795528800000,"allDay":false,"first":"2026-11-24","until":"2026-11-24","recurs":false,"open":false,"cancelled":false,"meeting":false,"version":"3","organizer":{"name":"","address":""},"guests":[]}`
	standup := strings.NewReplacer("Dentist", "Standup", `"recurs":false`, `"recurs":true`, `"meeting":false`, `"meeting":true`, `"guests":[]`, `"guests":[{"name":"Bob","address":"BOB@x.org"},{"name":"Boss","address":"/o=x"}]`, "00AA", "00AB").Replace(dentist)
	day := strings.NewReplacer("Dentist", "Trip", `"allDay":false`, `"allDay":true`, `"until":"2026-11-24"`, `"until":"2026-11-26"`, "00AA", "00AC").Replace(dentist)
	c := outlook.NewCalendar(scriptAnswers(&given,
		`{"ok":true,"data":{"lost":1,"more":false,"events":[`+dentist+`,`+standup+`,`+day+`]}}`,
		`{"ok":true,"data":{"was":`+dentist+`,"event":`+strings.Replace(dentist, `"version":"3"`, `"version":"4"`, 1)+`}}`, `{"ok":true,"data":{}}`,
		`{"ok":true,"data":{"was":`+standup+`}}`, `{"ok":true,"data":{"event":`+dentist+`}}`, `{"ok":true,"data":{"event":`+standup+`}}`,
		`{"ok":false,"number":-2147023170,"began":true}`,
	))
	list, err := c.FindEvents(t.Context(), pim.TimeRange{From: at.AddDate(0, 0, -1), To: at.AddDate(0, 0, 2), Zone: zone})
	if p, ok := errors.AsType[*pim.PartialError](err); !ok || !strings.Contains(p.Error(), "1 events could not be read") || len(list) != 3 {
		t.Fatalf("%+v, %v", list, err)
	}
	trip, dent, stand := list[0], list[1], list[2]
	if !trip.AllDay || trip.End.Sub(trip.Start) != 48*time.Hour || !dent.Start.Equal(at) || dent.Occurrence != "" || stand.Occurrence != "20261124T130000Z" || stand.Guests[0].Address != "bob@x.org" || stand.Guests[1].Address != "" {
		t.Errorf("%+v", list)
	}
	title, later := "Moved", at.Add(time.Hour)
	r, err := c.ChangeEvent(t.Context(), dent, pim.EventChange{Title: &title, Start: &later}, false)
	if err != nil || lastText(given) != `{"how":"change","id":"00AA","store":"00FF","version":"3","start":1795525200000,"set":{"title":"Moved","start":1795528800000}}` {
		t.Errorf("%+v, %v, %s", r, err, lastText(given))
	}
	if err := c.TakeBack(t.Context(), r.Undo); err != nil || lastText(given) != `{"how":"change","id":"00AA","store":"00FF","version":"4","start":0,"whole":true,"set":{"title":"Dentist","start":1795525200000,"end":1795528800000}}` {
		t.Errorf("%v, %s", err, lastText(given))
	}
	if r, err := c.DeleteEvent(t.Context(), stand, false); err != nil || r.Undo != nil || lastText(given) != `{"how":"delete","id":"00AB","store":"00FF","start":1795525200000}` {
		t.Errorf("%+v, %v, %s", r, err, lastText(given))
	}
	e := pim.NewEvent{Title: "Gym", Start: at, End: later, Rule: "FREQ=WEEKLY;INTERVAL=2;BYDAY=MO,SU;COUNT=5", Alarm: &pim.Alarm{Before: 10 * time.Minute}}
	if r, err := c.CreateEvent(t.Context(), "", e); err != nil || r.Undo == nil || lastText(given) != `{"how":"create","title":"Gym","start":1795525200000,"end":1795528800000,"alarm":10,"rule":{"type":1,"interval":2,"mask":3,"count":5}}` {
		t.Errorf("%+v, %v, %s", r, err, lastText(given))
	}
	e = pim.NewEvent{Title: "Review", Start: at, End: later, Rule: "FREQ=YEARLY;UNTIL=20301231T000000Z", Guests: []pim.Person{{Address: "bob@x.org"}}}
	if r, err := c.CreateEvent(t.Context(), "", e); err != nil || r.Undo != nil || !strings.HasSuffix(lastText(given), `"rule":{"type":5,"interval":12,"until":"2030-12-31"},"guests":["bob@x.org"]}`) {
		t.Errorf("%+v, %v, %s", r, err, lastText(given))
	}
	if r, err := c.CreateEvent(t.Context(), "", e); err != nil || r.Outcome != pim.Uncertain || r.Undo != nil {
		t.Errorf("deleted in the meantime: %+v, %v", r, err)
	}
	for _, rule := range []string{"FREQ=HOURLY", "FREQ=MONTHLY;BYDAY=-1FR", "nonsense"} {
		if _, err := c.CreateEvent(t.Context(), "", pim.NewEvent{Rule: rule}); !errors.Is(err, pim.ErrInvalid) {
			t.Errorf("%s: CreateEvent = %v, want ErrInvalid", rule, err)
		}
	}
}
