package store

import (
	"cmp"
	"context"
	"database/sql"
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
	lost  error // SQLite rolled the transaction back by itself
}

// Exec runs a statement.
func (t *Tx) Exec(query string, args ...any) (sql.Result, error) {
	if t.lost != nil { // it would be a transaction of its own
		return nil, t.lost
	}
	r, err := t.conn.ExecContext(t.ctx, query, args...)
	return r, t.look(err)
}

// Query runs a query; the caller closes the rows before the closure returns.
func (t *Tx) Query(query string, args ...any) (*sql.Rows, error) {
	if t.lost != nil {
		return nil, t.lost
	}
	r, err := t.conn.QueryContext(t.ctx, query, args...)
	return r, t.look(err)
}

func (t *Tx) look(err error) error {
	if err == nil {
		return nil
	}
	err = classify(err)
	if undone(err) {
		t.lost = err
	}
	return err
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
	alone func(context.Context) error // in place of fn, outside of any transaction
}

// Write runs fn in a transaction and returns after its durable commit, or with
// fn's error after a rollback. ctx is looked at before fn starts, not after. fn
// must not call Write, and must not wait for anything but the database.
func (s *Store) Write(ctx context.Context, fn func(*Tx) error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	j := &job{ctx: ctx, fn: fn, done: make(chan struct{})}
	return s.wait(ctx, j)
}

// wait hands a job to the writer and returns when it has ended.
func (s *Store) wait(ctx context.Context, j *job) error {
	select {
	case <-s.stop:
		return ErrClosed
	case <-ctx.Done(): // the queue is full
		return ctx.Err()
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
	return s.met(j.err)
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
	if first.alone != nil {
		err := first.alone(first.ctx)
		s.commits.Add(1)
		first.finish(err)
		return
	}
	if _, err := s.conn.ExecContext(ctx, "BEGIN IMMEDIATE"); err != nil {
		first.finish(fmt.Errorf("store: begin: %w", classify(err)))
		return
	}
	jobs := make([]*job, 0, 8)
	tried := 0
	var later *job
	defer func() {
		if later != nil {
			s.group(later)
		}
	}()
	for j := first; j != nil; j = s.next(tried) {
		if j.alone != nil { // after the commit
			later = j
			break
		}
		tried++
		ok, lost := s.run(ctx, j)
		if lost != nil { // what the others did is gone as well
			_, _ = s.conn.ExecContext(ctx, "ROLLBACK") // there may be none any more
			for _, j := range jobs {
				j.finish(fmt.Errorf("store: %w", lost))
			}
			return
		}
		if ok {
			jobs = append(jobs, j)
		}
	}
	if len(jobs) == 0 {
		_, _ = s.conn.ExecContext(ctx, "ROLLBACK")
		return
	}
	failpoint.Hit("store.commit.before")
	_, err := s.conn.ExecContext(ctx, "COMMIT")
	s.commits.Add(1) // before anybody is told
	if err != nil {
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

// run executes one job in a savepoint; ok is false when it failed and is
// finished. lost says that the whole transaction went with it.
func (s *Store) run(ctx context.Context, j *job) (ok bool, lost error) {
	if err := j.ctx.Err(); err != nil {
		j.finish(err)
		return false, nil
	}
	if _, err := s.conn.ExecContext(ctx, "SAVEPOINT j"); err != nil {
		err = classify(err)
		j.finish(fmt.Errorf("store: %w", err))
		return false, err
	}
	j.tx = Tx{conn: s.conn, ctx: ctx}
	err := j.call()
	err = classify(cmp.Or(err, j.tx.lost)) // also when the closure swallowed it
	end := "RELEASE j"
	if err != nil || j.panic != nil {
		end = "ROLLBACK TO j; RELEASE j"
	}
	// A savepoint that is not there any more betrays what Tx could not see.
	if _, serr := s.conn.ExecContext(ctx, end); serr != nil {
		lost = cmp.Or(j.tx.lost, err, classify(serr))
		if err == nil {
			err = fmt.Errorf("store: %w", lost)
		}
	}
	if err != nil || j.panic != nil {
		j.finish(err)
		return false, lost
	}
	return true, nil
}

func (j *job) call() (err error) {
	defer func() { j.panic = recover() }()
	return j.fn(&j.tx)
}

func (j *job) finish(err error) {
	j.err = err
	close(j.done)
}
