package calendar

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"hob/platform/pim"
	"hob/platform/pim/pimtest"
	"hob/watchers"
	"hob/watchers/watcherstest"
)

func accountFinder(a pim.Account) func(string, string) (pim.Account, error) {
	return func(name, server string) (pim.Account, error) {
		if server != "caldav" || name != "" && name != a.Name {
			return pim.Account{}, fmt.Errorf("account %q does not exist or cannot be used for this", name)
		}
		return a, nil
	}
}

// formatUTC formats a time for an event.
func formatUTC(t time.Time) string { return t.UTC().Format("20060102T150405Z") }

// calendarFixture is a manager with a Radicale server, which the watcher polls often.
type calendarFixture struct {
	t    *testing.T
	r    *pimtest.Radicale
	sink *watcherstest.Sink
	m    *watchers.Manager
	make func(config string) watchers.Spec
	stop func()
	open func()
}

func newFixture(t *testing.T, r *pimtest.Radicale) *calendarFixture {
	st := watcherstest.Open(t, New())
	w := &calendarFixture{t: t, r: r, sink: watcherstest.NewSink(st)}
	w.open = func() {
		o := watcherstest.Options(st, w.sink, New())
		o.Account, o.MinEvery = accountFinder(r.Account("tester")), 10*time.Millisecond
		m, err := watchers.New(o)
		if err != nil {
			t.Fatal(err)
		}
		w.m, w.stop = m, watcherstest.Start(t, m)
	}
	w.open()
	w.make = func(config string) watchers.Spec {
		return watcherstest.Create(t, st, w.m, watchers.Spec{Kind: Kind, Config: json.RawMessage(config), Report: "test", PollPolicy: watchers.PollPolicy{Every: "50ms"}})
	}
	return w
}

func (w *calendarFixture) firedTexts() (out []string) {
	for _, f := range w.sink.Fired() {
		out = append(out, f.Text)
	}
	return out
}

// waitNotice waits for a notice with this prefix.
func (w *calendarFixture) waitNotice(begins string) {
	w.t.Helper()
	watcherstest.Eventually(w.t, begins+": "+fmt.Sprint(w.firedTexts()), func() bool {
		return slices.ContainsFunc(w.firedTexts(), func(s string) bool { return strings.HasPrefix(s, begins) })
	})
}

// waitPolled waits until the watcher has polled twice.
func (w *calendarFixture) waitPolled(s watchers.Spec, r *pimtest.Radicale) {
	w.t.Helper()
	n := r.Requests()
	watcherstest.Eventually(w.t, "it looks", func() bool { return r.Requests() > n+8 })
	_ = s
}

func TestConformance(t *testing.T) {
	r := pimtest.StartRadicale(t)
	made := 0
	var failing atomic.Bool
	watcherstest.Run(t, watcherstest.Suite{
		New: func() watchers.Driver { return New() },
		Account: func(name, server string) (pim.Account, error) {
			a, err := accountFinder(r.Account("tester"))(name, server)
			if failing.Load() {
				a.Secret = func(context.Context) (string, error) { return "wrong", nil }
			}
			return a, err
		},
		Config: func(*testing.T) json.RawMessage {
			made++
			name := fmt.Sprint("Cal", made)
			r.Make(name)
			return json.RawMessage(fmt.Sprintf(`{"account":"home","calendars":[%q],"tell":["added"]}`, name))
		},
		Bad: []string{
			`{"account":"other"}`, `{"tell":["sung"]}`, `{"before":["soon"]}`, `{"before":["8d"]}`, `{"before":["-5m"]}`, `{"before":["1m","2m","3m","4m","5m","6m"]}`,
			`{"morning":"25:00"}`, `{"calendars":[""]}`, `{"words":["a\nb"]}`, `{"words":"x"}`,
		},
		Provoke: func(t *testing.T, raw json.RawMessage, n int) {
			s, err := parseConfig(raw)
			if err != nil {
				t.Fatal(err)
			}
			r.Put(s.calendars[0], fmt.Sprint("e", n), fmt.Sprintf("SUMMARY:Event %d\nDTSTART:%s", n, formatUTC(time.Now().AddDate(0, 0, 1))))
		},
		Polled: true, Timeless: true,
		Fail: func(_ *testing.T, on bool) { failing.Store(on) },
	})
}

func TestEvents_Reported(t *testing.T) {
	r := pimtest.StartRadicale(t)
	r.Make("Work")
	now := time.Now()
	day := now.AddDate(0, 0, 3).Truncate(time.Hour)
	r.Put("Work", "old", "SUMMARY:Old one\nDTSTART:"+formatUTC(day)+"\nDTEND:"+formatUTC(day.Add(time.Hour)))
	r.Put("Work", "gone", "SUMMARY:Party\nDTSTART:"+formatUTC(day))
	r.Put("Work", "series", "SUMMARY:Standup\nDTSTART:"+formatUTC(day)+"\nRRULE:FREQ=DAILY;COUNT=9")
	r.Put("Work", "soon", "SUMMARY:Call\nDTSTART:"+formatUTC(now.Add(10*time.Minute)))
	w := newFixture(t, r)
	s := w.make(`{"tell":["starts","added","changed","moved","cancelled"]}`)
	w.waitNotice("Call starts in 10 minutes (")
	w.waitPolled(s, r)
	if got := w.firedTexts(); len(got) != 1 {
		t.Fatalf("events from before the start fired: %v", got)
	}
	r.Put("Work", "old", "SUMMARY:Old one\nDTSTART:"+formatUTC(day.Add(2*time.Hour))+"\nDTEND:"+formatUTC(day.Add(3*time.Hour)))
	w.waitNotice("Old one was moved to ")
	r.Put("Work", "old", "SUMMARY:New name\nDTSTART:"+formatUTC(day.Add(2*time.Hour))+"\nDTEND:"+formatUTC(day.Add(3*time.Hour)))
	w.waitNotice("New name was changed")
	r.Delete("Work", "gone")
	w.waitNotice("Party was canceled")
	r.Put("Work", "series", "SUMMARY:Standup\nDTSTART:"+formatUTC(day)+"\nRRULE:FREQ=DAILY;COUNT=9", "SUMMARY:Standup\nSTATUS:CANCELLED\nRECURRENCE-ID:"+formatUTC(day.AddDate(0, 0, 1))+"\nDTSTART:"+formatUTC(day.AddDate(0, 0, 1)))
	w.waitNotice("Standup was canceled")
	r.Put("Work", "series", "SUMMARY:Standup\nDTSTART:"+formatUTC(day.Add(time.Hour))+"\nRRULE:FREQ=DAILY;COUNT=9")
	w.waitNotice("Standup was ")
	r.Put("Work", "new", "SUMMARY:Lunch\nDTSTART:"+formatUTC(day))
	w.waitNotice("New in your calendar: Lunch")
	r.Put("Work", "soon", "SUMMARY:Call\nDTSTART:"+formatUTC(now.Add(13*time.Minute))) // fires again, at its real start
	w.waitNotice("Call was moved to")
	w.waitNotice("Call starts in 1") // the reminder fires, too
	w.stop()
	r.Stop()
	r.Start()
	r.Put("Work", "new", "SUMMARY:Lunch\nSTATUS:CANCELLED\nDTSTART:"+formatUTC(day))
	w.open()
	w.waitNotice("Lunch was canceled")
	w.waitPolled(s, r)
	for text, n := range map[string]int{"Call starts": 2, "Call was moved": 1, "Party": 1, "Lunch was canceled": 1, "New name": 1, "Old one": 1} {
		if got := len(slices.DeleteFunc(w.firedTexts(), func(s string) bool { return !strings.HasPrefix(s, text) })); got != n {
			t.Errorf("%q fired %d times, want %d: %v", text, got, n, w.firedTexts())
		}
	}
	if n := len(w.firedTexts()); n > 13 {
		t.Errorf("%d signals of a flood: %v", n, w.firedTexts())
	}
	if f := w.sink.Fired()[0]; f.Source != "outside" || !strings.Contains(string(f.Payload), `"news":"starts"`) {
		t.Errorf("%+v", f)
	}
}
