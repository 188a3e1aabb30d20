package store

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"hob/platform/failpoint"
	"hob/platform/retry"
	"hob/platform/store/postgres"
)

// maxGroup is the maximum number of closures per commit.
const maxGroup = 64

// Tx is a write transaction, which is a savepoint of a group commit. It is valid only inside the
// closure passed to Write. A canceled context never interrupts its statements.
type Tx struct {
	conn   *sql.Conn
	ctx    context.Context
	after  []func()
	lost   error // the database rolled back the transaction
	failed error // the first error of a statement
}

// Exec runs a statement.
func (t *Tx) Exec(query string, args ...any) (sql.Result, error) {
	if t.lost != nil { // the statement would run in a new transaction
		return nil, t.lost
	}
	r, err := t.conn.ExecContext(t.ctx, query, args...)
	return r, t.classifyTxError(err)
}

// Query runs a query. The caller closes the rows before the closure returns.
func (t *Tx) Query(query string, args ...any) (*sql.Rows, error) {
	if t.lost != nil {
		return nil, t.lost
	}
	r, err := t.conn.QueryContext(t.ctx, query, args...)
	return r, t.classifyTxError(err)
}

func (t *Tx) classifyTxError(err error) error {
	if err == nil {
		return nil
	}
	err = classifyError(err)
	t.failed = cmp.Or(t.failed, err)
	if mayBeRolledBack(err) {
		t.lost = err
	}
	return err
}

// QueryRow runs a query for one row.
func (t *Tx) QueryRow(query string, args ...any) *sql.Row {
	return t.conn.QueryRowContext(t.ctx, query, args...)
}

// AfterCommit registers f, which runs on the writer's goroutine after the durable commit. f must
// return quickly and must not call Write.
func (t *Tx) AfterCommit(f func()) { t.after = append(t.after, f) }

type writeJob struct {
	ctx   context.Context
	fn    func(*Tx) error
	tx    Tx
	err   error
	panic any
	done  chan struct{}
	alone func(context.Context) error // if set, runs instead of fn and outside any transaction
	// unfenced reports that the job runs although the fence rejects this process.
	unfenced bool
}

// Write runs fn in a transaction. It returns nil after the durable commit, or the error of fn after
// a rollback. Write checks ctx only before fn starts. fn must not call Write and must not wait for
// anything except the database.
func (s *Store) Write(ctx context.Context, fn func(*Tx) error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if s.fence != nil {
		if err := s.fence.Check(); err != nil {
			return err
		}
	}
	j := &writeJob{ctx: ctx, fn: fn, done: make(chan struct{})}
	return s.awaitJob(ctx, j)
}

// Fence rejects the writes of a process that shares the database and has lost its lease.
type Fence struct {
	// Check is called first by Write, which returns its error at once.
	Check func() error
	// Statement returns the statement with which each group commit begins, or an error for all closures
	// of the group. It has no parameters and changes one row.
	Statement func() (string, error)
	// Rejected returns the error for all closures of a group whose statement changed no row. They change
	// nothing.
	Rejected func() error
}

// SetFence sets the fence. Call it before the first concurrent write.
func (s *Store) SetFence(f *Fence) { s.fence = f }

// WriteUnfenced runs fn as Write does, but ignores the fence. It is meant only for the tables that
// decide about the fence.
func (s *Store) WriteUnfenced(ctx context.Context, fn func(*Tx) error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	return s.awaitJob(ctx, &writeJob{ctx: ctx, fn: fn, done: make(chan struct{}), unfenced: true})
}

// awaitJob passes a job to the writer and waits until it is finished.
func (s *Store) awaitJob(ctx context.Context, j *writeJob) error {
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
	return s.markIfDamaged(j.err)
}

func (s *Store) runWriter() {
	defer close(s.done)
	for {
		select {
		case j := <-s.queue:
			s.commitGroup(j)
		case <-s.stop:
			for {
				select {
				case j := <-s.queue:
					s.commitGroup(j)
				default:
					return
				}
			}
		}
	}
}

// commitGroup runs the first job and all queued jobs of its kind in one commit.
func (s *Store) commitGroup(first *writeJob) {
	ctx := context.Background()
	if first.alone != nil {
		err := first.alone(first.ctx)
		s.commits.Add(1)
		first.finishJob(err)
		return
	}
	fenced, err := s.beginGroup(ctx, first)
	if err != nil {
		first.finishJob(fmt.Errorf("store: begin transaction: %w", classifyError(err)))
		return
	}
	jobs := make([]*writeJob, 0, 8)
	tried := 0
	var later *writeJob
	defer func() {
		if later != nil {
			s.commitGroup(later)
		}
	}()
	for j := first; j != nil; j = s.nextJob(tried) {
		if j.alone != nil { // the job runs after the commit
			later = j
			break
		}
		if tried > 0 && j.unfenced != first.unfenced {
			later = j
			break
		}
		tried++
		if fenced != nil {
			j.finishJob(fenced)
			continue
		}
		ok, lost := s.runJob(ctx, j)
		if lost != nil { // the writes of the other jobs were rolled back as well
			s.rollbackGroup(ctx, lost)
			for _, j := range jobs {
				j.finishJob(fmt.Errorf("store: write: %w", lost))
			}
			return
		}
		if ok {
			jobs = append(jobs, j)
		}
	}
	if len(jobs) == 0 {
		s.rollbackGroup(ctx, nil)
		return
	}
	failpoint.Hit("store.commit.before")
	err = s.endGroup(ctx)
	s.commits.Add(1) // count the commit before the callers of Write return
	if err != nil {
		for _, j := range jobs {
			j.finishJob(fmt.Errorf("store: commit transaction: %w", classifyError(err)))
		}
		return
	}
	failpoint.Hit("store.commit.after")
	for _, j := range jobs {
		for _, f := range j.tx.after {
			f()
		}
		j.finishJob(nil)
	}
}

// beginGroup begins the transaction of a group commit. fenced is the error of the fence, which first
// may ignore.
func (s *Store) beginGroup(ctx context.Context, first *writeJob) (fenced, err error) {
	fence := ""
	if s.fence != nil && !first.unfenced {
		fence, fenced = s.fence.Statement()
	}
	changed := int64(0)
	if s.shared != nil {
		changed, err = s.beginShared(ctx, fence)
	} else if _, err = s.conn.ExecContext(ctx, "BEGIN IMMEDIATE"); err == nil && fence != "" {
		var res sql.Result
		if res, fenced = s.conn.ExecContext(ctx, fence); fenced == nil {
			changed, fenced = res.RowsAffected()
		}
	}
	if err == nil && fenced == nil && fence != "" && changed != 1 {
		fenced = s.fence.Rejected()
	}
	return fenced, err
}

// rollbackGroup ends the transaction without changes. lost is the error if it was lost already.
func (s *Store) rollbackGroup(ctx context.Context, lost error) {
	if s.shared == nil {
		_, _ = s.conn.ExecContext(ctx, "ROLLBACK") // ignore the error, because no transaction may be open
		return
	}
	err := s.onWriter(func(c *postgres.Conn) error { return c.RollbackWrite(ctx) })
	s.endShared(classifyError(cmp.Or(lost, err)))
}

// endGroup commits the transaction. After an error it is rolled back.
func (s *Store) endGroup(ctx context.Context) error {
	if err := s.CheckClock(); err != nil { // the closures may have read the wrong time
		s.rollbackGroup(ctx, nil)
		return err
	}
	var err error
	if s.shared == nil {
		_, err = s.conn.ExecContext(ctx, "COMMIT")
	} else {
		err = s.onWriter(func(c *postgres.Conn) error { return c.CommitWrite(ctx, s.shared.writer) })
	}
	switch err = classifyError(err); {
	case err == nil:
		return nil
	case s.shared != nil && errors.Is(err, ErrAway):
		return s.resolveCommit(ctx, err)
	}
	s.rollbackGroup(ctx, nil)
	return err
}

func (s *Store) nextJob(n int) *writeJob {
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

// runJob executes one job in a savepoint. ok is false if the job failed and is finished. lost is set
// if SQLite rolled back the whole transaction.
func (s *Store) runJob(ctx context.Context, j *writeJob) (ok bool, lost error) {
	if err := j.ctx.Err(); err != nil {
		j.finishJob(err)
		return false, nil
	}
	if err := s.beginJob(ctx); err != nil {
		err = classifyError(err)
		j.finishJob(fmt.Errorf("store: write: %w", err))
		return false, err
	}
	j.tx = Tx{conn: s.conn, ctx: ctx}
	err := j.callFunc()
	err = classifyError(cmp.Or(err, j.tx.lost)) // the lost transaction counts even if the closure ignored its error
	err, serr := s.endJob(ctx, j, err)
	if serr != nil {
		lost = cmp.Or(j.tx.lost, err, classifyError(serr))
		if err == nil {
			err = fmt.Errorf("store: write: %w", lost)
		}
	}
	if err != nil || j.panic != nil {
		j.finishJob(err)
		return false, lost
	}
	return true, nil
}

// beginJob sets the savepoint of a job.
func (s *Store) beginJob(ctx context.Context) error {
	if s.shared != nil {
		return s.setSavepoint()
	}
	_, err := s.conn.ExecContext(ctx, "SAVEPOINT j")
	return err
}

// endJob ends the savepoint of a job and returns the error of the job. The second error means that the
// transaction was lost.
func (s *Store) endJob(ctx context.Context, j *writeJob, err error) (failed, lost error) {
	if s.shared != nil {
		return s.endSavepoint(ctx, j, err)
	}
	end := "RELEASE j"
	if err != nil || j.panic != nil {
		end = "ROLLBACK TO j; RELEASE j"
	}
	// a missing savepoint reveals a rollback that Tx did not detect
	_, lost = s.conn.ExecContext(ctx, end)
	return err, lost
}

func (j *writeJob) callFunc() (err error) {
	defer func() { j.panic = recover() }()
	return j.fn(&j.tx)
}

func (j *writeJob) finishJob(err error) {
	j.err = err
	close(j.done)
}

// resolveCommit returns the outcome of a commit whose connection was lost.
func (s *Store) resolveCommit(ctx context.Context, err error) error {
	p := s.shared
	s.dropConn()
	ctx, cancel := context.WithTimeout(ctx, 2*p.lease+time.Second)
	defer cancel()
	for {
		c, cerr := s.w.Conn(ctx)
		if cerr == nil {
			committed := false
			if cerr = c.Raw(func(k any) (err error) {
				committed, err = k.(*postgres.Conn).Committed(ctx, p.writer, p.token)
				return err
			}); cerr == nil {
				s.conn = c
				if committed {
					return nil
				}
				return err
			}
			_ = c.Close()
		}
		if retry.Sleep(ctx, 200*time.Millisecond) != nil {
			return fmt.Errorf("%w (%w)", ErrUnknown, err)
		}
	}
}
