package bus_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"hob/autonomy/bus"
	"hob/channels"
	"hob/platform/store"
	"hob/platform/store/lease"
	"hob/platform/store/storetest"
)

// fleetLease is the lease of the instances. A shorter one would also end where a busy machine delays a renewal.
const fleetLease = 5 * time.Second

// fleetInstance is one process of a fleet that answers events.
type fleetInstance struct {
	name string
	db   *store.Store
	bus  *bus.Bus
	m    *lease.Member
	ctx  context.Context
	stop func()
	done sync.WaitGroup
}

func openInstance(t testing.TB, url, name string) *fleetInstance {
	t.Helper()
	sets := []store.MigrationSet{lease.Migrations(), bus.Migrations()}
	db, err := store.Open(t.Context(), t.TempDir()+"/hob.db", sets, store.Options{URL: url, Instance: name, Lease: fleetLease})
	failOnError(t, err)
	m, err := lease.Open(t.Context(), lease.Options{Store: db, Shared: true, Instance: name, Home: name, Lease: fleetLease})
	failOnError(t, err)
	x := &fleetInstance{name: name, db: db, bus: bus.New(db, bus.Options{Lease: m}), m: m}
	x.ctx, x.stop = context.WithCancel(context.WithoutCancel(t.Context()))
	return x
}

// answerEvents claims events and answers them. Now and then it is suspended for longer than a lease
// between the claim and the answer.
func (x *fleetInstance) answerEvents(rnd *rand.Rand) func(ctx context.Context) error {
	return func(ctx context.Context) error {
		for ctx.Err() == nil {
			if _, err := x.bus.Inbox.Recover(ctx); err != nil {
				_ = sleepFor(ctx, 50*time.Millisecond)
				continue
			}
			events, _, err := x.bus.Inbox.Claim(ctx, 3)
			if err != nil || len(events) == 0 {
				_ = sleepFor(ctx, 20*time.Millisecond)
			}
			if rnd.IntN(24) == 0 && len(events) > 0 {
				time.Sleep(fleetLease + time.Second) // does not end with ctx, as a suspended process does not
			}
			for _, e := range events {
				err := x.db.Write(context.WithoutCancel(ctx), func(tx *store.Tx) error {
					if err := x.bus.Inbox.FinishTx(tx, e.ID, x.name); err != nil {
						return err
					}
					return x.bus.Outbox.EnqueueTx(tx, e.ID, bus.OutboxItem{Delivery: channels.Delivery{Kind: channels.Reply, Session: e.Session, Channel: "web", Text: e.Text}})
				})
				for store.IsOutage(err) && ctx.Err() == nil { // as the loop does
					_ = sleepFor(ctx, 50*time.Millisecond)
					err = x.bus.Inbox.Release(ctx, e.ID)
				}
			}
		}
		return nil
	}
}

func sleepFor(ctx context.Context, d time.Duration) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(d):
		return nil
	}
}

// TestFleet_AnswersEachEventOnce runs three instances on one PostgreSQL that is killed and started
// again while the instances are suspended for longer than their lease at random.
func TestFleet_AnswersEachEventOnce(t *testing.T) {
	if testing.Short() {
		t.Skip("takes 20 s")
	}
	const sessions, each = 10, 12
	server := storetest.NewServer(t)
	failOnError(t, server.Exec(t.Context(), "postgres", "CREATE DATABASE fleet"))
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	fleet := make([]*fleetInstance, 3)
	for i := range fleet {
		x := openInstance(t, server.URL("fleet"), fmt.Sprint("i", i))
		fleet[i] = x
		for _, part := range x.m.Outlast(x.m.Parts(x.answerEvents(rand.New(rand.NewPCG(seed, uint64(i)))))) {
			x.done.Go(func() {
				if err := part(x.ctx); err != nil {
					t.Errorf("%s ended: %v", x.name, err)
				}
			})
		}
		t.Cleanup(func() {
			x.stop()
			x.done.Wait()
			x.m.Leave()
			_ = x.db.Close()
		})
	}
	ids := map[string]bool{}
	for n := range each {
		if n == each/2 {
			failOnError(t, server.Stop("QUIT"))
			failOnError(t, server.Start(t.Context()))
		}
		for s := range sessions {
			e := bus.Event{Kind: bus.Message, Source: "test", Session: fmt.Sprint("s", s), Key: fmt.Sprintf("s%d-%d", s, n), Text: fmt.Sprintf("s%d-%02d", s, n), Channel: "web"}
			for {
				acc, err := fleet[(s+n)%len(fleet)].bus.Inbox.Put(t.Context(), e)
				if err == nil {
					ids[acc.Event] = true
					break
				}
				failOnError(t, sleepFor(t.Context(), 50*time.Millisecond)) // refused and sent again, as clients do
			}
		}
	}
	db := fleet[0].db
	count := func(query string) (n int) {
		if err := db.Read().QueryRowContext(t.Context(), query).Scan(&n); err != nil {
			return -1
		}
		return n
	}
	waitUntil(t, 3*time.Minute, func() bool { return count(`SELECT count(*) FROM inbox WHERE state = 'done'`) == sessions*each })
	if len(ids) != sessions*each {
		t.Errorf("%d events, want %d", len(ids), sessions*each)
	}
	if n := count(`SELECT count(*) FROM outbox`); n != sessions*each {
		t.Errorf("%d replies, want %d", n, sessions*each)
	}
	if n := count(`SELECT count(DISTINCT event) FROM outbox`); n != sessions*each {
		t.Errorf("%d events have a reply, want %d", n, sessions*each)
	}
	// replies of a session are in the order of its messages: no two instances worked on it at once
	if n := count(`SELECT count(*) FROM outbox a JOIN outbox b ON a.session = b.session AND a.seq < b.seq AND a.text > b.text`); n != 0 {
		t.Errorf("%d replies are out of order", n)
	}
}

func waitUntil(t *testing.T, limit time.Duration, ok func() bool) {
	t.Helper()
	for end := time.Now().Add(limit); !ok(); time.Sleep(50 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("not reached in time")
		}
	}
}

// BenchmarkFleet_Wakeup measures how long an instance takes to notice an event that another one received.
func BenchmarkFleet_Wakeup(b *testing.B) {
	server := storetest.NewServer(b)
	failOnError(b, server.Exec(b.Context(), "postgres", "CREATE DATABASE wakeup"))
	from, to := openInstance(b, server.URL("wakeup"), "from"), openInstance(b, server.URL("wakeup"), "to")
	var done sync.WaitGroup
	for _, x := range []*fleetInstance{from, to} {
		done.Go(func() { _ = x.m.Run(x.ctx) })
	}
	for b.Loop() {
		_, err := from.bus.Inbox.Put(b.Context(), bus.Event{Kind: bus.Message, Source: "test", Session: "s", Text: "hello", Channel: "web"})
		failOnError(b, err)
		<-to.bus.Inbox.Wake()
	}
	for _, x := range []*fleetInstance{from, to} {
		x.stop()
	}
	done.Wait()
	for _, x := range []*fleetInstance{from, to} {
		x.m.Leave()
		_ = x.db.Close()
	}
}
