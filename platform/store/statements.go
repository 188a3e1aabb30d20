package store

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"fmt"
	"strings"

	"modernc.org/sqlite"
)

// maxStatements is the maximum number of cached statements per connection.
const maxStatements = 64

// openDB opens a pool whose connections cache compiled statements, because compiling most
// statements takes longer than running them.
func openDB(dsn string) (*sql.DB, error) {
	c, err := sqlite.NewConnector(dsn)
	if err != nil {
		return nil, err
	}
	return sql.OpenDB(connector{c}), nil
}

type connector struct{ driver.Connector }

// Connect implements driver.Connector.
func (c connector) Connect(ctx context.Context) (driver.Conn, error) {
	opened, err := c.Connector.Connect(ctx)
	if err != nil {
		return nil, err
	}
	dc, ok := opened.(driverConn)
	if !ok {
		return nil, fmt.Errorf("store: SQLite driver connection %T lacks a required method", opened)
	}
	return &conn{driverConn: dc, kept: map[string]*statement{}}, nil
}

// driverConn lists the methods of the SQLite driver's connections.
type driverConn interface {
	driver.Conn
	driver.ConnBeginTx
	driver.ConnPrepareContext
	driver.ExecerContext
	driver.QueryerContext
	driver.Pinger
	driver.SessionResetter
	driver.Validator
}

// conn is a connection that caches compiled statements by text. database/sql never uses it
// concurrently.
type conn struct {
	driverConn
	kept map[string]*statement
}

// statement is a compiled statement of one conn. It is busy while its rows are being read. While it
// is busy, the same text is compiled again.
type statement struct {
	run interface {
		driver.Stmt
		driver.StmtExecContext
		driver.StmtQueryContext
	}
	busy bool
}

// ExecContext implements driver.ExecerContext.
func (c *conn) ExecContext(ctx context.Context, query string, args []driver.NamedValue) (driver.Result, error) {
	s := c.cachedStatement(ctx, query)
	if s == nil {
		return c.driverConn.ExecContext(ctx, query, args)
	}
	r, err := s.run.ExecContext(ctx, args)
	if err != nil {
		c.dropStatement(query, s)
	}
	return r, err
}

// QueryContext implements driver.QueryerContext.
func (c *conn) QueryContext(ctx context.Context, query string, args []driver.NamedValue) (driver.Rows, error) {
	s := c.cachedStatement(ctx, query)
	if s == nil {
		return c.driverConn.QueryContext(ctx, query, args)
	}
	r, err := s.run.QueryContext(ctx, args)
	if err != nil {
		c.dropStatement(query, s)
		return nil, err
	}
	s.busy = true
	return &rows{Rows: r, of: s}, nil
}

// rows releases its statement when it is closed.
type rows struct {
	driver.Rows
	of *statement
}

// Close implements driver.Rows.
func (r *rows) Close() error {
	r.of.busy = false
	return r.Rows.Close()
}

// cachedStatement returns the compiled statement, or nil if the text should not be cached.
func (c *conn) cachedStatement(ctx context.Context, query string) *statement {
	if s := c.kept[query]; s != nil {
		if s.busy {
			return nil
		}
		return s
	}
	if !isCacheable(query) {
		return nil
	}
	p, err := c.PrepareContext(ctx, unseen.Replace(query))
	if err != nil {
		return nil // compiling it again in the normal way reports the error
	}
	s := &statement{}
	var ok bool
	if s.run, ok = p.(interface {
		driver.Stmt
		driver.StmtExecContext
		driver.StmtQueryContext
	}); !ok {
		_ = p.Close()
		return nil
	}
	if len(c.kept) >= maxStatements {
		c.evictStatement()
	}
	c.kept[query] = s
	return s
}

// unseen hides the value of a LIMIT from the query planner. Otherwise SQLite would plan for that
// value and compile the statement again for every other value.
var unseen = strings.NewReplacer("LIMIT ?", "LIMIT 0+?")

// isCacheable reports whether a statement is likely to be repeated. Scripts and one-time statements
// such as migrations and pragmas are not.
func isCacheable(query string) bool {
	word, _, _ := strings.Cut(strings.TrimLeft(query, " \t\r\n"), " ")
	word, _, _ = strings.Cut(word, "\n")
	switch strings.ToUpper(word) {
	case "SELECT", "INSERT", "UPDATE", "DELETE", "WITH", "BEGIN", "COMMIT", "SAVEPOINT", "RELEASE":
		return true
	}
	return false
}

// evictStatement drops a statement that is not in use. A frequently used one is soon cached again.
func (c *conn) evictStatement() {
	for query, s := range c.kept {
		if !s.busy {
			c.dropStatement(query, s)
			return
		}
	}
}

func (c *conn) dropStatement(query string, s *statement) {
	delete(c.kept, query)
	_ = s.run.Close() // ignore the error: Close only repeats the error of the last run
}

// Close implements driver.Conn.
func (c *conn) Close() error {
	for query, s := range c.kept {
		c.dropStatement(query, s)
	}
	return c.driverConn.Close()
}
