package postgres

import (
	"bytes"
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5/pgconn"
)

// Limits of the statements that wait for the next answer of the server.
const (
	maxDeferred      = 64
	maxDeferredBytes = 1 << 20
)

// call is one execution of a prepared statement. As a driver.Result, it is the number of changed rows.
//
// Each answer of the server takes a round trip during which no other instance can write. So a statement of a write
// transaction that returns no rows is deferred: it goes to the server with the next statement whose result is
// needed, at the latest at the end of the closure. Its error is the error of that statement. This changes nothing
// for a caller, because after any error PostgreSQL ignores the rest of the transaction.
type call struct {
	c       *Conn
	p       *prepared
	query   string
	values  [][]byte
	formats []int16

	done    bool
	changed int64
	err     error
}

var errDiscarded = errors.New("postgres: the transaction ended before the statement ran")

// RowsAffected implements driver.Result.
func (k *call) RowsAffected() (int64, error) {
	if !k.done {
		if err := k.c.SendDeferred(context.Background()); err != nil {
			return 0, err
		}
	}
	return k.changed, k.err
}

// LastInsertId implements driver.Result.
func (*call) LastInsertId() (int64, error) { return result(0).LastInsertId() }

// deferCall keeps a statement until the next answer of the server is needed.
func (c *Conn) deferCall(ctx context.Context, k *call) error {
	for i, v := range k.values { // the caller may change what it passed
		k.values[i] = bytes.Clone(v)
		c.deferredBytes += len(v)
	}
	c.deferred = append(c.deferred, k)
	if len(c.deferred) < maxDeferred && c.deferredBytes < maxDeferredBytes {
		return nil
	}
	return c.SendDeferred(ctx)
}

// SendDeferred runs the deferred statements.
func (c *Conn) SendDeferred(ctx context.Context) error {
	if len(c.deferred) == 0 && !c.savepointDue {
		return nil
	}
	_, err := c.sendCalls(ctx, nil)
	return err
}

// discardDeferred drops the deferred statements of a closure that failed.
func (c *Conn) discardDeferred() {
	for _, k := range c.deferred {
		k.done, k.err = true, errDiscarded
	}
	c.deferred, c.deferredBytes = nil, 0
}

// sendCalls runs the deferred statements and then the last one, if there is one, in one round trip. It returns the
// result of the last one.
func (c *Conn) sendCalls(ctx context.Context, last *call) (*pgconn.Result, error) {
	if c.dead {
		return nil, fmt.Errorf("%w: the transaction was lost", ErrAway)
	}
	calls := c.deferred
	if last != nil {
		calls = append(calls, last)
	}
	batch, before := &pgconn.Batch{}, 0
	if c.savepointDue {
		batch.ExecParams("RELEASE j", nil, nil, nil, nil)
		batch.ExecParams("SAVEPOINT j", nil, nil, nil, nil)
		before = 2
	}
	for _, k := range calls {
		batch.ExecPrepared(k.p.name, k.values, k.formats, k.p.formats)
	}
	c.deferred, c.deferredBytes, c.savepointDue = nil, 0, false
	limited, cancel := c.limitAnswer(ctx)
	defer cancel()
	results, err := c.pg.ExecBatch(limited, batch).ReadAll()
	for i, k := range calls {
		n := before + i
		if k.done = true; n < len(results) && results[n].Err == nil {
			k.changed = results[n].CommandTag.RowsAffected()
		} else if err != nil { // the first statement without a result is the one that failed
			err = c.classifyStatement(ctx, err, k.query)
			return nil, failCalls(calls[i:], err)
		}
	}
	if err != nil || last == nil {
		return nil, c.classifyError(ctx, err)
	}
	return results[len(results)-1], nil
}

// failCalls sets the error of statements and returns it.
func failCalls(calls []*call, err error) error {
	for _, k := range calls {
		k.done, k.err = true, err
	}
	return err
}
