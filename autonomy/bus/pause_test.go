package bus_test

import (
	"testing"
	"time"

	"hob/autonomy/bus"
	"hob/platform/store"
)

func TestPause(t *testing.T) {
	f := newBus(t)
	until := f.now.Add(time.Hour)
	if err := f.Pause.Start(t.Context(), until); err != nil {
		t.Fatal(err)
	}
	f.restartBus() // the pause survives a restart
	fire := func(kind bus.Kind, name, payload string) string {
		return f.putEvent(bus.Event{Kind: kind, Source: name, Session: name, Payload: []byte(payload)})
	}
	mail := fire(bus.Watcher, "mail", `{"mode":"notify"}`)
	goal := fire(bus.Goal, "goal", `{}`)
	hook := fire(bus.Webhook, "hook", "no JSON")
	brief := fire(bus.Schedule, "brief", `{"mode":"act"}`)
	odd := fire(bus.Schedule, "odd", "no JSON")
	pill := fire(bus.Schedule, "pill", `{"mode":"remind"}`)
	said := f.putEvent(bus.Event{Kind: bus.Message, Source: "web", Session: "chat"})
	word := f.putEvent(bus.Event{Kind: bus.System, Source: "hob", Session: "system"})
	got, next := f.claimEvents(99)
	f.expectList("messages and reminders of the owner", got, said, pill, word)
	if !next.Equal(until) {
		t.Errorf("next = %v, want the end of the pause %v", next, until)
	}
	f.writeTx(func(tx *store.Tx) error { return f.Inbox.ResumeTx(tx, goal) })
	got, _ = f.claimEvents(99)
	f.expectList("what he answered", got, goal)
	if err := f.Inbox.Release(t.Context(), goal); err != nil {
		t.Fatal(err)
	}
	got, _ = f.claimEvents(99)
	f.expectList("what an end of Hob cut short", got, goal)
	f.restartBus()
	if _, err := f.Inbox.Recover(t.Context()); err != nil {
		t.Fatal(err)
	}
	got, _ = f.claimEvents(99)
	f.expectList("what a crash cut short", got, said, pill, word, goal)
	if e := f.getEvent(goal); !e.NotBefore.IsZero() {
		t.Errorf("NotBefore of the paused event = %v, want none", e.NotBefore)
	}
	if at, on, err := f.Pause.Current(t.Context()); err != nil || !on || !at.Equal(until) {
		t.Errorf("Current() = %v until %v, %v, want paused", on, at, err)
	}
	if err := f.Pause.End(t.Context()); err != nil {
		t.Fatal(err)
	}
	got, _ = f.claimEvents(99)
	f.expectList("all the rest, once it is over", got, mail, hook, brief, odd)
	if err := f.Pause.Start(t.Context(), until); err != nil {
		t.Fatal(err)
	}
	late := fire(bus.Watcher, "late", `{}`)
	f.now = until
	got, _ = f.claimEvents(99)
	f.expectList("a pause ends automatically", got, late)
	if _, on, err := f.Pause.Current(t.Context()); err != nil || on {
		t.Error("the pause is not over", err)
	}
}
