package netaccount_test

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"hob/platform/pim"
	"hob/platform/pim/netaccount"
	"hob/platform/pim/pimtest"
)

func loadVilnius(t *testing.T) *time.Location {
	t.Helper()
	z, err := time.LoadLocation("Europe/Vilnius")
	if err != nil {
		t.Fatal(err)
	}
	return z
}

// TestReminders uses the task lists of a real server.
func TestReminders(t *testing.T) {
	s := pimtest.StartRadicale(t)
	s.Make("Home")
	s.Make("Shopping")
	zone := loadVilnius(t)
	r := netaccount.NewReminders(s.Account("tester"), zone)
	if list, err := r.FindReminders(t.Context(), false); err != nil || len(list) != 0 {
		t.Fatalf("FindReminders = %+v, %v", list, err)
	}
	due := time.Date(2026, 12, 1, 9, 30, 0, 0, zone)
	made, err := r.CreateReminder(t.Context(), pim.Reminder{UID: "one@hob", Title: "Call Žana", Due: due, Priority: 1})
	if err != nil || made.Outcome != pim.Sent {
		t.Fatalf("CreateReminder = %+v, %v", made, err)
	}
	// Repeating the call, as after a crash, must not create a second task.
	if again, err := r.CreateReminder(t.Context(), pim.Reminder{UID: "one@hob", Title: "Call Žana", Due: due, Priority: 1}); err != nil || again.ID != made.ID {
		t.Fatalf("CreateReminder = %+v, %v", again, err)
	}
	milk, err := r.CreateReminder(t.Context(), pim.Reminder{Title: "Milk", List: "shopping", Due: time.Date(2026, 11, 30, 0, 0, 0, 0, zone), AllDay: true})
	if err != nil || milk.Why != "Shopping" {
		t.Fatalf("CreateReminder = %+v, %v", milk, err)
	}
	list, err := r.FindReminders(t.Context(), false)
	if err != nil || len(list) != 2 || list[0].Title != "Milk" || !list[0].AllDay || list[0].List != "Shopping" || list[1].Title != "Call Žana" || !list[1].Due.Equal(due) || list[1].Priority != 1 {
		t.Fatalf("FindReminders = %+v, %v", list, err)
	}
	done, err := r.CompleteReminder(t.Context(), list[1].Ref)
	if err != nil || done.Outcome != pim.Sent {
		t.Fatalf("CompleteReminder = %+v, %v", done, err)
	}
	if _, err := r.CompleteReminder(t.Context(), list[1].Ref); !errors.Is(err, pim.ErrChanged) {
		t.Errorf("second CompleteReminder = %v", err)
	}
	if open, err := r.FindReminders(t.Context(), false); err != nil || len(open) != 1 {
		t.Errorf("FindReminders = %+v, %v", open, err)
	}
	if all, err := r.FindReminders(t.Context(), true); err != nil || len(all) != 2 {
		t.Errorf("FindReminders = %+v, %v", all, err)
	}
	if err := r.TakeBack(t.Context(), made.Undo); !errors.Is(err, pim.ErrChanged) {
		t.Errorf("TakeBack of a changed task = %v", err)
	}
	if err := r.TakeBack(t.Context(), done.Undo); err != nil {
		t.Error(err)
	}
	if err := r.TakeBack(t.Context(), milk.Undo); err != nil {
		t.Error(err)
	}
	if open, err := r.FindReminders(t.Context(), false); err != nil || len(open) != 1 || open[0].Title != "Call Žana" {
		t.Errorf("FindReminders = %+v, %v", open, err)
	}
	if _, err := r.CreateReminder(t.Context(), pim.Reminder{Title: "x", List: "Nowhere"}); !errors.Is(err, pim.ErrNoFolder) {
		t.Error(err)
	}
	s.Stop()
	if list, err := r.FindReminders(t.Context(), false); err == nil || list != nil {
		t.Errorf("an unreachable server: %+v, %v", list, err)
	}
}

// TestReminders_UnknownOutcome checks that a reminder with unknown outcome is not
// created again.
func TestReminders_UnknownOutcome(t *testing.T) {
	puts := 0
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.Method {
		case http.MethodPut:
			puts++
			w.WriteHeader(http.StatusBadGateway)
		case http.MethodGet:
			w.WriteHeader(http.StatusBadGateway)
		default:
			w.WriteHeader(http.StatusMultiStatus)
			_, _ = w.Write([]byte(`<multistatus xmlns="DAV:" xmlns:c="urn:ietf:params:xml:ns:caldav"><response><href>/l/</href><propstat><status>HTTP/1.1 200 OK</status><prop><resourcetype><c:calendar/></resourcetype><c:calendar-home-set><href>/</href></c:calendar-home-set></prop></propstat></response></multistatus>`))
		}
	}))
	defer s.Close()
	a := pim.Account{Name: "home", Servers: pim.Servers{pim.CalDAV: s.URL}, User: "x", Secret: (&pimtest.Radicale{}).Account("x").Secret}
	got, err := netaccount.NewReminders(a, nil).CreateReminder(t.Context(), pim.Reminder{Title: "Milk"})
	if err != nil || got.Outcome != pim.Uncertain || got.Undo != nil || puts != 1 {
		t.Errorf("%+v, %v, %d", got, err, puts)
	}
}
