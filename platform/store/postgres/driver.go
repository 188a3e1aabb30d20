// Package postgres runs the statements of Hob's tables on PostgreSQL. It is a driver for database/sql
// that takes the dialect of SQLite: it translates each statement once, prepares it on its connection
// and keeps it. What a function of SQLite does is defined by a function in the database
// (functions.sql), so that the translation stays small.
//
// Integers, conditions and times are int64, as with SQLite. A text loses what PostgreSQL cannot store:
// NUL characters and invalid UTF-8 become U+FFFD. The rows of a query are read completely before the
// query returns, so that a transaction can run statements between them; a caller that reads a large
// table reads it in parts.
//
// Package store uses it.
package postgres

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
)

// MinVersion is the oldest major version of PostgreSQL that is supported.
const MinVersion = 14

// Config configures the connections of a pool.
type Config struct {
	URL  string // postgres://user:password@host:port/database
	Name string // shown to the server as application_name
	// Hold is the longest time for which the server keeps a connection of a client that cannot be reached.
	// It keeps a transaction that writes for a third of it, at least 1 s, if the client sends nothing.
	Hold time.Duration
	// Answer is the longest time that a statement waits for the server.
	Answer   time.Duration
	ReadOnly bool
	// Reachable, if set, is asked before each new connection. Its error is returned instead.
	Reachable func() error
}

// connector opens connections.
type connector struct {
	c  Config
	pc *pgconn.Config
}

// NewConnector checks the configuration.
func NewConnector(c Config) (driver.Connector, error) {
	pc, err := pgconn.ParseConfig(c.URL)
	if err != nil {
		return nil, fmt.Errorf("address of the database: %w; use postgres://USER:PASSWORD@HOST:5432/DATABASE", err) // pgconn leaves out the password
	}
	pc.ConnectTimeout = min(c.Answer, 5*time.Second)
	pc.RuntimeParams["application_name"] = c.Name
	return &connector{c, pc}, nil
}

// Driver implements driver.Connector.
func (c *connector) Driver() driver.Driver { return refusingDriver{} }

// refusingDriver implements driver.Driver for databases that have a connector.
type refusingDriver struct{}

// Open implements driver.Driver.
func (refusingDriver) Open(string) (driver.Conn, error) {
	return nil, errors.New("postgres: open without a connector is not supported")
}

// Connect implements driver.Connector.
func (c *connector) Connect(ctx context.Context) (driver.Conn, error) {
	if c.c.Reachable != nil {
		if err := c.c.Reachable(); err != nil {
			return nil, err
		}
	}
	pg, err := pgconn.ConnectConfig(ctx, c.pc)
	if err != nil {
		return nil, classifyConnect(ctx, err)
	}
	out := &Conn{pg: pg, answer: c.c.Answer, readOnly: c.c.ReadOnly, kept: map[string]*prepared{}}
	if err := out.setUp(ctx, c.c); err != nil {
		out.dead = true
		_ = pg.Close(ctx)
		return nil, err
	}
	return out, nil
}

// setUp checks the version and sets what limits a client that the server cannot reach any more
// (https://www.postgresql.org/docs/current/runtime-config-client.html).
func (c *Conn) setUp(ctx context.Context, cfg Config) error {
	version := c.pg.ParameterStatus("server_version")
	major, _ := strconv.Atoi(strings.FieldsFunc(version+" ", func(r rune) bool { return r < '0' || r > '9' })[0])
	if major < MinVersion {
		return fmt.Errorf("%w: it has version %s; install version %d or newer", ErrVersion, version, MinVersion)
	}
	if enc := c.pg.ParameterStatus("server_encoding"); enc != "UTF8" {
		return fmt.Errorf("%w: it has the encoding %s; create the database with ENCODING 'UTF8'", ErrRefused, enc)
	}
	hold, answer := cfg.Hold.Milliseconds(), cfg.Answer.Milliseconds()
	idle := hold
	if !cfg.ReadOnly { // a writer holds up the others, who must still renew their leases in time
		idle = max(hold/3, 1000)
	}
	set := fmt.Sprintf("SET standard_conforming_strings = on; SET bytea_output = 'hex'; SET client_min_messages = error; SET jit = off; "+
		"SET idle_in_transaction_session_timeout = %d; SET lock_timeout = %d; SET statement_timeout = %d; "+
		"SET tcp_keepalives_idle = %d; SET tcp_keepalives_interval = %d; SET tcp_keepalives_count = 2; SET tcp_user_timeout = %d",
		idle, 2*hold, max(answer-500, 500), max(hold/1000, 1), max(hold/3000, 1), hold)
	if cfg.ReadOnly {
		set += "; SET default_transaction_read_only = on; SET default_transaction_isolation = 'repeatable read'"
	}
	return c.RunScript(ctx, set)
}

// Conn is a connection. database/sql never uses it concurrently.
type Conn struct {
	pg       *pgconn.PgConn
	answer   time.Duration
	readOnly bool
	dead     bool
	// migrating is set from BeginMigration until EndMigration.
	migrating bool
	// changed contains the tables that statements changed since BeginWrite.
	changed map[string]bool
	kept    map[string]*prepared
	names   int
	// writing is set from BeginWrite until the transaction ends: statements are deferred, see call.
	writing       bool
	deferred      []*call
	deferredBytes int
	savepointDue  bool  // NextSavepoint was called, and nothing has been sent since
	outage        error // see TakeOutage
}

// maxPrepared is the largest number of prepared statements of a connection.
const maxPrepared = 256

// prepared is a statement that the server has prepared.
type prepared struct {
	name    string
	params  []uint32
	formats []int16 // of the columns of the result
	changes string  // see statement
}

// Formats of a value (https://www.postgresql.org/docs/current/protocol-overview.html).
const (
	textFormat   int16 = 0
	binaryFormat int16 = 1
)

// Types of PostgreSQL (pg_type.dat).
const (
	boolOID    = 16
	byteaOID   = 17
	int8OID    = 20
	int2OID    = 21
	int4OID    = 23
	oidOID     = 26
	float4OID  = 700
	float8OID  = 701
	numericOID = 1700
)

// prepareStatement returns the prepared statement for a query with arguments of these types.
// Numbers are declared, because the server would take the context of a parameter for its type and an
// int4 is too small for most numbers. Others are not: a text may be meant for a blob, and a
// bool may be a condition or a number.
func (c *Conn) prepareStatement(ctx context.Context, query string, args []driver.NamedValue) (*prepared, error) {
	types := make([]byte, len(args))
	for i, a := range args {
		switch a.Value.(type) {
		case int64:
			types[i] = 'i'
		case float64:
			types[i] = 'f'
		default:
			types[i] = '-'
		}
	}
	key := string(types) + query
	if p := c.kept[key]; p != nil {
		return p, nil
	}
	// an error ends the transaction, and then the savepoint must be the one of this closure
	if err := c.SendDeferred(ctx); err != nil {
		return nil, err
	}
	all, err := translateScript(query)
	if err != nil {
		return nil, err
	}
	if len(all) != 1 {
		return nil, fmt.Errorf("postgres: %d statements with arguments: %q; run them one by one", len(all), query)
	}
	oids := make([]uint32, all[0].params)
	for i := range min(len(oids), len(args)) {
		switch types[i] {
		case 'i':
			oids[i] = int8OID
		case 'f':
			oids[i] = float8OID
		}
	}
	if len(c.kept) >= maxPrepared {
		for old, p := range c.kept {
			delete(c.kept, old)
			_ = c.RunScript(ctx, "DEALLOCATE "+p.name) // ignore the error: the statement only takes memory
			break
		}
	}
	c.names++
	p := &prepared{name: "s" + strconv.Itoa(c.names), changes: all[0].changes}
	limited, cancel := c.limitAnswer(ctx)
	defer cancel()
	d, err := c.pg.Prepare(limited, p.name, all[0].text, oids)
	if err != nil {
		return nil, c.classifyError(ctx, describeStatement(err, all[0].text))
	}
	p.params = d.ParamOIDs
	p.formats = make([]int16, len(d.Fields))
	for i, f := range d.Fields {
		if f.DataTypeOID == byteaOID {
			p.formats[i] = binaryFormat
		}
	}
	c.kept[key] = p
	return p, nil
}

// newCall prepares a statement and encodes its arguments.
func (c *Conn) newCall(ctx context.Context, query string, args []driver.NamedValue) (*call, error) {
	if c.dead && c.writing {
		return nil, fmt.Errorf("%w: the transaction was lost", ErrAway)
	}
	if c.dead {
		return nil, driver.ErrBadConn
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	p, err := c.prepareStatement(ctx, query, args)
	if err != nil {
		return nil, err
	}
	if len(args) < len(p.params) {
		return nil, fmt.Errorf("postgres: %d arguments for %d parameters in %q", len(args), len(p.params), query)
	}
	k := &call{c: c, p: p, query: query, values: make([][]byte, len(p.params)), formats: make([]int16, len(p.params))}
	for i := range p.params {
		if k.values[i], k.formats[i], err = encodeValue(args[i].Value, p.params[i]); err != nil {
			return nil, err
		}
	}
	c.noteChange(p.changes)
	return k, nil
}

// runCall runs a statement, after the deferred ones, and reads all its rows.
func (c *Conn) runCall(ctx context.Context, k *call) (*pgconn.Result, error) {
	if len(c.deferred) > 0 || c.savepointDue {
		return c.sendCalls(ctx, k)
	}
	limited, cancel := c.limitAnswer(ctx)
	defer cancel()
	r := c.pg.ExecPrepared(limited, k.p.name, k.values, k.formats, k.p.formats).Read()
	if r.Err != nil {
		return nil, c.classifyStatement(ctx, r.Err, k.query)
	}
	return r, nil
}

// classifyStatement returns the error of a prepared statement.
func (c *Conn) classifyStatement(ctx context.Context, err error, query string) error {
	if pe, ok := errors.AsType[*pgconn.PgError](err); ok && pe.Code == "0A000" { // the table changed after the statement was prepared
		clear(c.kept)
	}
	return c.classifyError(ctx, describeStatement(err, query))
}

func (c *Conn) noteChange(table string) {
	if table != "" && c.changed != nil {
		c.changed[table] = true
	}
}

// RunScript runs statements in the dialect of PostgreSQL.
func (c *Conn) RunScript(ctx context.Context, script string) error {
	limited, cancel := c.limitAnswer(ctx)
	defer cancel()
	_, err := c.pg.Exec(limited, script).ReadAll()
	return c.classifyError(ctx, err)
}

// limitAnswer limits the time for which a statement waits for the server. A migration may take long.
func (c *Conn) limitAnswer(ctx context.Context) (context.Context, context.CancelFunc) {
	if c.migrating {
		return context.WithCancel(ctx)
	}
	return context.WithTimeout(ctx, c.answer)
}

// ExecContext implements driver.ExecerContext. A query without arguments may have several statements.
func (c *Conn) ExecContext(ctx context.Context, query string, args []driver.NamedValue) (driver.Result, error) {
	if len(args) > 0 {
		k, err := c.newCall(ctx, query, args)
		if err == nil && c.writing {
			return k, c.deferCall(ctx, k)
		}
		if err != nil {
			return nil, err
		}
		r, err := c.runCall(ctx, k)
		if err != nil {
			return nil, err
		}
		return result(r.CommandTag.RowsAffected()), nil
	}
	if c.dead {
		return nil, driver.ErrBadConn
	}
	if err := c.SendDeferred(ctx); err != nil {
		return nil, err
	}
	all, err := translateScript(query)
	if err != nil {
		return nil, err
	}
	limited, cancel := c.limitAnswer(ctx)
	defer cancel()
	n := int64(0)
	for _, one := range all {
		c.noteChange(one.changes)
		rs, err := c.pg.Exec(limited, one.text).ReadAll()
		if err != nil {
			return nil, c.classifyError(ctx, describeStatement(err, one.text))
		}
		for _, r := range rs {
			n = r.CommandTag.RowsAffected()
		}
	}
	return result(n), nil
}

// result is the number of rows that a statement changed.
type result int64

// RowsAffected implements driver.Result.
func (r result) RowsAffected() (int64, error) { return int64(r), nil }

// LastInsertId implements driver.Result.
func (result) LastInsertId() (int64, error) {
	return 0, errors.New("postgres: no number of the last row; use RETURNING")
}

// QueryContext implements driver.QueryerContext.
func (c *Conn) QueryContext(ctx context.Context, query string, args []driver.NamedValue) (driver.Rows, error) {
	k, err := c.newCall(ctx, query, args)
	if err != nil {
		return nil, err
	}
	r, err := c.runCall(ctx, k)
	if err != nil {
		return nil, err
	}
	return &rows{r: r}, nil
}

// PrepareContext implements driver.ConnPrepareContext.
func (c *Conn) PrepareContext(_ context.Context, query string) (driver.Stmt, error) {
	return &stmt{c, query}, nil
}

// Prepare implements driver.Conn.
func (c *Conn) Prepare(query string) (driver.Stmt, error) { return &stmt{c, query}, nil }

// Begin implements driver.Conn.
func (c *Conn) Begin() (driver.Tx, error) {
	return c.BeginTx(context.Background(), driver.TxOptions{})
}

// BeginTx implements driver.ConnBeginTx.
func (c *Conn) BeginTx(ctx context.Context, _ driver.TxOptions) (driver.Tx, error) {
	if c.dead {
		return nil, driver.ErrBadConn
	}
	return transaction{c}, c.RunScript(ctx, "BEGIN")
}

// transaction implements driver.Tx.
type transaction struct{ c *Conn }

// Commit implements driver.Tx.
func (t transaction) Commit() error { return t.c.RunScript(context.Background(), "COMMIT") }

// Rollback implements driver.Tx.
func (t transaction) Rollback() error { return t.c.RunScript(context.Background(), "ROLLBACK") }

// Ping implements driver.Pinger.
func (c *Conn) Ping(ctx context.Context) error { return c.RunScript(ctx, "SELECT 1") }

// IsValid implements driver.Validator.
func (c *Conn) IsValid() bool { return !c.dead && !c.pg.IsClosed() }

// ResetSession implements driver.SessionResetter.
func (c *Conn) ResetSession(context.Context) error {
	if !c.IsValid() {
		return driver.ErrBadConn
	}
	return nil
}

// Close implements driver.Conn.
func (c *Conn) Close() error {
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	_ = c.pg.Close(ctx) // the server notices that the connection is gone
	return nil
}

// stmt implements driver.Stmt. The connection keeps what the server has prepared.
type stmt struct {
	c     *Conn
	query string
}

// Close implements driver.Stmt.
func (*stmt) Close() error { return nil }

// NumInput implements driver.Stmt.
func (*stmt) NumInput() int { return -1 }

// Exec implements driver.Stmt.
func (*stmt) Exec([]driver.Value) (driver.Result, error) { return nil, errors.ErrUnsupported }

// Query implements driver.Stmt.
func (*stmt) Query([]driver.Value) (driver.Rows, error) { return nil, errors.ErrUnsupported }

// ExecContext implements driver.StmtExecContext.
func (s *stmt) ExecContext(ctx context.Context, args []driver.NamedValue) (driver.Result, error) {
	return s.c.ExecContext(ctx, s.query, args)
}

// QueryContext implements driver.StmtQueryContext.
func (s *stmt) QueryContext(ctx context.Context, args []driver.NamedValue) (driver.Rows, error) {
	return s.c.QueryContext(ctx, s.query, args)
}
