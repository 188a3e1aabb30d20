package postgres

import (
	"context"
	_ "embed"
	"fmt"
	"strconv"
)

// Functions is the migration that defines what the translated statements use.
//
//go:embed functions.sql
var Functions string

// lockWriters waits until no other instance writes. The server releases the lock at the end of the
// transaction, or with a connection that it gave up.
const lockWriters = "SELECT pg_advisory_xact_lock(hashtext('hob'), hashtext(current_schema()))"

// BeginWrite begins a transaction that changes rows, after those of all other instances. token marks its
// commit, see Committed. It returns the number of migrations that the database has.
func (c *Conn) BeginWrite(ctx context.Context, writer, token string) (migrations int64, err error) {
	rs, err := c.readScript(ctx, fmt.Sprintf("BEGIN; %s; UPDATE store_writers SET token = '%s', at = extract(epoch FROM now()) * 1000 WHERE writer = '%s'; SELECT count(*) FROM migrations", lockWriters, token, writer))
	if err != nil {
		return 0, err
	}
	return strconv.ParseInt(rs, 10, 64)
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
