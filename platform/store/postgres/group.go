package postgres

import (
	"context"
	_ "embed"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"
)

//go:embed functions.sql
var functions string

//go:embed texts.sql
var textFunctions string

// Migrations returns the migrations that define what the translated statements use, in the dialect of PostgreSQL.
func Migrations() []string { return []string{functions, textFunctions} }

// lockWriters waits until no other instance writes. The server releases the lock at the end of the
// transaction, or with a connection that it gave up.
//
// Sessions on different instances cannot commit in parallel, because each step and end of a turn needs an order
// across all sessions:
//   - The counters of numbered tables (inbox, outbox, messages, docs): the index of each instance and others read on
//     from the last number that they have seen, so a smaller number must not be committed later. A row of
//     sqlite_sequence stays locked until the commit.
//   - The audit log: each line contains the hash of the line before.
//   - NOTIFY: PostgreSQL itself serializes the commits of transactions that notify.
//   - What transactions read before they change other rows, as they may with the one writer of SQLite.
//
// Without this lock, they wait for each other at these places in any order: three instances had a deadlock with
// every tenth message, which the server ends after 1 s, and were 3 to 6 times slower (docs/reports/fleet.txt). A
// claim is one statement, so FOR UPDATE SKIP LOCKED would add nothing. Instead, the lock is held for few round
// trips, see call.
const lockWriters = "SELECT pg_advisory_xact_lock(hashtext('hob'), hashtext(current_schema()))"

// notifications is the channel on which the writers of the database notify each other.
const notifications = "hob_commits"

// BeginWrite begins a transaction that changes rows, after those of all other instances, with the
// savepoint j in it. All that takes one round trip to the server. token marks the commit, see Committed.
// BeginWrite returns the number of migrations that the database has, and the number of rows that the statement
// fence changes, which may be empty.
func (c *Conn) BeginWrite(ctx context.Context, writer, token, fence string) (migrations, fenced int64, err error) {
	begin := fmt.Sprintf("BEGIN; %s; UPDATE store_writers SET token = '%s', at = extract(epoch FROM now()) * 1000 WHERE writer = '%s'; "+
		"SELECT count(*) FROM migrations; ", lockWriters, token, writer)
	c.changed, c.writing = map[string]bool{}, true
	c.discardDeferred()
	c.savepointDue, c.outage = false, nil
	if fence != "" {
		begin += fence + "; "
	}
	limited, cancel := c.limitAnswer(ctx)
	defer cancel()
	rs, err := c.pg.Exec(limited, begin+"SAVEPOINT j").ReadAll()
	if err != nil {
		return 0, 0, c.classifyError(ctx, err)
	}
	migrations, err = strconv.ParseInt(string(rs[3].Rows[0][0]), 10, 64)
	return migrations, rs[len(rs)-2].CommandTag.RowsAffected(), err
}

// CommitWrite ends the transaction of BeginWrite and notifies the others of the changed tables, see Listen.
func (c *Conn) CommitWrite(ctx context.Context, writer string) error {
	c.writing, c.savepointDue = false, false
	if len(c.changed) == 0 {
		return c.RunScript(ctx, "COMMIT")
	}
	tables := slices.Sorted(maps.Keys(c.changed))
	return c.RunScript(ctx, fmt.Sprintf("SELECT pg_notify('%s', '%s %s'); COMMIT", notifications, writer, strings.Join(tables, " ")))
}

// RollbackWrite ends the transaction of BeginWrite without changes.
func (c *Conn) RollbackWrite(ctx context.Context) error {
	c.discardDeferred()
	c.writing, c.savepointDue = false, false
	return c.RunScript(ctx, "ROLLBACK")
}

// NextSavepoint keeps the changes since the savepoint j and sets it again, together with the next statement.
func (c *Conn) NextSavepoint() { c.savepointDue = true }

// RollbackSavepoint drops the changes since the savepoint j.
func (c *Conn) RollbackSavepoint(ctx context.Context) error {
	c.discardDeferred()
	if c.savepointDue { // there are none, and the savepoint of the server is an older one
		return nil
	}
	return c.RunScript(ctx, "ROLLBACK TO j")
}

// TakeOutage returns the error of a statement that the server could not run since the last call, or nil. A caller
// that ignored the error, for example of RowsAffected, took no row for an answer.
func (c *Conn) TakeOutage() error {
	err := c.outage
	c.outage = nil
	return err
}

// Aborted reports whether a statement of the transaction failed, without asking the server. It returns an
// error if the transaction is lost.
func (c *Conn) Aborted() (bool, error) {
	if c.dead || c.pg.IsClosed() || c.pg.TxStatus() == 'I' {
		return false, fmt.Errorf("%w: the transaction was lost", ErrAway)
	}
	return c.pg.TxStatus() == 'E', nil
}

// Listen calls heard with the changed tables when another writer has committed something, until ctx ends or the
// connection is lost. It calls heard with nil when it begins to listen, because anything may have been committed
// before.
func Listen(ctx context.Context, cfg Config, writer string, heard func(tables []string)) error {
	k, err := NewConnector(cfg)
	if err != nil {
		return err
	}
	k.(*connector).pc.OnNotification = func(_ *pgconn.PgConn, n *pgconn.Notification) {
		if w, tables, _ := strings.Cut(n.Payload, " "); w != writer {
			heard(strings.Fields(tables))
		}
	}
	dc, err := k.Connect(ctx)
	if err != nil {
		return err
	}
	c := dc.(*Conn)
	defer func() { _ = c.Close() }() //nolint:contextcheck // ctx may have ended
	if err := c.RunScript(ctx, "LISTEN "+notifications); err != nil {
		return err
	}
	heard(nil)
	for {
		limited, cancel := context.WithTimeout(ctx, cfg.Answer)
		err := c.pg.WaitForNotification(limited)
		late := limited.Err() != nil
		cancel()
		if err != nil && late && ctx.Err() == nil && !c.pg.IsClosed() { // nothing was committed; check the connection
			err = c.Ping(ctx)
		}
		if err != nil {
			return c.classifyError(ctx, err)
		}
	}
}

// BeginMigration begins a transaction as BeginWrite does, in a database that may have no tables yet.
func (c *Conn) BeginMigration(ctx context.Context) error {
	c.migrating = true
	return c.RunScript(ctx, "BEGIN; SET LOCAL statement_timeout = 0; SET LOCAL idle_in_transaction_session_timeout = 0; SET LOCAL lock_timeout = 0; "+lockWriters)
}

// EndMigration ends the transaction of BeginMigration.
func (c *Conn) EndMigration(ctx context.Context, commit bool) error {
	end := "ROLLBACK"
	if commit {
		end = "COMMIT"
	}
	err := c.RunScript(ctx, end)
	c.migrating = false
	return err
}

// Register makes the writer known. It forgets writers that have not written for a week.
func (c *Conn) Register(ctx context.Context, writer string) error {
	return c.RunScript(ctx, fmt.Sprintf("DELETE FROM store_writers WHERE at < extract(epoch FROM now()) * 1000 - 7 * 86400000; "+
		"INSERT INTO store_writers (writer, token, at) VALUES ('%s', '', extract(epoch FROM now()) * 1000) ON CONFLICT DO NOTHING", writer))
}

// Unregister forgets the writer.
func (c *Conn) Unregister(ctx context.Context, writer string) error {
	return c.RunScript(ctx, fmt.Sprintf("DELETE FROM store_writers WHERE writer = '%s'", writer))
}

// Committed reports whether the transaction with the token was committed, after its connection was
// lost. It waits for the end of that transaction, which holds the lock of the writers.
func (c *Conn) Committed(ctx context.Context, writer, token string) (bool, error) {
	last, err := c.readScript(ctx, fmt.Sprintf("BEGIN; %s; SELECT coalesce(max(token), '') FROM store_writers WHERE writer = '%s'; ROLLBACK", lockWriters, writer))
	return last == token, err
}

// ServerTime returns the clock of the server in milliseconds since 1970.
func (c *Conn) ServerTime(ctx context.Context) (int64, error) {
	ms, err := c.readScript(ctx, "SELECT (extract(epoch FROM clock_timestamp()) * 1000)::bigint")
	if err != nil {
		return 0, err
	}
	return strconv.ParseInt(ms, 10, 64)
}

// readScript runs statements in the dialect of PostgreSQL and returns the last value that they select.
func (c *Conn) readScript(ctx context.Context, script string) (value string, err error) {
	limited, cancel := c.limitAnswer(ctx)
	defer cancel()
	rs, err := c.pg.Exec(limited, script).ReadAll()
	if err != nil {
		return "", c.classifyError(ctx, err)
	}
	for _, r := range rs {
		for _, row := range r.Rows {
			value = string(row[0])
		}
	}
	return value, nil
}
