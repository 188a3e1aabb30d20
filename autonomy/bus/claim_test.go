package bus_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"hob/autonomy/bus"
	"hob/channels"
	"hob/platform/store"
)

func TestClaim_KeepsOrderOfSession(t *testing.T) {
	f := newBus(t)
	a1, a2 := f.putEvent(bus.Event{Source: "s", Session: "a"}), f.putEvent(bus.Event{Source: "s", Session: "a"})
	b1 := f.putEvent(bus.Event{Source: "s", Session: "b"})
	got, _ := f.claimEvents(9)
	f.expectList("the first of each", got, a1, b1)
	got, _ = f.claimEvents(9)
	f.expectList("busy sessions", got)
	command := f.putEvent(bus.Event{Source: "s", Session: "a", Lane: "a/commands"})
	got, _ = f.claimEvents(0)
	f.expectList("a command passes, and takes no place", got, command)
	f.finishEvents(a1)
	got, _ = f.claimEvents(9)
	f.expectList("the next of a", got, a2)
	if err := f.store.Write(t.Context(), func(tx *store.Tx) error { return f.Inbox.FinishTx(tx, a1, "again") }); err == nil {
		t.Error("FinishTx accepted a finished event")
	}
	f.finishEvents(a2, b1, command)
	if got, next := f.claimEvents(9); len(got) != 0 || !next.IsZero() {
		t.Errorf("Claim of an empty queue = %v, %v", got, next)
	}
	if e := f.getEvent(a1); e.State != bus.Done || e.Answer != "answer of "+a1 || e.Attempts != 1 || !e.DoneAt.Equal(f.now) {
		t.Errorf("%+v", e)
	}
}

func TestClaim_Order(t *testing.T) {
	f := newBus(t)
	goal := f.putEvent(bus.Event{Kind: bus.Goal, Source: "g", Session: "goal"})
	watcher := f.putEvent(bus.Event{Kind: bus.Watcher, Source: "w", Session: "watch"})
	message := f.putEvent(bus.Event{Source: "s", Session: "chat"})
	command := f.putEvent(bus.Event{Source: "s", Session: "chat", Lane: "chat/commands"})
	for _, want := range [][]string{{command, message}, {watcher}, {goal}} {
		got, _ := f.claimEvents(1)
		f.expectList("one place", got, want...)
	}
}

// The session that was processed longest ago comes first, even if another one has the older
// event.
func TestClaim_IsFairToSessions(t *testing.T) {
	f := newBus(t)
	sessionOf := map[string]string{}
	for range 30 {
		sessionOf[f.putEvent(bus.Event{Source: "s", Session: "chatty"})] = "chatty"
	}
	for i := range 3 {
		for _, s := range []string{"b", "c"} {
			sessionOf[f.putEvent(bus.Event{Source: "s", Session: s, Text: fmt.Sprint(i)})] = s
		}
	}
	var order []string
	for range 9 {
		got, _ := f.claimEvents(1)
		order = append(order, sessionOf[got[0]])
		f.finishEvents(got...)
	}
	want := []string{"chatty", "b", "c", "chatty", "b", "c", "chatty", "b", "c"}
	if diff := cmp.Diff(want, order); diff != "" {
		t.Error(diff)
	}
}

func TestClaim_WaitsForNotBefore(t *testing.T) {
	f := newBus(t)
	late := f.putEvent(bus.Event{Source: "s", Session: "a", NotBefore: f.now.Add(time.Minute)})
	behind := f.putEvent(bus.Event{Source: "s", Session: "a"})
	later := f.putEvent(bus.Event{Source: "s", Session: "b", NotBefore: f.now.Add(time.Hour)})
	got, next := f.claimEvents(9)
	f.expectList("too early", got)
	if !next.Equal(f.now.Add(time.Minute)) {
		t.Errorf("next = %v, want in 1 min", next)
	}
	f.now = f.now.Add(time.Minute)
	got, next = f.claimEvents(9)
	f.expectList("on the minute", got, late)
	if want := f.now.Add(time.Hour - time.Minute); !next.Equal(want) {
		t.Errorf("next = %v, want in 1 h", next)
	}
	f.finishEvents(late)
	got, _ = f.claimEvents(9)
	f.expectList("what waited behind it", got, behind)
	f.now = f.now.Add(-24 * time.Hour) // if the clock is set back, the event is claimed later but not lost
	got, next = f.claimEvents(9)
	f.expectList("the clock set back", got)
	f.now = next
	got, _ = f.claimEvents(9)
	f.expectList("at its time", got, later)
}

func TestClaim_CountsFailuresAndCrashesSeparately(t *testing.T) {
	f := newBus(t)
	id := f.putEvent(bus.Event{Source: "s", Session: "a"})
	crash := func() []bus.Event {
		f.restartBus()
		dead, err := f.Inbox.Recover(t.Context())
		failOnError(t, err)
		return dead
	}
	step := func(attempts, crashes int, state bus.State) {
		t.Helper()
		if e := f.getEvent(id); e.Attempts != attempts || e.Crashes != crashes || e.State != state {
			t.Fatalf("attempts %d, crashes %d, %s; want %d, %d, %s", e.Attempts, e.Crashes, e.State, attempts, crashes, state)
		}
	}
	fail := func() (dead bool) {
		f.writeTx(func(tx *store.Tx) (err error) {
			dead, err = f.Inbox.FailTx(tx, f.getEvent(id), "no luck", f.now.Add(time.Minute), false)
			return err
		})
		return dead
	}
	f.claimEvents(1)
	crash()
	step(0, 1, bus.Pending)
	f.claimEvents(1)
	step(1, 1, bus.Claimed)
	if fail() {
		t.Fatal("the event is dead after 1 failure")
	}
	step(1, 1, bus.Pending)
	if got, next := f.claimEvents(1); len(got) != 0 || !next.Equal(f.now.Add(time.Minute)) {
		t.Fatalf("Claim after a failure = %v, %v, want nothing for 1 min", got, next)
	}
	f.now = f.now.Add(time.Minute)
	f.claimEvents(1)
	f.writeTx(func(tx *store.Tx) error { return f.Inbox.SuspendTx(tx, id, f.now.Add(time.Hour)) })
	step(1, 1, bus.Pending)
	f.writeTx(func(tx *store.Tx) error { return f.Inbox.ResumeTx(tx, id) })
	f.claimEvents(1)
	step(2, 1, bus.Claimed)
	failOnError(t, f.Inbox.Release(t.Context(), id))
	step(1, 1, bus.Pending)
	f.claimEvents(1)
	if fail() {
		t.Fatal("the event is dead after 2 failures")
	}
	f.now = f.now.Add(time.Minute)
	f.claimEvents(1)
	if !fail() {
		t.Fatal("the event is not dead after 3 failures")
	}
	step(3, 1, bus.Dead)
	if e := f.getEvent(id); e.Error != "no luck" || !e.DoneAt.Equal(f.now) {
		t.Errorf("%+v", e)
	}
	// An ended event does not change.
	fail()
	f.writeTx(func(tx *store.Tx) error { return f.Inbox.SuspendTx(tx, id, time.Time{}) })
	f.writeTx(func(tx *store.Tx) error { return f.Inbox.ResumeTx(tx, id) })
	crash()
	step(3, 1, bus.Dead)
	if got, _ := f.claimEvents(1); len(got) != 0 {
		t.Error("a dead event was claimed")
	}
}

func TestRecover_EndsEventsThatCrashTooOften(t *testing.T) {
	f := newBus(t)
	id := f.putEvent(bus.Event{Source: "s", Session: "a", Channel: "web"})
	next := f.putEvent(bus.Event{Source: "s", Session: "a"})
	for i := range bus.MaxCrashes {
		if got, _ := f.claimEvents(1); len(got) != 1 || got[0] != id {
			t.Fatalf("Claim before crash %d = %v", i+1, got)
		}
		f.restartBus()
		dead, err := f.Inbox.Recover(t.Context())
		failOnError(t, err)
		if (len(dead) == 1) != (i+1 == bus.MaxCrashes) {
			t.Fatalf("after crash %d Recover returned %d dead events", i+1, len(dead))
		}
	}
	if e := f.getEvent(id); e.State != bus.Dead || e.Crashes != bus.MaxCrashes || e.Attempts != 0 {
		t.Errorf("%+v", e)
	}
	// The process died again before the owner was notified.
	f.restartBus()
	dead, err := f.Inbox.Recover(t.Context())
	if err != nil || len(dead) != 1 || dead[0].ID != id || dead[0].State != bus.Dead {
		t.Fatalf("Recover = %v, %v, want the dead event again", dead, err)
	}
	f.writeTx(func(tx *store.Tx) error {
		return f.Outbox.EnqueueTx(tx, id, bus.OutboxItem{Delivery: channels.Delivery{Kind: channels.Reply, Session: "a", Channel: "web", Text: "I gave up"}})
	})
	f.restartBus()
	if dead, err = f.Inbox.Recover(t.Context()); err != nil || len(dead) != 0 {
		t.Errorf("Recover after the notice = %v, %v, want nothing", dead, err)
	}
	got, _ := f.claimEvents(1)
	f.expectList("the session goes on", got, next)
}
