package netaccount_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"hob/platform/pim"
	"hob/platform/pim/netaccount"
	"hob/platform/pim/pimtest"
)

func TestCalendars(t *testing.T) {
	r := pimtest.StartRadicale(t)
	r.Make("Home")
	r.Make("Work")
	loc, err := time.LoadLocation("Europe/Vilnius")
	if err != nil {
		t.Fatal(err)
	}
	c := netaccount.NewCalendars(r.Account("tester"))
	span := pim.TimeRange{From: time.Date(2026, 11, 1, 0, 0, 0, 0, loc), To: time.Date(2026, 12, 1, 0, 0, 0, 0, loc), Zone: loc}
	events := func() (out []pim.Event, words string) {
		t.Helper()
		out, err := c.FindEvents(t.Context(), span)
		if err != nil {
			t.Fatal(err)
		}
		var w []string
		for _, e := range out {
			w = append(w, e.Title+" "+e.Start.In(loc).Format("02.15:04"))
		}
		return out, strings.Join(w, ", ")
	}
	start := time.Date(2026, 11, 10, 12, 0, 0, 0, loc)
	e := pim.NewEvent{UID: "lunch@x", Title: "Lunch", Start: start, End: start.Add(time.Hour), Rule: "FREQ=WEEKLY;COUNT=3"}
	made, err := c.CreateEvent(t.Context(), "work", e)
	if err != nil || made.Outcome != pim.Sent || made.Why != "Work" {
		t.Fatalf("CreateEvent = %+v, %v", made, err)
	}
	if again, err := c.CreateEvent(t.Context(), "work", e); err != nil || again.ID != made.ID { // repeated as after a crash
		t.Errorf("%+v, %v", again, err)
	}
	list, words := events()
	if words != "Lunch 10.12:00, Lunch 17.12:00, Lunch 24.12:00" || list[0].Calendar != "Work" {
		t.Fatal(words)
	}
	later := time.Date(2026, 11, 18, 13, 0, 0, 0, loc)
	one, err := c.ChangeEvent(t.Context(), list[1], pim.EventChange{Start: &later}, false)
	if _, words := events(); err != nil || words != "Lunch 10.12:00, Lunch 18.13:00, Lunch 24.12:00" {
		t.Errorf("%s %v", words, err)
	}
	gone, err := c.DeleteEvent(t.Context(), list[2], false)
	if _, words := events(); err != nil || words != "Lunch 10.12:00, Lunch 18.13:00" {
		t.Errorf("%s %v", words, err)
	}
	if err := c.TakeBack(t.Context(), one.Undo); !errors.Is(err, pim.ErrChanged) {
		t.Error("undo would lose a later change:", err)
	}
	if err := c.TakeBack(t.Context(), gone.Undo); err != nil {
		t.Error(err)
	}
	list, words = events()
	if words != "Lunch 10.12:00, Lunch 18.13:00, Lunch 24.12:00" {
		t.Error(words)
	}
	all, err := c.DeleteEvent(t.Context(), list[0], true)
	if _, words := events(); err != nil || words != "" {
		t.Errorf("%s %v", words, err)
	}
	if _, err := c.ChangeEvent(t.Context(), list[0], pim.EventChange{Start: &later}, false); !errors.Is(err, pim.ErrNotFound) {
		t.Error(err)
	}
	if err := c.TakeBack(t.Context(), all.Undo); err != nil {
		t.Error(err)
	}
	if _, words := events(); words != "Lunch 10.12:00, Lunch 18.13:00, Lunch 24.12:00" {
		t.Error(words)
	}
	if _, err := c.CreateEvent(t.Context(), "nowhere", e); !errors.Is(err, pim.ErrNoFolder) || !strings.Contains(err.Error(), "Home, Work") && !strings.Contains(err.Error(), "Work, Home") {
		t.Error(err)
	}
	dinner, err := c.CreateEvent(t.Context(), "", pim.NewEvent{Title: "Dinner", Start: start, End: start.Add(time.Hour)})
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(c.TakeBack(t.Context(), dinner.Undo)); err != nil {
		t.Error(err)
	}
	if err := c.TakeBack(t.Context(), dinner.Undo); !errors.Is(err, pim.ErrChanged) {
		t.Error(err)
	}
}
