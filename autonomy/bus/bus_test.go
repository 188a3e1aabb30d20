package bus_test

import (
	"errors"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"hob/autonomy/bus"
	"hob/platform/provenance"
	"hob/platform/store"
	"hob/platform/store/storetest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func failOnError(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// fixture is a bus over a real store with its own clock. The channels with the prefix "push"
// are push channels.
type fixture struct {
	*bus.Bus
	t     testing.TB
	store *store.Store
	now   time.Time
}

func newBus(t testing.TB) *fixture {
	t.Helper()
	db, err := storetest.Open(t.Context(), filepath.Join(t.TempDir(), "hob.db"), []store.MigrationSet{bus.Migrations()}, store.Options{})
	failOnError(t, err)
	t.Cleanup(func() {
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	})
	f := &fixture{t: t, store: db, now: time.Date(2026, 5, 4, 12, 0, 0, 0, time.UTC)}
	f.restartBus()
	return f
}

// restartBus creates a bus that remembers only the store.
func (f *fixture) restartBus() {
	f.Bus = bus.New(f.store, bus.Options{
		Now:   func() time.Time { return f.now },
		Route: func(ch, chat string) (string, string, bool) { return ch, chat, !strings.HasPrefix(ch, "push") },
	})
}

func (f *fixture) writeTx(fn func(tx *store.Tx) error) {
	f.t.Helper()
	failOnError(f.t, f.store.Write(f.t.Context(), fn))
}

func (f *fixture) putEvent(e bus.Event) string {
	f.t.Helper()
	if e.Kind == "" {
		e.Kind = bus.Message
	}
	acc, err := f.Inbox.Put(f.t.Context(), e)
	failOnError(f.t, err)
	return acc.Event
}

func (f *fixture) claimEvents(n int) (ids []string, next time.Time) {
	f.t.Helper()
	events, next, err := f.Inbox.Claim(f.t.Context(), n)
	failOnError(f.t, err)
	for _, e := range events {
		if e.State != bus.Claimed {
			f.t.Errorf("claimed an event that is %s", e.State)
		}
		ids = append(ids, e.ID)
	}
	return ids, next
}

func (f *fixture) getEvent(id string) bus.Event {
	f.t.Helper()
	e, err := f.Inbox.Event(f.t.Context(), id)
	failOnError(f.t, err)
	return e
}

func (f *fixture) finishEvents(ids ...string) {
	f.t.Helper()
	for _, id := range ids {
		f.writeTx(func(tx *store.Tx) error { return f.Inbox.FinishTx(tx, id, "answer of "+id) })
	}
}

func (f *fixture) expectList(name string, got []string, want ...string) {
	f.t.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		f.t.Errorf("%s: %s", name, diff)
	}
}

func TestPut_IsDurableAndDeduplicates(t *testing.T) {
	f := newBus(t)
	ctx := t.Context()
	in := bus.Event{
		Kind: bus.Message, Source: "mail", Session: "s", Channel: "mail", Chat: "c", Sender: "me", Text: "näme 日本 🏠", Payload: []byte(`{"a":1}`),
		Provenance: provenance.Owner, ReceivedAt: f.now.Add(-time.Hour), Key: "k",
	}
	first, err := f.Inbox.Put(ctx, in)
	failOnError(t, err)
	want := in
	want.ID, want.Lane, want.State = first.Event, "s", bus.Pending
	if diff := cmp.Diff(want, f.getEvent(first.Event)); diff != "" {
		t.Error(diff)
	}
	again, err := f.Inbox.Put(ctx, bus.Event{Kind: bus.Message, Source: "mail", Session: "other", Text: "other", Key: "k"})
	failOnError(t, err)
	if !again.Repeated || again.Event != first.Event {
		t.Errorf("Put with the same key = %+v, want the first event", again)
	}
	ids, _ := f.claimEvents(9)
	f.finishEvents(ids...)
	if again, err = f.Inbox.Put(ctx, in); err != nil || !again.Repeated || again.Event != first.Event {
		t.Errorf("Put with the same key after the event is done = %+v, %v, want the first event", again, err)
	}
	for _, e := range []bus.Event{
		{Kind: bus.Message, Source: "chat", Session: "s", Key: "k"}, // another source
		{Kind: bus.Message, Source: "mail", Session: "s"},           // no key
		{Kind: bus.Message, Source: "mail", Session: "s"},
	} {
		if acc, err := f.Inbox.Put(ctx, e); err != nil || acc.Repeated {
			t.Errorf("%+v: %+v, %v", e, acc, err)
		}
	}
	if got := f.getEvent(f.putEvent(bus.Event{Source: "x", Session: "s"})).Provenance; got != provenance.Outside {
		t.Errorf("provenance of an event without one = %q, want outside", got)
	}
	if _, err := f.Inbox.Put(ctx, bus.Event{ID: first.Event, Kind: bus.Message, Source: "x", Session: "s"}); err == nil {
		t.Error("Put accepted an id that exists")
	}
}

func TestPut_SameKeyConcurrently(t *testing.T) {
	f := newBus(t)
	got := make([]string, 16)
	repeats := make([]bool, len(got))
	var wg sync.WaitGroup
	for i := range got {
		wg.Go(func() {
			acc, err := f.Inbox.Put(t.Context(), bus.Event{Kind: bus.Message, Source: "s", Session: "s", Key: "same"})
			if err != nil {
				t.Error(err)
			}
			got[i], repeats[i] = acc.Event, acc.Repeated
		})
	}
	wg.Wait()
	fresh := 0
	for i := range got {
		if got[i] != got[0] {
			t.Fatalf("ids differ: %v", got)
		}
		if !repeats[i] {
			fresh++
		}
	}
	if fresh != 1 {
		t.Errorf("%d Puts report a new event, want 1", fresh)
	}
}

func TestPositions(t *testing.T) {
	f := newBus(t)
	for i := range 4 {
		e := bus.Event{Kind: bus.Message, Source: "s", Session: "s"}
		acc, err := f.Inbox.Put(t.Context(), e)
		failOnError(t, err)
		e.ID, e.Lane = acc.Event, "s"
		n, err := f.Inbox.QueuePosition(t.Context(), e)
		failOnError(t, err)
		if acc.Position != i || n != i {
			t.Errorf("event %d has position %d, want %d", i, acc.Position, n)
		}
	}
	acc, err := f.Inbox.Put(t.Context(), bus.Event{Kind: bus.Message, Source: "s", Session: "s", Lane: "commands"})
	if err != nil || acc.Position != 0 {
		t.Errorf("position of a command = %d, %v", acc.Position, err)
	}
}

func TestWake_IsNeverLost(t *testing.T) {
	f := newBus(t)
	woken := func(name string) {
		t.Helper()
		select {
		case <-f.Inbox.Wake():
		default:
			t.Errorf("%s did not signal Wake", name)
		}
		select {
		case <-f.Inbox.Wake():
			t.Errorf("%s signaled Wake twice", name)
		default:
		}
	}
	id := f.putEvent(bus.Event{Source: "s", Session: "s"})
	f.putEvent(bus.Event{Source: "s", Session: "s"})
	woken("put")
	f.claimEvents(1)
	f.writeTx(func(tx *store.Tx) error { return f.Inbox.SuspendTx(tx, id, f.now.Add(time.Hour)) })
	f.writeTx(func(tx *store.Tx) error { return f.Inbox.ResumeTx(tx, id) })
	woken("resume")
	f.claimEvents(1)
	e := f.getEvent(id)
	f.writeTx(func(tx *store.Tx) error {
		_, err := f.Inbox.FailTx(tx, e, "why", f.now, false)
		return err
	})
	woken("a failure")
	f.Inbox.SignalWork()
	woken("poke")
	boom := errors.New("boom")
	err := f.store.Write(t.Context(), func(tx *store.Tx) error {
		_, err := f.Inbox.PutTx(tx, bus.Event{Kind: bus.Message, Source: "s", Session: "s"})
		return errors.Join(err, boom)
	})
	if !errors.Is(err, boom) {
		t.Error(err)
	}
	select {
	case <-f.Inbox.Wake():
		t.Error("a canceled send signaled Wake")
	default:
	}
}

func TestSettled(t *testing.T) {
	f := newBus(t)
	id := f.putEvent(bus.Event{Source: "s", Session: "s"})
	closed := func(c <-chan struct{}) bool {
		select {
		case <-c:
			return true
		default:
			return false
		}
	}
	for _, tc := range []struct {
		name string
		do   func(tx *store.Tx) error
		want bool
	}{
		{"retry", func(tx *store.Tx) error {
			_, err := f.Inbox.FailTx(tx, f.getEvent(id), "x", time.Time{}, false)
			return err
		}, false},
		{"suspend", func(tx *store.Tx) error { return f.Inbox.SuspendTx(tx, id, time.Time{}) }, true},
		{"done", func(tx *store.Tx) error { return f.Inbox.FinishTx(tx, id, "a") }, true},
	} {
		f.claimEvents(1)
		one, cancelOne := f.Inbox.EventClosed(id)
		two, cancelTwo := f.Inbox.EventClosed(id)
		gone, cancel := f.Inbox.EventClosed(id)
		cancel()
		f.writeTx(tc.do)
		if closed(one) != tc.want || closed(two) != tc.want || closed(gone) {
			t.Errorf("%s: closed %v and %v, canceled one closed %v", tc.name, closed(one), closed(two), closed(gone))
		}
		cancelOne()
		cancelTwo()
	}
	dead := f.putEvent(bus.Event{Source: "s", Session: "s"})
	f.claimEvents(1)
	c, cancel := f.Inbox.EventClosed(dead)
	defer cancel()
	f.writeTx(func(tx *store.Tx) error {
		_, err := f.Inbox.FailTx(tx, f.getEvent(dead), "x", time.Time{}, true)
		return err
	})
	if !closed(c) {
		t.Error("EventClosed of a dead event is not closed")
	}
}
