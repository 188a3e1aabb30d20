// Package lease decides which of several processes that share one database may work, and which of
// them does the work that only one may do, such as receiving from a channel account.
//
// Each process is a Member with a name and an epoch, a number that no other membership ever has.
// The member renews its row at a third of the lease, with the time of the database server; the clock
// of the machine plays no part. A member that did not renew in time is ended by the next one that
// renews: its epoch is over, its leases are free, and the events that it claimed are
// claimed again by others. Named leases and claims belong to an epoch, so one renewal covers them
// all.
//
// A late write is rejected in one place: while a member works, each group commit of its store first
// checks the epoch in its transaction (store.SetFence), and a commit of an epoch that is over fails as
// a whole with ErrLost. The member then cancels everything that runs under While, waits until it has
// ended, and joins again under a new epoch.
//
// Without sharing (SQLite), the lock of the home proves that there is one process. Everything is then
// granted in memory: no row, no goroutine, no fence. Callers have one code path for both.
package lease

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"strings"
	"sync"
	"time"

	"hob/platform/store"
)

// Errors that callers handle.
var (
	// ErrLost means that this process lost its lease. What it was doing must end; another instance
	// may have taken it over.
	// For callers that do not know leases, it is an outage of the database (store.ErrAway).
	ErrLost error = lostError{}
	// ErrTaken means that another live process has the name of this instance.
	ErrTaken = errors.New("another live daemon has this name")
)

// lostError is the type of ErrLost.
type lostError struct{}

// Error implements error.
func (lostError) Error() string {
	return "this instance lost its lease on the database; it joins again by itself"
}

// Is makes an ErrLost match store.ErrAway.
func (lostError) Is(target error) bool { return target == store.ErrAway }

// Options holds the options of New. Store is required, and Instance if Shared is set.
type Options struct {
	Store *store.Store
	// Shared reports whether other processes may use the database at the same time.
	Shared bool
	// Clock is the SQL expression of the server's time in milliseconds since 1970. Only tests set it.
	Clock string
	// Instance is the name of this process in the fleet (default: the name of the host). Home and
	// Version describe it. A process on the same host with the same home replaces its predecessor at
	// once, because the lock of the home proves that the predecessor has ended.
	Instance, Home, Version string
	// Lease is the time without renewal after which others take over (default 15 s).
	Lease time.Duration
	Log   *slog.Logger // default: discard all records
}

// The expressions of the server's time. now() of PostgreSQL would be the start of the transaction.
const (
	sqliteClock   = "CAST(unixepoch('subsec') * 1000 AS INTEGER)"
	postgresClock = "CAST(extract(epoch FROM clock_timestamp()) * 1000 AS BIGINT)"
)

// Member is the membership of this process. A nil *Member grants everything, as an unshared one
// does. Methods may be called concurrently.
type Member struct {
	o       Options
	host    string
	process string        // random
	ended   chan struct{} // signals that memberships ended whose claims are free
	asked   chan struct{} // signals that a lease was requested for the first time

	mu      sync.Mutex
	term    *term         // nil while this process is no member
	joined  chan struct{} // closed and replaced when a term begins
	granted chan struct{} // closed and replaced when a lease was granted
	wanted  map[string]bool
	why     error // why this process is no member
	leaving bool  // whether no further part may begin
	follow  []follower

	// Used only by the goroutine of Run: the commits and the ended memberships of others, as last seen,
	// and when the first of their leases ends.
	seen, seenEnded int64
	nextEnd         time.Time
}

// term is one membership, from joining to losing the lease.
type term struct {
	epoch  int64
	ctx    context.Context
	cancel context.CancelCauseFunc
	work   sync.WaitGroup // the parts that run under While

	// Guarded by Member.mu.
	deadline time.Time // until then, no other process can have taken over
	timer    *time.Timer
	held     map[string]bool
}

// Open returns the membership of this process, which has joined. Nothing may write before.
func Open(ctx context.Context, o Options) (*Member, error) {
	m, err := New(o)
	if err != nil {
		return nil, err
	}
	return m, m.Join(ctx)
}

// New returns a Member after checking the options. It does no I/O.
func New(o Options) (*Member, error) {
	host, err := os.Hostname()
	if o.Instance = cmp.Or(o.Instance, host); o.Store == nil || o.Shared && o.Instance == "" {
		return nil, fmt.Errorf("lease: Options needs Store and Instance: %w", cmp.Or(err, errors.New("missing")))
	}
	if o.Lease = cmp.Or(o.Lease, 15*time.Second); o.Clock == "" {
		if o.Clock = sqliteClock; o.Store.IsShared() {
			o.Clock = postgresClock
		}
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	m := &Member{o: o, host: host, process: rand.Text(), ended: make(chan struct{}, 1), asked: make(chan struct{}, 1), joined: make(chan struct{}), granted: make(chan struct{}), wanted: map[string]bool{}}
	if o.Shared {
		o.Store.SetFence(&store.Fence{Check: m.Check, Statement: m.epochStatement, Rejected: m.rejectEpoch})
	}
	return m, nil
}

// IsShared reports whether other processes may use the database at the same time.
func (m *Member) IsShared() bool { return m != nil && m.o.Shared }

// Epoch returns the epoch under which this process claims, or 0 if the database is not shared.
func (m *Member) Epoch() int64 {
	if !m.IsShared() {
		return 0
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.term == nil {
		return 0
	}
	return m.term.epoch
}

// Check returns nil if this process certainly holds its lease now, and otherwise ErrLost, or the
// reason why it never joined. It needs no database, so call it right before something leaves the
// process: after a suspend, it reports the loss before any timer has fired. It also ends the membership if
// the clock of the machine is wrong.
func (m *Member) Check() error {
	if !m.IsShared() {
		return nil
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	switch now := time.Now(); {
	case m.term == nil:
		return cmp.Or(m.why, ErrLost)
	case m.term.ctx.Err() != nil, !now.Before(m.term.deadline):
		return ErrLost
	case !now.Round(0).Before(m.term.deadline.Round(0)), // the monotonic clock and the timer stand still during a suspend
		m.o.Store.CheckClock() != nil: // whatever waits until some time must begin again when the clock is correct
		m.term.cancel(ErrLost)
		return ErrLost
	}
	return nil
}

// Outage returns why this process can store nothing at present, or nil. It needs no database.
func (m *Member) Outage() error {
	if !m.IsShared() {
		return nil
	}
	return cmp.Or(m.o.Store.Away(), m.Check())
}

// Holds reports whether this process holds a named lease. A process that does not share its database
// holds them all. The first call for a name requests the lease.
func (m *Member) Holds(name string) bool {
	if !m.IsShared() {
		return true
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.requestLease(name)
	return m.term != nil && m.term.ctx.Err() == nil && m.term.held[name]
}

// While returns a part that runs run only while this process holds the named lease, or, if name is
// "", while it is a member. When the lease is lost, the context of run ends with the cause ErrLost;
// when this process has joined again and holds the lease again, run is called again. The part
// returns when ctx ends, or when run returned although the lease was not lost; this frees the lease.
func (m *Member) While(name string, run func(context.Context) error) func(context.Context) error {
	if !m.IsShared() {
		return run
	}
	return func(ctx context.Context) error {
		for {
			t := m.awaitLease(ctx, name)
			if t == nil {
				return nil // ctx ended
			}
			err := t.runPart(ctx, run)
			t.work.Done()
			if ctx.Err() != nil || t.ctx.Err() == nil {
				m.freeLease(ctx, t, name)
				return err
			}
			if err != nil {
				m.o.Log.Debug("part stopped because the lease was lost", "lease", name, "err", err)
			}
		}
	}
}

// runPart calls run with a context that also ends when the term does.
func (t *term) runPart(ctx context.Context, run func(context.Context) error) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	defer context.AfterFunc(t.ctx, func() { cancel(ErrLost) })() //nolint:contextcheck // the term outlives the parts
	return run(ctx)
}

// awaitLease waits until this process holds the lease and returns the term, with a part added to
// its work. It returns nil if ctx ends first.
func (m *Member) awaitLease(ctx context.Context, name string) *term {
	for {
		m.mu.Lock()
		if m.leaving {
			m.mu.Unlock()
			return nil
		}
		m.requestLease(name)
		t, joined, granted := m.term, m.joined, m.granted
		if t != nil && t.ctx.Err() == nil && (name == "" || t.held[name]) {
			t.work.Add(1)
			m.mu.Unlock()
			return t
		}
		m.mu.Unlock()
		select {
		case <-ctx.Done():
			return nil
		case <-joined:
		case <-granted:
		}
	}
}

// requestLease makes the next renewals take the lease when it is free. The caller holds m.mu.
func (m *Member) requestLease(name string) {
	if name == "" || m.wanted[name] {
		return
	}
	m.wanted[name] = true
	select {
	case m.asked <- struct{}{}:
	default:
	}
}

// freeLease gives a lease back whose part has ended.
func (m *Member) freeLease(ctx context.Context, t *term, name string) {
	if name == "" {
		return
	}
	m.mu.Lock()
	delete(m.wanted, name)
	delete(t.held, name)
	m.mu.Unlock()
	err := m.o.Store.WriteUnfenced(context.WithoutCancel(ctx), func(tx *store.Tx) error {
		_, err := tx.Exec(`DELETE FROM leases WHERE name = ? AND epoch = ?`, name, t.epoch)
		return err
	})
	if err != nil { // it ends with the membership
		m.o.Log.Debug("lease not freed", "lease", name, "err", err)
	}
}

// Ended returns a channel that is signaled when other memberships ended, so that what they had
// claimed can be claimed again.
func (m *Member) Ended() <-chan struct{} {
	if m == nil {
		return nil
	}
	return m.ended
}

// follower is a function of Follow.
type follower struct {
	call   func()
	tables []string
}

// Follow makes the member call f soon after other members changed these tables, and now and then after they
// changed anything. Call it before Run.
func (m *Member) Follow(f func(), tables ...string) {
	if m.IsShared() {
		m.follow = append(m.follow, follower{f, tables})
	}
}

// Live returns the epochs of the memberships that have not ended.
func (m *Member) Live(q store.Querier) (epochs []int64, err error) {
	if !m.IsShared() {
		return nil, nil
	}
	rows, err := q.Query(`SELECT epoch FROM instances WHERE ended = 0`)
	if err != nil {
		return nil, fmt.Errorf("lease: read the instances: %w", err)
	}
	defer rows.Close()
	for rows.Next() {
		var e int64
		if err := rows.Scan(&e); err != nil {
			return nil, fmt.Errorf("lease: read the instances: %w", err)
		}
		epochs = append(epochs, e)
	}
	return epochs, rows.Err()
}

// epochStatement implements the fence of the store: it returns the statement that changes no row if the
// epoch of this process is over. It also counts the commits, so that the others notice that there is
// something new.
func (m *Member) epochStatement() (string, error) {
	m.mu.Lock()
	t, why := m.term, m.why
	m.mu.Unlock()
	if t == nil {
		return "", cmp.Or(why, ErrLost)
	}
	if t.ctx.Err() != nil {
		return "", ErrLost
	}
	return fmt.Sprintf(`UPDATE instances SET commits = commits + 1 WHERE name = '%s' AND epoch = %d AND ended = 0`, strings.ReplaceAll(m.o.Instance, "'", "''"), t.epoch), nil
}

// rejectEpoch ends the term of which a commit was rejected.
func (m *Member) rejectEpoch() error {
	m.mu.Lock()
	t := m.term
	m.mu.Unlock()
	if t != nil {
		t.cancel(ErrLost)
	}
	return ErrLost
}

// Migrations returns the package's tables.
func Migrations() store.MigrationSet {
	return store.MigrationSet{Owner: "lease", Steps: []string{schema}}
}

// schema creates the table of members, one row for each name, and the named leases of their epochs.
const schema = `
CREATE TABLE instances (
	name TEXT PRIMARY KEY, epoch INTEGER NOT NULL, host TEXT NOT NULL, home TEXT NOT NULL, version TEXT NOT NULL,
	started_at INTEGER NOT NULL, seen_at INTEGER NOT NULL, until INTEGER NOT NULL,
	ended INTEGER NOT NULL DEFAULT 0, commits INTEGER NOT NULL DEFAULT 0);
CREATE TABLE leases (name TEXT PRIMARY KEY, epoch INTEGER NOT NULL, since INTEGER NOT NULL);
`
