package bus_test

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"

	"hob/autonomy/bus"
	"hob/platform/store"
)

// model is the expected state of the inbox: a list.
type model struct {
	list   []*modeledEvent
	served map[string]int
	serial int
}

type modeledEvent struct {
	id, lane, session, key string
	state                  bus.State
	attempts, crashes      int
	notBefore              time.Time
}

// listDue lists the events that Claim may take, best first.
func (m *model) listDue(now time.Time, n int) (out []*modeledEvent, next time.Time) {
	heads := map[string]*modeledEvent{}
	for _, e := range m.list {
		if heads[e.lane] == nil && (e.state == bus.Pending || e.state == bus.Claimed) {
			heads[e.lane] = e
		}
	}
	for _, e := range m.list { // in order of arrival
		switch {
		case heads[e.lane] != e || e.state != bus.Pending:
		case e.notBefore.After(now):
			if next.IsZero() || e.notBefore.Before(next) {
				next = e.notBefore
			}
		default:
			out = append(out, e)
		}
	}
	if len(out) == 0 {
		clear(m.served)
	}
	slices.SortStableFunc(out, func(a, b *modeledEvent) int {
		if ca, cb := a.lane != a.session, b.lane != b.session; ca != cb {
			return map[bool]int{true: -1, false: 1}[ca]
		}
		return cmp.Compare(m.served[a.lane], m.served[b.lane])
	})
	taken := 0
	out = slices.DeleteFunc(out, func(e *modeledEvent) bool {
		if e.lane != e.session {
			return false
		}
		taken++
		return taken > n
	})
	return out, next
}

func (m *model) pickEvent(r *rand.Rand, state bus.State) *modeledEvent {
	var in []*modeledEvent
	for _, e := range m.list {
		if e.state == state {
			in = append(in, e)
		}
	}
	if len(in) == 0 {
		return nil
	}
	return in[r.IntN(len(in))]
}

// TestInbox_BehavesLikeTheModel compares random operations with the model.
func TestInbox_BehavesLikeTheModel(t *testing.T) {
	for seed := range uint64(6) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			f := newBus(t)
			m := &model{served: map[string]int{}}
			r := rand.New(rand.NewPCG(seed, 7))
			for range 150 {
				f.stepRandomly(m, r)
			}
			for _, e := range m.list {
				got := f.getEvent(e.id)
				want := modeledEvent{id: e.id, lane: got.Lane, session: got.Session, key: got.Key, state: got.State, attempts: got.Attempts, crashes: got.Crashes, notBefore: got.NotBefore}
				if diff := gocmp.Diff(*e, want, gocmp.AllowUnexported(modeledEvent{})); diff != "" {
					t.Errorf("event %s: %s", e.id, diff)
				}
			}
		})
	}
}

func (f *fixture) stepRandomly(m *model, r *rand.Rand) {
	f.t.Helper()
	switch op := r.IntN(20); {
	case op < 6:
		f.stepPut(m, r)
	case op < 11:
		f.stepClaim(m, r.IntN(4))
	case op < 18:
		f.stepEnd(m, r)
	case op == 18:
		f.now = f.now.Add(time.Duration(r.IntN(90)) * time.Second)
	default: // the process dies
		f.restartBus()
		m.served, m.serial = map[string]int{}, 0
		_, err := f.Inbox.Recover(f.t.Context())
		failOnError(f.t, err)
		for _, e := range m.list {
			if e.state == bus.Claimed {
				e.state, e.attempts, e.crashes, e.notBefore = bus.Pending, e.attempts-1, e.crashes+1, time.Time{}
			}
		}
	}
}

func (f *fixture) stepPut(m *model, r *rand.Rand) {
	f.t.Helper()
	e := bus.Event{Kind: bus.Message, Source: "s", Session: fmt.Sprint("s", r.IntN(4))}
	if e.Lane = e.Session; r.IntN(6) == 0 {
		e.Lane += "/commands"
	}
	if r.IntN(3) == 0 {
		e.Key = fmt.Sprint("k", r.IntN(8))
	}
	if r.IntN(4) == 0 {
		e.NotBefore = f.now.Add(time.Duration(r.IntN(120)) * time.Second)
	}
	acc, err := f.Inbox.Put(f.t.Context(), e)
	failOnError(f.t, err)
	first := slices.IndexFunc(m.list, func(o *modeledEvent) bool { return e.Key != "" && o.key == e.Key })
	if acc.Repeated != (first >= 0) || (first >= 0 && m.list[first].id != acc.Event) {
		f.t.Fatalf("key %q: %+v", e.Key, acc)
	}
	if first < 0 {
		m.list = append(m.list, &modeledEvent{id: acc.Event, lane: e.Lane, session: e.Session, key: e.Key, state: bus.Pending, notBefore: e.NotBefore})
	}
}

func (f *fixture) stepClaim(m *model, n int) {
	f.t.Helper()
	due, wantNext := m.listDue(f.now, n)
	var want []string
	for _, e := range due {
		want = append(want, e.id)
		e.state, e.attempts = bus.Claimed, e.attempts+1
		m.serial++
		m.served[e.lane] = m.serial
	}
	got, next := f.claimEvents(n)
	f.expectList("claimed", got, want...)
	if !next.Equal(wantNext) {
		f.t.Errorf("next = %v, want %v", next, wantNext)
	}
}

// stepEnd applies a random transition to a claimed or waiting event.
func (f *fixture) stepEnd(m *model, r *rand.Rand) {
	f.t.Helper()
	state := bus.Claimed
	if r.IntN(5) == 0 {
		state = bus.Pending
	}
	e := m.pickEvent(r, state)
	if e == nil {
		return
	}
	if state == bus.Pending {
		f.writeTx(func(tx *store.Tx) error { return f.Inbox.ResumeTx(tx, e.id) })
		e.notBefore = time.Time{}
		return
	}
	at := f.now.Add(time.Duration(r.IntN(60)) * time.Second)
	switch r.IntN(4) {
	case 0:
		f.writeTx(func(tx *store.Tx) error { return f.Inbox.SuspendTx(tx, e.id, at) })
		e.state, e.attempts, e.notBefore = bus.Pending, e.attempts-1, at
	case 1:
		failOnError(f.t, f.Inbox.Release(f.t.Context(), e.id))
		e.state, e.attempts, e.notBefore = bus.Pending, e.attempts-1, time.Time{}
	case 2:
		f.writeTx(func(tx *store.Tx) error {
			dead, err := f.Inbox.FailTx(tx, f.getEvent(e.id), "x", at, false)
			if dead != (e.attempts >= bus.MaxAttempts) {
				f.t.Errorf("dead = %v after %d attempts", dead, e.attempts)
			}
			return err
		})
		if e.attempts >= bus.MaxAttempts {
			e.state = bus.Dead
			return
		}
		e.state, e.notBefore = bus.Pending, at
	default:
		f.finishEvents(e.id)
		e.state = bus.Done
	}
}
