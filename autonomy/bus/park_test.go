package bus_test

import (
	"fmt"
	"testing"
	"time"

	"hob/autonomy/bus"
	"hob/platform/provenance"
	"hob/platform/store"
)

func (f *fixture) parkEvent(id string, wait time.Duration) {
	f.t.Helper()
	f.writeTx(func(tx *store.Tx) error { return f.Inbox.ParkTx(tx, f.getEvent(id), f.now.Add(wait)) })
}

func (f *fixture) resumeEvent(id string) {
	f.t.Helper()
	f.writeTx(func(tx *store.Tx) error { return f.Inbox.ResumeTx(tx, id) })
}

func TestParkedEvents_LetLaterOnesRunOneAtATime(t *testing.T) {
	f := newBus(t)
	var ids []string
	for range 4 {
		ids = append(ids, f.putEvent(bus.Event{Source: "s", Session: "a", Provenance: provenance.Owner}))
	}
	other := f.putEvent(bus.Event{Source: "s", Session: "a2"})
	f.claimEvents(9)
	f.parkEvent(ids[0], time.Hour)
	if e := f.getEvent(ids[0]); e.Lane != "a" || e.State != bus.Pending || e.Attempts != 0 {
		t.Errorf("parked: %+v", e)
	}
	got, _ := f.claimEvents(9)
	f.expectList("the next", got, ids[1])
	f.resumeEvent(ids[0])
	got, _ = f.claimEvents(9)
	f.expectList("an answer while another turn runs", got)
	f.parkEvent(ids[1], time.Minute)
	got, _ = f.claimEvents(9)
	f.expectList("the answered one first", got, ids[0])
	f.restartBus()
	if _, err := f.Inbox.Recover(t.Context()); err != nil {
		t.Fatal(err)
	}
	got, _ = f.claimEvents(9)
	f.expectList("after a crash", got, ids[0], other)
	f.finishEvents(ids[0], other)
	got, _ = f.claimEvents(9)
	f.expectList("the next in order", got, ids[2])
	f.finishEvents(ids[2])
	if got, next := f.claimEvents(0); len(got) > 0 || !next.Equal(f.now.Add(time.Minute)) {
		t.Errorf("claimed %v, next %s; want nothing for 1 min", got, next)
	}
	f.now = f.now.Add(2 * time.Minute)
	got, _ = f.claimEvents(9)
	f.expectList("an expired question first", got, ids[1])
	f.finishEvents(ids[1])
	got, _ = f.claimEvents(9)
	f.expectList("the last", got, ids[3])
}

func TestParkedEvents_AreLimited(t *testing.T) {
	for _, c := range []struct {
		kind  bus.Kind
		from  provenance.Source
		limit int
	}{{bus.Webhook, provenance.Outside, 5}, {bus.Message, provenance.Owner, 20}, {bus.Message, provenance.Outside, 1}} {
		f, kind, limit := newBus(t), c.kind, c.limit
		for i := range limit + 2 {
			f.putEvent(bus.Event{Kind: kind, Source: "s", Session: "a", Text: fmt.Sprint(i), Provenance: c.from})
		}
		var parked []string
		for range limit {
			got, _ := f.claimEvents(9)
			if len(got) != 1 {
				t.Fatalf("%s: claimed %v after %d parked events, want 1", kind, got, len(parked))
			}
			f.parkEvent(got[0], time.Hour)
			parked = append(parked, got...)
		}
		got, _ := f.claimEvents(9)
		f.expectList("above the limit", got)
		acc, err := f.Inbox.Put(t.Context(), bus.Event{Kind: kind, Source: "s", Session: "a", Provenance: c.from})
		failOnError(t, err)
		if acc.Position != limit+2 {
			t.Errorf("%s: position %d behind %d parked events", kind, acc.Position, limit+2)
		}
		list, err := f.Inbox.ParkedSessions(t.Context())
		failOnError(t, err)
		if len(list) != 1 || list[0] != (bus.OpenQuestions{Session: "a", Parked: limit, Blocked: 3}) {
			t.Errorf("%s: %+v", kind, list)
		}
		f.resumeEvent(parked[limit-1])
		got, _ = f.claimEvents(9)
		f.expectList("the answer", got, parked[limit-1])
		f.finishEvents(parked[limit-1])
		if got, _ = f.claimEvents(9); len(got) != 1 {
			t.Errorf("%s: claimed %v after an answer, want 1", kind, got)
		}
	}
}

func TestParkTx_HoldsTheQueueOfGoalsAlone(t *testing.T) {
	for _, kind := range []bus.Kind{bus.Goal, bus.Task} {
		f := newBus(t)
		first := f.putEvent(bus.Event{Kind: kind, Source: "s", Session: "a"})
		second := f.putEvent(bus.Event{Kind: kind, Source: "s", Session: "a"})
		f.claimEvents(9)
		f.parkEvent(first, time.Hour)
		got, _ := f.claimEvents(9)
		if kind == bus.Goal {
			f.expectList("goal", got)
			continue
		}
		f.expectList("task", got, second)
	}
}

// An event that waits for a delegated task stops blocking its session when the task asks the owner.
func TestParkWaitingTx_LetsLaterEventsRun(t *testing.T) {
	f := newBus(t)
	first := f.putEvent(bus.Event{Kind: bus.Watcher, Source: "s", Session: "a"})
	second := f.putEvent(bus.Event{Kind: bus.Watcher, Source: "s", Session: "a"})
	f.claimEvents(9)
	f.writeTx(func(tx *store.Tx) error { return bus.ParkWaitingTx(tx, f.Inbox, first) }) // the event runs, so it is not parked
	got, _ := f.claimEvents(9)
	f.expectList("while it runs", got)
	f.writeTx(func(tx *store.Tx) error { return f.Inbox.SuspendTx(tx, first, f.now.Add(time.Hour)) })
	got, _ = f.claimEvents(9)
	f.expectList("while the task runs", got)
	f.writeTx(func(tx *store.Tx) error { return bus.ParkWaitingTx(tx, f.Inbox, first) })
	got, _ = f.claimEvents(9)
	f.expectList("while the task waits for the owner", got, second)
	f.resumeEvent(first)
	got, _ = f.claimEvents(9)
	f.expectList("the task ended, but a later event runs", got)
	f.finishEvents(second)
	got, _ = f.claimEvents(9)
	f.expectList("afterwards", got, first)
}

// An answered event that waits again, for a retry or for the result of a task, must not run
// together with another answered event of its session.
func TestParkedEvents_NeverRunTogetherAfterAnAnswer(t *testing.T) {
	for name, wait := range map[string]func(f *fixture, id string, until time.Time){
		"a failed attempt": func(f *fixture, id string, until time.Time) {
			f.writeTx(func(tx *store.Tx) error {
				_, err := f.Inbox.FailTx(tx, f.getEvent(id), "HTTP 503", until, false)
				return err
			})
		},
		"a delegated task": func(f *fixture, id string, until time.Time) {
			f.writeTx(func(tx *store.Tx) error { return f.Inbox.SuspendTx(tx, id, until) })
		},
	} {
		t.Run(name, func(t *testing.T) {
			f := newBus(t)
			first := f.putEvent(bus.Event{Source: "s", Session: "a", Provenance: provenance.Owner})
			second := f.putEvent(bus.Event{Source: "s", Session: "a", Provenance: provenance.Owner})
			for _, id := range []string{first, second} {
				got, _ := f.claimEvents(9)
				f.expectList("asks", got, id)
				f.parkEvent(id, time.Hour)
			}
			f.resumeEvent(first)
			got, _ := f.claimEvents(9)
			f.expectList("the first answer", got, first)
			wait(f, first, f.now.Add(time.Minute))
			f.resumeEvent(second)
			got, _ = f.claimEvents(9)
			f.expectList("the second answer", got, second)
			f.now = f.now.Add(2 * time.Minute)
			command := f.putEvent(bus.Event{Source: "s", Session: "a", Lane: bus.CommandLane("a")})
			got, _ = f.claimEvents(9)
			f.expectList("while the second event runs", got, command)
			f.finishEvents(second, command)
			got, _ = f.claimEvents(9)
			f.expectList("when it has ended", got, first)
		})
	}
}

// The turn of an external agent waits in memory: its event stays claimed, later events run, and the
// answered event continues before further ones, but never together with another event.
func TestParkRunning_LetsLaterEventsRunWhileTheEventStaysClaimed(t *testing.T) {
	f := newBus(t)
	var ids []string
	for i := range 4 {
		ids = append(ids, f.putEvent(bus.Event{Source: "s", Session: "a", Text: fmt.Sprint(i), Provenance: provenance.Owner}))
	}
	parkRunning := func(id string, want bool) {
		t.Helper()
		if ok, err := bus.ParkRunning(t.Context(), f.Inbox, f.getEvent(id)); err != nil || ok != want {
			t.Fatalf("ParkRunning: %v, %v", ok, err)
		}
	}
	proceed := func(id string, want bool) {
		t.Helper()
		if ok, err := bus.ContinueParked(t.Context(), f.Inbox, id); err != nil || ok != want {
			t.Fatalf("ContinueParked: %v, %v", ok, err)
		}
	}
	parkRunning(ids[0], false) // an event that does not run cannot be parked
	f.claimEvents(9)
	parkRunning(ids[0], true)
	parkRunning(ids[0], false)
	if e := f.getEvent(ids[0]); e.Lane != "a" || e.State != bus.Claimed || e.Attempts != 1 {
		t.Errorf("parked: %+v", e)
	}
	got, _ := f.claimEvents(9)
	f.expectList("the next", got, ids[1])
	list, err := f.Inbox.ParkedSessions(t.Context())
	failOnError(t, err)
	if len(list) != 1 || list[0] != (bus.OpenQuestions{Session: "a", Parked: 1}) {
		t.Errorf("%+v", list)
	}
	parkRunning(ids[1], true)
	got, _ = f.claimEvents(9)
	f.expectList("behind two open questions", got, ids[2])
	proceed(ids[1], false) // the answer
	f.finishEvents(ids[2])
	got, _ = f.claimEvents(9)
	f.expectList("before the answered one has continued", got)
	proceed(ids[1], true)
	proceed(ids[1], true)
	proceed(ids[0], false)
	got, _ = f.claimEvents(9)
	f.expectList("while the answered one runs", got)
	f.finishEvents(ids[1])
	proceed(ids[0], true)
	parkRunning(ids[0], true) // another question
	got, _ = f.claimEvents(9)
	f.expectList("the last", got, ids[3])
	f.restartBus()
	if _, err := f.Inbox.Recover(t.Context()); err != nil {
		t.Fatal(err)
	}
	got, _ = f.claimEvents(9)
	f.expectList("after a crash", got, ids[0])
	f.finishEvents(ids[0])
	got, _ = f.claimEvents(9)
	f.expectList("after a crash, the later one", got, ids[3])
	f.finishEvents(ids[3])

	f.putEvent(bus.Event{Kind: bus.Goal, Source: "g", Session: "g"})
	got, _ = f.claimEvents(9)
	parkRunning(got[0], false)
}

// Events that wait in memory count toward the limit on open questions.
func TestParkRunning_CountsToTheLimit(t *testing.T) {
	f := newBus(t)
	for range 7 {
		f.putEvent(bus.Event{Kind: bus.Watcher, Source: "s", Session: "a"})
	}
	var parked []string
	for range 5 {
		got, _ := f.claimEvents(9)
		if len(got) != 1 {
			t.Fatalf("claimed %v after %d parked events, want 1", got, len(parked))
		}
		if ok, err := bus.ParkRunning(t.Context(), f.Inbox, f.getEvent(got[0])); err != nil || !ok {
			t.Fatal(ok, err)
		}
		parked = append(parked, got[0])
	}
	got, _ := f.claimEvents(9)
	f.expectList("above the limit", got)
	list, err := f.Inbox.ParkedSessions(t.Context())
	failOnError(t, err)
	if len(list) != 1 || list[0] != (bus.OpenQuestions{Session: "a", Parked: 5, Blocked: 2}) {
		t.Errorf("%+v", list)
	}
	f.finishEvents(parked[3])
	if got, _ = f.claimEvents(9); len(got) != 1 {
		t.Errorf("claimed %v after a parked event ended, want 1", got)
	}
}
