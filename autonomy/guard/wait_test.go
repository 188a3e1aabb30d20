package guard_test

import (
	"context"
	"errors"
	"path/filepath"
	"testing"
	"time"

	"hob/autonomy/guard"
	"hob/platform/provenance/origins"
	"hob/platform/store"
	"hob/platform/store/lease"
	"hob/platform/store/storetest"
)

func TestWait(t *testing.T) {
	for name, c := range map[string]struct {
		within time.Duration
		then   func(f *fixture, a guard.Approval) error
		want   guard.ApprovalState
	}{
		"approved": {0, func(f *fixture, a guard.Approval) error {
			_, err := f.answerApproval(a.ID, guard.Answer{Approved: true, By: "api"})
			return err
		}, guard.Approved},
		"denied": {0, func(f *fixture, a guard.Approval) error {
			_, err := f.answerApproval(a.ID, guard.Answer{By: "api"})
			return err
		}, guard.Denied},
		"stopped": {0, func(f *fixture, a guard.Approval) error {
			return f.writeTx(func(tx *store.Tx) error { return f.CloseTx(tx, a.Event, guard.Cancelled) })
		}, guard.Cancelled},
		"ended": {0, func(f *fixture, a guard.Approval) error {
			return f.writeTx(func(tx *store.Tx) error {
				open, err := f.EndTx(tx, a.ID, guard.Cancelled)
				if err == nil && !open {
					t.Error("EndTx reports that the open request is not open")
				}
				return err
			})
		}, guard.Cancelled},
		"without an answer": {time.Millisecond, nil, guard.Pending},
	} {
		t.Run(name, func(t *testing.T) {
			f := newGuard(t, guard.Options{})
			r := newRequest("call", `{}`)
			r.Within = c.within
			a := f.requestApproval(r)
			other := f.requestApproval(newRequest("other", `{}`))
			type outcome struct {
				a   guard.Approval
				err error
			}
			got := make(chan outcome, 1)
			go func() {
				a, err := f.Wait(t.Context(), a.ID)
				got <- outcome{a, err}
			}()
			if c.then != nil {
				failOnError(t, c.then(f, a))
			}
			o := <-got
			failOnError(t, o.err)
			if o.a.State != c.want {
				t.Errorf("the request is %s, want %s", o.a.State, c.want)
			}
			if c.want != guard.Pending { // the event's other request is still open, unless the turn was stopped
				if _, err := f.answerApproval(other.ID, guard.Answer{Approved: true}); (err == nil) == (name == "stopped") {
					t.Errorf("answer to the other request: %v", err)
				}
			}
		})
	}
}

func TestWait_EndsWithItsContext(t *testing.T) {
	f := newGuard(t, guard.Options{})
	a := f.requestApproval(newRequest("call", `{}`))
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() {
		_, err := f.Wait(ctx, a.ID)
		done <- err
	}()
	cancel()
	if err := <-done; !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	if _, err := f.Wait(t.Context(), "nobody"); !errors.Is(err, guard.ErrNoApproval) {
		t.Errorf("got %v", err)
	}
}

// An answer that another instance receives wakes the turn that waits on this one.
func TestWait_EndsWhenAnotherInstanceReceivesTheAnswer(t *testing.T) {
	path := filepath.Join(t.TempDir(), "hob.db")
	open := func(name string) *fixture {
		db, err := storetest.Open(t.Context(), path, []store.MigrationSet{lease.Migrations(), guard.Migrations(), origins.Migrations()}, store.Options{})
		failOnError(t, err)
		m, err := lease.Open(t.Context(), lease.Options{Store: db, Shared: true, Instance: name, Home: name})
		failOnError(t, err)
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		f := &fixture{t: t, store: db}
		f.restartGuard(guard.Options{Lease: m})
		go func() { ended <- m.Run(ctx) }()
		t.Cleanup(func() {
			stop()
			failOnError(t, <-ended)
			m.Leave()
			failOnError(t, db.Close())
		})
		return f
	}
	here, there := open("here"), open("there")
	a := here.requestApproval(newRequest("call", `{}`))
	got := make(chan guard.Approval, 1)
	go func() {
		a, err := here.Wait(t.Context(), a.ID)
		if err != nil {
			t.Error(err)
		}
		got <- a
	}()
	_, err := there.answerApproval(a.ID, guard.Answer{By: "api"})
	failOnError(t, err)
	if a := <-got; a.State != guard.Denied {
		t.Errorf("Wait = %s, want denied", a.State)
	}
}
