package lease

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"hob/platform/store"
)

// fleet is a database that several members share. Its server's time is a row, so that a test decides
// when a lease ends.
type fleet struct {
	t    *testing.T
	path string
	db   *store.Store
}

func newFleet(t *testing.T) *fleet {
	t.Helper()
	f := &fleet{t: t, path: filepath.Join(t.TempDir(), "hob.db")}
	f.db = f.openStore()
	f.execSQL(`INSERT INTO server_time (ms) VALUES (1000000)`)
	return f
}

func (f *fleet) openStore() *store.Store {
	f.t.Helper()
	db, err := store.Open(f.t.Context(), f.path, []store.MigrationSet{
		Migrations(), {Owner: "test", Steps: []string{`CREATE TABLE server_time (ms INTEGER NOT NULL); CREATE TABLE notes (text TEXT NOT NULL);`}},
	}, store.Options{})
	failOnError(f.t, err)
	f.t.Cleanup(func() { _ = db.Close() })
	return db
}

func (f *fleet) execSQL(stmt string) {
	f.t.Helper()
	failOnError(f.t, f.db.Write(f.t.Context(), func(tx *store.Tx) error {
		_, err := tx.Exec(stmt)
		return err
	}))
}

// passLease lets the server's time pass beyond a lease.
func (f *fleet) passLease() { f.execSQL(`UPDATE server_time SET ms = ms + 2 * 3600000`) }

// newMember returns a process with its own connections. It renews only when a test calls renewLease.
func (f *fleet) newMember(name, home string) *Member {
	f.t.Helper()
	m, err := New(Options{
		Store: f.openStore(), Shared: true, Clock: "(SELECT ms FROM server_time)", Instance: name, Home: home, Version: "1", Lease: time.Hour,
	})
	failOnError(f.t, err)
	return m
}

func (f *fleet) joinMember(name, home string) *Member {
	f.t.Helper()
	m := f.newMember(name, home)
	failOnError(f.t, m.Join(f.t.Context()))
	return m
}

// writeNote writes a row in the same way as every package.
func writeNote(m *Member, text string) error {
	return m.o.Store.Write(context.Background(), func(tx *store.Tx) error {
		_, err := tx.Exec(`INSERT INTO notes (text) VALUES (?)`, text)
		return err
	})
}

func (f *fleet) listNotes() string {
	f.t.Helper()
	var s string
	failOnError(f.t, f.db.Read().QueryRowContext(f.t.Context(), `SELECT coalesce(group_concat(text, ' '), '') FROM notes`).Scan(&s))
	return s
}

func failOnError(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func (m *Member) currentTerm() *term {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.term
}

// A suspended instance whose lease another one ended writes nothing any more, although it does not
// know yet that it lost the lease.
func TestMember_RejectsLateWrites(t *testing.T) {
	f := newFleet(t)
	a, b := f.joinMember("a", "/a"), f.joinMember("b", "/b")
	failOnError(t, writeNote(a, "before"))
	f.passLease()
	failOnError(t, writeNote(a, "late-but-nobody-took-over"))
	b.renewLease(t.Context(), b.currentTerm()) // b itself was renewed in time only if it is still live
	if err := writeNote(a, "after"); !errors.Is(err, ErrLost) {
		t.Errorf("late write = %v, want ErrLost", err)
	}
	failOnError(t, writeNote(b, "b"))
	if got, want := f.listNotes(), "before late-but-nobody-took-over b"; got != want {
		t.Errorf("notes %q, want %q", got, want)
	}
	if err := a.Check(); !errors.Is(err, ErrLost) {
		t.Errorf("Check = %v, want ErrLost", err)
	}
	select {
	case <-b.Ended():
	default:
		t.Error("b was not told that claims are free")
	}
}

// A process that never joined must not write anything.
func TestMember_WritesNothingBeforeItJoins(t *testing.T) {
	f := newFleet(t)
	a := f.newMember("a", "/a")
	if err := writeNote(a, "x"); !errors.Is(err, ErrLost) {
		t.Errorf("write = %v, want ErrLost", err)
	}
	if got := f.listNotes(); got != "" {
		t.Errorf("notes %q", got)
	}
}

func TestMember_Join(t *testing.T) {
	t.Run("refuses the name of a live process", func(t *testing.T) {
		f := newFleet(t)
		a := f.joinMember("a", "/a")
		twin := f.newMember("a", "/twin")
		twin.o.Lease = time.Millisecond // the pause between two looks; the lease is the one of a
		joined := make(chan error, 1)
		go func() { joined <- twin.Join(context.Background()) }()
		var err error
		for refused := false; !refused; {
			select {
			case err = <-joined:
				refused = true
			case <-time.After(5 * time.Millisecond): // let the other one write
				f.execSQL(`UPDATE server_time SET ms = ms + 1`)
				a.renewLease(t.Context(), a.currentTerm())
			}
		}
		if !errors.Is(err, ErrTaken) || !strings.Contains(err.Error(), `instance "a"`) || !strings.Contains(err.Error(), "set another name") {
			t.Errorf("Join = %v, want a refusal that names the instance and the remedy", err)
		}
		failOnError(t, writeNote(a, "a-goes-on"))
	})
	t.Run("replaces the same home at once", func(t *testing.T) {
		f := newFleet(t)
		old := f.joinMember("a", "/a")
		again := f.joinMember("a", "/a")
		if old.Epoch() == again.Epoch() {
			t.Error("the epoch was used again")
		}
		if err := writeNote(old, "old"); !errors.Is(err, ErrLost) {
			t.Errorf("write of the predecessor = %v, want ErrLost", err)
		}
	})
	t.Run("replaces its own membership whose answer was lost", func(t *testing.T) {
		f := newFleet(t)
		a := f.joinMember("a", "/a")
		failOnError(t, a.joinAs(t.Context(), false)) // the first answer never arrived
		failOnError(t, writeNote(a, "a"))
	})
	t.Run("takes the name after the lease of a dead process", func(t *testing.T) {
		f := newFleet(t)
		f.joinMember("a", "/a")
		f.passLease()
		failOnError(t, writeNote(f.joinMember("a", "/elsewhere"), "new"))
	})
	t.Run("takes the name after the process left", func(t *testing.T) {
		f := newFleet(t)
		a := f.joinMember("a", "/a")
		a.Leave()
		failOnError(t, writeNote(f.joinMember("a", "/elsewhere"), "new"))
	})
}

// The rows of commands go at the next join, those of instances a week after their end. No epoch comes again.
func TestMember_ForgetsEndedMembers(t *testing.T) {
	f := newFleet(t)
	old := f.joinMember("old", "/old")
	old.Leave()
	f.execSQL(`UPDATE server_time SET ms = ms + 8 * 86400000`)
	command := f.joinMember("a/17", "/a")
	last := command.Epoch()
	command.Leave()
	a := f.joinMember("a", "/a")
	list, err := a.Instances(t.Context())
	failOnError(t, err)
	if len(list) != 1 || list[0].Name != "a" || list[0].Epoch <= last {
		t.Errorf("instances %+v, want only a", list)
	}
}

// runPart runs a part of m under a lease. The channels report its begins and its ends.
func runPart(ctx context.Context, m *Member, name string) (began chan context.Context, ended chan error, returned chan error) {
	began, ended, returned = make(chan context.Context, 9), make(chan error, 9), make(chan error, 1)
	run := m.While(name, func(ctx context.Context) error {
		began <- ctx
		<-ctx.Done()
		ended <- context.Cause(ctx)
		return nil
	})
	go func() { returned <- run(ctx) }()
	return began, ended, returned
}

// The work of a lost lease moves to another member; the first one drops it and comes back by itself.
func TestMember_MovesWorkOfLostLease(t *testing.T) {
	f := newFleet(t)
	a, b := f.joinMember("a", "/a"), f.joinMember("b", "/b")
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	beganA, endedA, returnedA := runPart(ctx, a, "clock")
	<-a.asked
	a.renewLease(ctx, a.currentTerm())
	<-beganA
	beganB, _, returnedB := runPart(ctx, b, "clock")
	<-b.asked
	b.renewLease(ctx, b.currentTerm())
	if !a.Holds("clock") || b.Holds("clock") {
		t.Fatalf("a holds %v, b holds %v; want a alone", a.Holds("clock"), b.Holds("clock"))
	}
	f.passLease()
	b.renewLease(ctx, b.currentTerm()) // a did not renew in time
	<-beganB
	if !b.Holds("clock") {
		t.Error("b does not hold the lease")
	}
	old := a.currentTerm()
	if err := writeNote(a, "late"); !errors.Is(err, ErrLost) {
		t.Errorf("late write = %v, want ErrLost", err)
	}
	if cause := <-endedA; !errors.Is(cause, ErrLost) {
		t.Errorf("the part of a ended because of %v, want ErrLost", cause)
	}
	failOnError(t, a.joinAgain(ctx, old))
	if a.Epoch() == old.epoch || a.Holds("clock") {
		t.Errorf("a has epoch %d and holds %v after it joined again", a.Epoch(), a.Holds("clock"))
	}
	failOnError(t, writeNote(a, "back"))
	cancel()
	failOnError(t, <-returnedA)
	failOnError(t, <-returnedB)
}

// Run leaves the fleet when its work has ended, so that the others need not wait for the lease.
func TestMember_FreesLeasesWhenItEnds(t *testing.T) {
	f := newFleet(t)
	a := f.joinMember("a", "/a")
	ctx, cancel := context.WithCancel(t.Context())
	running := make(chan error, 1)
	go func() { running <- a.Run(ctx) }()
	began, ended, returned := runPart(ctx, a, "clock")
	<-began
	if err := a.Check(); err != nil {
		t.Errorf("Check = %v while the lease is held", err)
	}
	cancel()
	<-ended
	failOnError(t, <-returned)
	failOnError(t, <-running)
	a.Leave()
	b := f.joinMember("b", "/b")
	b.Holds("clock")
	b.renewLease(t.Context(), b.currentTerm())
	if !b.Holds("clock") {
		t.Error("the lease of an instance that ended is not free")
	}
	live, err := b.Live(b.o.Store.Reader(t.Context()))
	failOnError(t, err)
	if !slices.Equal(live, []int64{b.Epoch()}) {
		t.Errorf("live epochs %v, want only %d", live, b.Epoch())
	}
}

// A member hears of what others committed.
func TestMember_FollowsOthers(t *testing.T) {
	f := newFleet(t)
	a, b := f.joinMember("a", "/a"), f.joinMember("b", "/b")
	heard := 0
	b.Follow(func() { heard++ })
	b.followOthers(t.Context())
	was, commits := heard, b.o.Store.CommitCount()
	b.followOthers(t.Context())
	if heard != was {
		t.Error("called although nobody committed")
	}
	failOnError(t, writeNote(a, "news"))
	b.followOthers(t.Context())
	if heard != was+1 || b.o.Store.CommitCount() == commits {
		t.Errorf("called %d times, commits %d to %d; want one call and a new count", heard-was, commits, b.o.Store.CommitCount())
	}
}

// A member ends the lease of another one when it is over, not at its own next renewal.
func TestMember_NoticesLateMember(t *testing.T) {
	f := newFleet(t)
	_, b := f.joinMember("a", "/a"), f.joinMember("b", "/b")
	b.followOthers(t.Context())
	if b.followOthers(t.Context()) {
		t.Error("a is late although its lease has just begun")
	}
	if left := time.Until(b.nextEnd); left > time.Hour {
		t.Errorf("b checks again in %s, want at most the lease", left)
	}
	f.passLease()
	if !b.followOthers(t.Context()) {
		t.Error("b did not notice that a is late")
	}
}

// An outage of the database stops parts of a process, but not the process.
func TestMember_OutlastsOutage(t *testing.T) {
	f := newFleet(t)
	m := f.joinMember("a", "/a")
	m.o.Lease = time.Millisecond // the pause before the part begins again
	runs := 0
	parts := m.Outlast([]func(context.Context) error{func(context.Context) error {
		if runs++; runs == 1 {
			return fmt.Errorf("load: %w", store.ErrAway)
		}
		return errors.New("a mistake")
	}})
	if err := parts[0](t.Context()); runs != 2 || err == nil || err.Error() != "a mistake" {
		t.Errorf("%d runs, %v; want a second run and its error", runs, err)
	}
}

// Alone, a process holds everything, and nothing is written.
func TestMember_AloneHoldsEverything(t *testing.T) {
	f := newFleet(t)
	m, err := New(Options{Store: f.db})
	failOnError(t, err)
	failOnError(t, m.Join(t.Context()))
	var none *Member
	for _, m := range []*Member{m, none} {
		if !m.Holds("clock") || m.Check() != nil || m.Epoch() != 0 || m.IsShared() {
			t.Error("a process that is alone does not hold everything")
		}
		ran := false
		failOnError(t, m.While("clock", func(context.Context) error { ran = true; return nil })(t.Context()))
		if !ran {
			t.Error("the part did not run")
		}
	}
	var rows int
	failOnError(t, f.db.Read().QueryRowContext(t.Context(), `SELECT count(*) FROM instances`).Scan(&rows))
	if rows != 0 {
		t.Errorf("%d rows, want none", rows)
	}
}
