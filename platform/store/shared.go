package store

import (
	"cmp"
	"context"
	"crypto/rand"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"hob/platform/retry"
	"hob/platform/store/postgres"
)

// Errors of a database that several instances share.
var (
	// ErrAway means that the database cannot be reached. It may come back without any action.
	ErrAway = postgres.ErrAway
	// ErrUnknown means that the connection was lost during a commit and the database did not come back
	// in time to tell whether the change was saved.
	ErrUnknown = errors.New("outcome unknown: the connection to the database was lost during the commit; check before you repeat the change")
	// ErrNoFile means that the operation works on the file of SQLite, which PostgreSQL does not have.
	ErrNoFile = errors.New("the data is in PostgreSQL, not in a file; use the tools of PostgreSQL")
)

const (
	// DefaultLease is the default of Options.Lease.
	DefaultLease = 15 * time.Second
	minLease     = 2 * time.Second
)

// shared is the part of a Store whose database is on a server.
type shared struct {
	writer  string // name of this process's row in the table of writers
	name    string // address without user and password, for messages
	lease   time.Duration
	known   int64  // number of migrations that this program knows
	token   string // marks the transaction of the writer's goroutine
	set     bool   // whether its savepoint contains no change yet
	heard   chan struct{}
	foreign foreignChanges
	away    atomic.Pointer[awayError]
	clock   atomic.Pointer[clockReading]
	cancel  context.CancelFunc
	done    chan struct{}
	probing *sql.DB // asks whether the database can be reached again
}

// awayError is an error with the time since which the database is away.
type awayError struct {
	err   error
	since time.Time
}

// clockReading is the difference of the clocks at one time.
type clockReading struct {
	offset time.Duration // clock of the server minus that of this machine
	at     time.Time     // with the monotonic clock
}

// clockError is an outage that ends when the clock is correct.
type clockError struct{ offset time.Duration }

// Error implements error.
func (e clockError) Error() string {
	return fmt.Sprintf("the clock of this machine is %s away from the clock of the database server; correct the wrong clock (enable NTP)", e.offset.Abs().Round(time.Second))
}

// Is makes a clockError match ErrAway.
func (clockError) Is(target error) bool { return target == ErrAway }

// Error implements error.
func (e *awayError) Error() string {
	cause, remedy, ok := strings.Cut(e.err.Error(), "; ")
	text := fmt.Sprintf("%s (since %s)", cause, e.since.UTC().Format(time.RFC3339))
	if ok {
		text += "; " + remedy
	}
	return text
}

// Unwrap returns the cause.
func (e *awayError) Unwrap() error { return e.err }

// Away returns why the database cannot be reached or used at present, or nil. It returns at once. The error
// wraps ErrAway.
func (s *Store) Away() error {
	if s.shared == nil {
		return nil
	}
	if e := s.shared.away.Load(); e != nil {
		return e
	}
	return s.CheckClock()
}

// CheckClock returns an error while the clock of this machine differs so much from the clock of the database
// server that no time of this process may get into the database. It needs no database: the clock was set if it
// passed differently than the monotonic clock since they were last compared. This also seems so after a
// suspend, until the next comparison.
func (s *Store) CheckClock() error {
	if s.shared == nil || s.shared.heard == nil {
		return nil
	}
	if offset := s.ClockOffset(); offset.Abs() > maxClockOffset {
		return clockError{offset}
	}
	return nil
}

// IsShared reports whether other instances may use the database at the same time.
func (s *Store) IsShared() bool { return s.shared != nil }

// ClockOffset returns how far the clock of the database server is ahead of the clock of this machine.
func (s *Store) ClockOffset() time.Duration {
	if s.shared == nil {
		return 0
	}
	r := s.shared.clock.Load()
	if r == nil {
		return 0
	}
	now := time.Now()
	set := now.Round(0).Sub(r.at.Round(0)) - now.Sub(r.at)
	return r.offset - set
}

// noteError remembers that the database is away, if err says so.
func (p *shared) noteError(err error) {
	if errors.Is(err, ErrAway) {
		p.away.CompareAndSwap(nil, &awayError{err, time.Now()})
	}
}

// serverName returns the address without the user, the password and the parameters.
func serverName(address string) string {
	u, err := url.Parse(address)
	if err != nil || u.Host == "" {
		return "PostgreSQL"
	}
	return "postgres://" + u.Host + u.Path
}

// openShared opens a database on PostgreSQL.
func openShared(ctx context.Context, path string, sets []MigrationSet, opt Options) (_ *Store, err error) {
	if opt.Lease == 0 {
		opt.Lease = DefaultLease
	}
	opt.Lease = max(opt.Lease, minLease)
	sets = append([]MigrationSet{{Owner: "postgres", Steps: make([]string, len(postgres.Migrations()))}}, sets...) // migrateShared runs them
	p := &shared{writer: rand.Text(), name: serverName(opt.URL), lease: opt.Lease, done: make(chan struct{})}
	for _, set := range sets {
		p.known += int64(len(set.Steps))
	}
	s := &Store{
		path: path, backupDir: opt.BackupDir, shared: p,
		queue: make(chan *writeJob, 256), stop: make(chan struct{}), done: make(chan struct{}),
	}
	s.closing = func() error { return nil }
	c := postgres.Config{URL: opt.URL, Name: "hob " + opt.Instance, Hold: opt.Lease, Answer: 3 * opt.Lease}
	if s.w, err = openPool(c, 1); err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, s.closePools())
		}
	}()
	read, probe := c, c
	read.ReadOnly, read.Reachable = true, s.Away
	probe.ReadOnly, probe.Answer = true, opt.Lease
	if s.r, err = openPool(read, opt.Readers); err != nil {
		return nil, err
	}
	s.r.SetMaxIdleConns(opt.Readers)
	s.r.SetConnMaxIdleTime(time.Minute)
	if p.probing, err = openPool(probe, 1); err != nil {
		return nil, err
	}
	if s.conn, err = s.w.Conn(ctx); err != nil {
		return nil, fmt.Errorf("store: open %s: %w", p.name, classifyError(err))
	}
	if err := p.compareClocks(ctx, opt.SkipCheck); err != nil {
		return nil, fmt.Errorf("store: open %s: %w", p.name, err)
	}
	if err := s.migrateShared(ctx, sets, opt.copying); err != nil {
		return nil, err
	}
	if err := s.onWriter(func(c *postgres.Conn) error { return c.Register(ctx, p.writer) }); err != nil {
		return nil, fmt.Errorf("store: open %s: %w", p.name, classifyError(err))
	}
	if !opt.SkipCheck {
		p.heard = make(chan struct{}, 1)
	}
	run, cancel := context.WithCancel(context.Background())
	p.cancel = cancel
	s.closing = sync.OnceValue(s.closeShared)
	go s.runWriter()             //nolint:contextcheck // the writer outlives the context of Open
	go s.watchShared(run, probe) //nolint:contextcheck // the watch outlives the context of Open
	return s, nil
}

func openPool(c postgres.Config, conns int) (*sql.DB, error) {
	k, err := postgres.NewConnector(c)
	if err != nil {
		return nil, fmt.Errorf("store: %w", err)
	}
	db := sql.OpenDB(k)
	db.SetMaxOpenConns(conns)
	return db, nil
}

func (s *Store) closePools() error {
	var errs []error
	if s.conn != nil {
		errs = append(errs, s.conn.Close())
	}
	for _, db := range []*sql.DB{s.w, s.r, s.shared.probing} {
		if db != nil {
			errs = append(errs, db.Close())
		}
	}
	return errors.Join(errs...)
}

func (s *Store) closeShared() error {
	close(s.stop)
	<-s.done
	s.shared.cancel()
	<-s.shared.done
	if s.conn != nil {
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		// ignore the error: the row is removed after a week
		_ = s.onWriter(func(c *postgres.Conn) error { return c.Unregister(ctx, s.shared.writer) })
	}
	_ = s.closePools() // ignore the errors of lost connections: everything that was reported as saved is saved
	return nil
}

// onWriter runs fn on the connection of the writer.
func (s *Store) onWriter(fn func(*postgres.Conn) error) error {
	return s.conn.Raw(func(c any) error { return fn(c.(*postgres.Conn)) })
}

// maxClockOffset is the largest difference of the clocks with which Hob works. Times in the tables
// come from the clocks of the instances.
const maxClockOffset = 2 * time.Minute

// compareClocks stores the difference of the clocks.
func (p *shared) compareClocks(ctx context.Context, skip bool) error {
	offset, err := p.askClock(ctx)
	if err != nil {
		return classifyError(err)
	}
	if offset.Abs() > maxClockOffset && !skip {
		return fmt.Errorf("%s, and restart Hob", clockError{offset}.Error())
	}
	return nil
}

func (p *shared) askClock(ctx context.Context) (offset time.Duration, err error) {
	ctx, cancel := context.WithTimeout(ctx, p.lease)
	defer cancel()
	c, err := p.probing.Conn(ctx)
	if err != nil {
		return 0, awayIfLate(ctx, err)
	}
	defer func() { _ = c.Close() }()
	start := time.Now()
	err = c.Raw(func(k any) error {
		start = time.Now()
		ms, err := k.(*postgres.Conn).ServerTime(ctx)
		offset = time.UnixMilli(ms).Sub(start.Add(time.Since(start) / 2))
		return err
	})
	if err == nil {
		p.clock.Store(&clockReading{offset, start})
	}
	return offset, awayIfLate(ctx, err)
}

// awayIfLate turns an expired deadline into ErrAway.
func awayIfLate(ctx context.Context, err error) error {
	if err != nil && errors.Is(ctx.Err(), context.DeadlineExceeded) {
		return fmt.Errorf("%w: no answer in time", ErrAway)
	}
	return classifyError(err)
}

// watchShared watches the server and the other instances until ctx ends.
func (s *Store) watchShared(ctx context.Context, c postgres.Config) {
	defer close(s.shared.done)
	var wg sync.WaitGroup
	if s.shared.heard != nil {
		wg.Go(func() { s.shared.listenCommits(ctx, c) })
	}
	s.watchServer(ctx)
	wg.Wait()
}

// watchServer asks the server for its clock, so that Away is right even if the database is not in use.
func (s *Store) watchServer(ctx context.Context) {
	p := s.shared
	for {
		pause := p.lease / 3
		if p.heard == nil {
			pause = 30 * 24 * time.Hour // the time may be virtual, and years may pass
		}
		if s.Away() != nil {
			pause = min(pause, time.Second)
		}
		if retry.Sleep(ctx, pause) != nil {
			return
		}
		switch _, err := p.askClock(ctx); {
		case err == nil:
			p.away.Store(nil)
		case ctx.Err() == nil:
			if !errors.Is(err, ErrAway) {
				err = fmt.Errorf("%w: %w", ErrAway, err)
			}
			p.noteError(err)
		}
	}
}

// foreignChanges are the tables that other processes changed.
type foreignChanges struct {
	mu     sync.Mutex
	any    bool // any table may have changed
	tables map[string]bool
}

// addTables adds tables; nil means that any table may have changed.
func (f *foreignChanges) addTables(tables []string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.any = f.any || tables == nil
	if f.tables == nil {
		f.tables = map[string]bool{}
	}
	for _, t := range tables {
		f.tables[t] = true
	}
}

// TakeForeignChanges returns the tables that other processes have changed since the last call, or nil if any
// table may have changed.
func (s *Store) TakeForeignChanges() map[string]bool {
	f := &s.shared.foreign
	f.mu.Lock()
	defer f.mu.Unlock()
	tables := f.tables
	if f.any {
		tables = nil
	}
	f.any, f.tables = false, map[string]bool{}
	return tables
}

// ForeignCommits returns a channel that is signaled when another process has changed something, see
// TakeForeignChanges. A signal may be missing after an outage. It is nil if the database is a file, or with
// Options.SkipCheck.
func (s *Store) ForeignCommits() <-chan struct{} {
	if s.shared == nil {
		return nil
	}
	return s.shared.heard
}

// listenCommits signals the commits of other processes until ctx ends.
func (p *shared) listenCommits(ctx context.Context, c postgres.Config) {
	for ctx.Err() == nil {
		_ = postgres.Listen(ctx, c, p.writer, func(tables []string) { // ignore the error: watchServer reports that the database is away
			p.foreign.addTables(tables)
			select {
			case p.heard <- struct{}{}:
			default:
			}
		})
		_ = retry.Sleep(ctx, time.Second) // ends with ctx
	}
}

// beginShared begins the transaction of a group commit. It returns the number of rows that the statement
// fence changed.
func (s *Store) beginShared(ctx context.Context, fence string) (fenced int64, err error) {
	p := s.shared
	if err := s.Away(); err != nil {
		return 0, err
	}
	old := s.conn != nil
	fenced, err = s.tryBegin(ctx, fence)
	if old && errors.Is(err, ErrAway) { // the server may have closed the connection long ago
		fenced, err = s.tryBegin(ctx, fence)
	}
	p.noteError(err)
	return fenced, err
}

func (s *Store) tryBegin(ctx context.Context, fence string) (fenced int64, err error) {
	p := s.shared
	if s.conn == nil {
		limited, cancel := context.WithTimeout(ctx, p.lease)
		defer cancel()
		c, err := s.w.Conn(limited)
		if err != nil {
			return 0, awayIfLate(limited, err)
		}
		s.conn = c
	}
	p.token, p.set = rand.Text(), true
	have := int64(0)
	err = s.onWriter(func(c *postgres.Conn) (err error) {
		have, fenced, err = c.BeginWrite(ctx, p.writer, p.token, fence)
		return err
	})
	if err == nil && have > p.known {
		err = fmt.Errorf("%w (another instance has updated the tables)", ErrNewerSchema)
	}
	if err != nil {
		err = classifyError(err)
		s.dropConn()
	}
	return fenced, err
}

// setSavepoint sets the savepoint of a job, unless it is set already.
func (s *Store) setSavepoint() error {
	if s.shared.set {
		return nil
	}
	s.shared.set = true
	return s.onWriter(func(c *postgres.Conn) error {
		c.NextSavepoint()
		return nil
	})
}

// errIgnored is the error of a closure that ignored the error of a statement, which ends the transaction in
// PostgreSQL.
var errIgnored = errors.New("a statement of the transaction failed")

// endSavepoint implements endJob. It asks the server only if the job failed or if statements of the job have not
// been sent yet; the next job or the commit keeps what a job has done.
func (s *Store) endSavepoint(ctx context.Context, j *writeJob, err error) (failed, lost error) {
	lost = s.onWriter(func(c *postgres.Conn) error {
		if err == nil && j.panic == nil {
			err = classifyError(c.SendDeferred(ctx))
		}
		if outage := c.TakeOutage(); outage != nil && !errors.Is(err, ErrAway) {
			err = outage // the error of the closure is a consequence, such as "not found"
		}
		aborted, lost := c.Aborted()
		if aborted && err == nil {
			err = cmp.Or(j.tx.failed, errIgnored)
		}
		if s.shared.set = lost == nil && (err != nil || j.panic != nil); s.shared.set {
			return c.RollbackSavepoint(ctx)
		}
		return lost
	})
	return err, lost
}

// dropConn closes the connection of the writer. The next transaction opens another one.
func (s *Store) dropConn() {
	// a connection with an open transaction must not return to the pool
	_ = s.conn.Raw(func(any) error { return driver.ErrBadConn })
	_ = s.conn.Close()
	s.conn = nil
}

// endShared drops the connection of a transaction that was lost with it. The next transaction finds out
// whether the server can be reached.
func (s *Store) endShared(err error) {
	if errors.Is(err, ErrAway) {
		s.dropConn()
	}
}
