package bus_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"hob/autonomy/bus"
	"hob/platform/provenance"
	"hob/platform/store"
	"hob/platform/store/erase"
)

// delayCall stores a call that waits for 10 s.
func (f *fixture) delayCall(call string) {
	f.t.Helper()
	f.writeTx(func(tx *store.Tx) error {
		return f.Scheduled.AddTx(tx, bus.ScheduledSend{
			Call: call, Event: "e", Session: "s", Report: "s", Tool: "send_email", Effects: "send", Args: []byte(`{"text":"to a friend"}`), Frozen: []byte(`{"Text":"to a friend"}`),
			Exact: "exact", What: "the mail", Provenance: provenance.Tool, Zone: "UTC", At: f.now.Add(10 * time.Second), CreatedAt: f.now,
		})
	})
}

func (f *fixture) claimSends() (calls []string) {
	f.t.Helper()
	list, err := f.Scheduled.Claim(f.t.Context(), 9)
	failOnError(f.t, err)
	for _, s := range list {
		calls = append(calls, s.Call)
	}
	return calls
}

func (f *fixture) scheduledSend(call string) bus.ScheduledSend {
	f.t.Helper()
	s, err := f.Scheduled.Get(f.store.Reader(f.t.Context()), call)
	failOnError(f.t, err)
	return s
}

func TestScheduledSends_WaitForTheirTime(t *testing.T) {
	f := newBus(t)
	f.delayCall("c1")
	f.now = f.now.Add(9 * time.Second)
	f.expectList("too early", f.claimSends())
	at, ok, err := f.Scheduled.Next(t.Context())
	if err != nil || !ok || !at.Equal(f.now.Add(time.Second)) {
		t.Errorf("next send = %v, %v, %v", at, ok, err)
	}
	f.restartBus()
	f.now = f.now.Add(8 * time.Hour) // the computer slept
	f.expectList("at its time", f.claimSends(), "c1")
	f.expectList("claimed once", f.claimSends())
	if s := f.scheduledSend("c1"); s.State != bus.SendSending || s.Attempts != 1 || string(s.Frozen) != `{"Text":"to a friend"}` || s.Exact != "exact" {
		t.Errorf("%+v", s)
	}
	f.neverReads("scheduled_sends", `SELECT min(at) FROM scheduled_sends INDEXED BY scheduled_open WHERE state IN ('waiting', 'sending', 'committed') AND state = 'waiting' AND at <= 1`)
}

func TestScheduledSends_Cancel(t *testing.T) {
	due := func(f *fixture) { f.now = f.now.Add(time.Minute); f.claimSends() }
	for name, tc := range map[string]struct {
		before func(f *fixture)
		want   error
		state  bus.SendState
	}{
		"while the call waits": {func(*fixture) {}, nil, bus.SendCancelled},
		"on hold after a restore": {func(f *fixture) {
			f.writeTx(func(tx *store.Tx) error { return bus.StartHoldTx(tx, "old") })
		}, nil, bus.SendCancelled},
		"before the commit": {due, nil, bus.SendCancelled},
		"before the next attempt": {func(f *fixture) {
			due(f)
			failOnError(f.t, f.Scheduled.Retry(f.t.Context(), "c1", f.now.Add(time.Minute), "down"))
		}, nil, bus.SendCancelled},
		"after the commit": {func(f *fixture) { due(f); failOnError(f.t, f.Scheduled.Commit(f.t.Context(), "c1")) }, bus.ErrTooLate, bus.SendCommitted},
		"after the acceptance": {func(f *fixture) {
			due(f)
			failOnError(f.t, f.Scheduled.Commit(f.t.Context(), "c1"))
			failOnError(f.t, f.Scheduled.Accept(f.t.Context(), "c1"))
		}, bus.ErrTooLate, bus.SendAccepted},
		"after the send": {func(f *fixture) {
			due(f)
			f.writeTx(func(tx *store.Tx) error { return f.Scheduled.EndTx(tx, "c1", bus.SendSent, "") })
		}, bus.ErrTooLate, bus.SendSent},
	} {
		t.Run(name, func(t *testing.T) {
			f := newBus(t)
			f.delayCall("c1")
			tc.before(f)
			f.writeTx(func(tx *store.Tx) error {
				if _, err := f.Scheduled.CancelTx(tx, "c1", "the user says so"); !errors.Is(err, tc.want) {
					t.Errorf("CancelTx = %v, want %v", err, tc.want)
				}
				return nil
			})
			if s := f.scheduledSend("c1"); s.State != tc.state {
				t.Errorf("state %s, want %s", s.State, tc.state)
			}
			if tc.want != nil {
				return
			}
			f.now = f.now.Add(time.Hour)
			f.expectList("it is never sent", f.claimSends())
			for what, change := range map[string]func(context.Context, string) error{
				"Commit": f.Scheduled.Commit,
				"Retry":  func(ctx context.Context, c string) error { return f.Scheduled.Retry(ctx, c, f.now, "") },
			} {
				if err := change(t.Context(), "c1"); !errors.Is(err, bus.ErrCancelled) {
					t.Errorf("%s of a canceled call = %v, want ErrCancelled", what, err)
				}
			}
		})
	}
}

// Only a call that has reached no one runs again after a crash.
func TestScheduledSends_Recover(t *testing.T) {
	f := newBus(t)
	for _, c := range []string{"c1", "c2", "c3"} {
		f.delayCall(c)
	}
	f.now = f.now.Add(time.Minute)
	f.claimSends()
	failOnError(t, f.Scheduled.Commit(t.Context(), "c2"))
	f.writeTx(func(tx *store.Tx) error { return f.Scheduled.EndTx(tx, "c3", bus.SendSent, "") })
	f.restartBus()
	lost, err := f.Scheduled.Recover(t.Context())
	if err != nil || len(lost) != 1 || lost[0].Call != "c2" {
		t.Fatalf("Recover = %+v, %v", lost, err)
	}
	f.expectList("again", f.claimSends(), "c1")
	if s := f.scheduledSend("c3"); s.Frozen != nil || string(s.Args) != "{}" {
		t.Errorf("the text of a finished send is still stored: %+v", s)
	}
}

// A call whose text is forgotten is not sent with a part of the text missing.
func TestScheduledSends_ForgottenTextIsNotSent(t *testing.T) {
	for name, e := range map[string]*erase.Erasure{"a phrase": {ID: "x", Phrases: []string{"to a friend"}}, "an event": {ID: "x", Events: []string{"e"}}, "another phrase": {ID: "x", Phrases: []string{"no such words"}}} {
		t.Run(name, func(t *testing.T) {
			f := newBus(t)
			f.delayCall("c1")
			if name == "an event" {
				f.writeTx(func(tx *store.Tx) error { return bus.StartHoldTx(tx, "old") }) // also after a restore
			}
			f.writeTx(func(tx *store.Tx) error {
				_, err := f.Eraser().EraseTx(tx, e, erase.NewScrubber(e.Phrases...))
				return err
			})
			want := bus.SendCancelled
			if name == "another phrase" {
				want = bus.SendWaiting
			}
			if s := f.scheduledSend("c1"); s.State != want {
				t.Errorf("%+v", s)
			}
		})
	}
}
