package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"hob/platform/failpoint"
)

// maxGroup bounds how many closures share one commit.
const maxGroup = 64

// Tx is one write transaction (a savepoint of a group commit). It is valid
// only inside the closure given to Write and must not be kept. Its statements
// are never interrupted half-way by a cancelled context.
type Tx struct {
	conn  *sql.Conn
	ctx   context.Context
	after []func()
}

// Exec runs a statement.
func (t *Tx) Exec(query string, args ...any) (sql.Result, error) {
	r, err := t.conn.ExecContext(t.ctx, query, args...)
	return r, classify(err)
}

// Query runs a query; the caller closes the rows before the closure returns.
func (t *Tx) Query(query string, args ...any) (*sql.Rows, error) {
	r, err := t.conn.QueryContext(t.ctx, query, args...)
	return r, classify(err)
}

// QueryRow runs a query for one row.
func (t *Tx) QueryRow(query string, args ...any) *sql.Row {
	return t.conn.QueryRowContext(t.ctx, query, args...)
}

// AfterCommit registers f to run once the transaction is durable, on the
// writer's goroutine: it must be quick and must not call Write.
func (t *Tx) AfterCommit(f func()) { t.after = append(t.after, f) }

type job struct {
	ctx   context.Context
	fn    func(*Tx) error
	tx    Tx
	err   error
	panic any
	done  chan struct{}
}

// Write runs fn in a transaction and returns after its durable commit, or with
// fn's error after a rollback. ctx is looked at before fn starts, not after. fn
// must not call Write, and must not wait for anything but the database.
func (s *Store) Write(ctx context.Context, fn func(*Tx) error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	j := &job{ctx: ctx, fn: fn, done: make(chan struct{})}
	select {
	case <-s.stop:
		return ErrClosed
	case s.queue <- j:
	}
	select {
	case <-j.done:
	case <-s.done:
		select {
		case <-j.done:
		default:
			return ErrClosed
		}
	}
	if j.panic != nil {
		panic(j.panic)
	}
	return j.err
}

func (s *Store) write() {
	defer close(s.done)
	for {
		select {
		case j := <-s.queue:
			s.group(j)
		case <-s.stop:
			for {
				select {
				case j := <-s.queue:
					s.group(j)
				default:
					return
				}
			}
		}
	}
}

// group runs the first job and whatever else is queued in one commit.
func (s *Store) group(first *job) {
	ctx := context.Background()
	if _, err := s.conn.ExecContext(ctx, "BEGIN IMMEDIATE"); err != nil {
		first.finish(fmt.Errorf("store: begin: %w", classify(err)))
		return
	}
	jobs := make([]*job, 0, 8)
	for j := first; j != nil; j = s.next(len(jobs)) {
		if s.run(ctx, j) {
			jobs = append(jobs, j)
		}
	}
	if len(jobs) == 0 {
		_, _ = s.conn.ExecContext(ctx, "ROLLBACK")
		return
	}
	failpoint.Hit("store.commit.before")
	if _, err := s.conn.ExecContext(ctx, "COMMIT"); err != nil {
		_, _ = s.conn.ExecContext(ctx, "ROLLBACK")
		for _, j := range jobs {
			j.finish(fmt.Errorf("store: commit: %w", classify(err)))
		}
		return
	}
	failpoint.Hit("store.commit.after")
	for _, j := range jobs {
		for _, f := range j.tx.after {
			f()
		}
		j.finish(nil)
	}
}

func (s *Store) next(n int) *job {
	if n >= maxGroup {
		return nil
	}
	select {
	case j := <-s.queue:
		return j
	default:
		return nil
	}
}

// run executes one job in a savepoint; false means it is finished (failed).
func (s *Store) run(ctx context.Context, j *job) bool {
	if err := j.ctx.Err(); err != nil {
		j.finish(err)
		return false
	}
	if _, err := s.conn.ExecContext(ctx, "SAVEPOINT j"); err != nil {
		j.finish(fmt.Errorf("store: %w", classify(err)))
		return false
	}
	j.tx = Tx{conn: s.conn, ctx: ctx}
	err := j.call()
	if err != nil || j.panic != nil {
		_, rerr := s.conn.ExecContext(ctx, "ROLLBACK TO j")
		_, rerr2 := s.conn.ExecContext(ctx, "RELEASE j")
		j.finish(errors.Join(err, classify(rerr), classify(rerr2)))
		return false
	}
	if _, err := s.conn.ExecContext(ctx, "RELEASE j"); err != nil {
		j.finish(fmt.Errorf("store: %w", classify(err)))
		return false
	}
	return true
}

func (j *job) call() (err error) {
	defer func() { j.panic = recover() }()
	return j.fn(&j.tx)
}

func (j *job) finish(err error) {
	j.err = err
	close(j.done)
}
