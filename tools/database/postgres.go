package database

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net/url"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"hob/autonomy/config"
	"hob/platform/text/textnorm"
	"hob/tools"
)

// connectTimeout is the time limit of a connection attempt.
const connectTimeout = 10 * time.Second

const textArrayOID = 1009 // text[], see pg_type.dat

// postgresEngine is a connection inside a read-only transaction.
type postgresEngine struct {
	conn *pgconn.PgConn
	name string
}

// openPostgres connects to the configured server and begins the transaction.
func openPostgres(ctx context.Context, c config.Database, password string) (engine, error) {
	pc, err := postgresConfig(c, password)
	if err != nil {
		return nil, err
	}
	conn, err := pgconn.ConnectConfig(ctx, pc)
	if err != nil {
		return nil, connectError(c, err)
	}
	e := &postgresEngine{conn: conn, name: c.Name}
	if err := e.beginReadOnly(ctx, c.Timeout.Duration); err != nil {
		e.closeConn(ctx)
		return nil, err
	}
	return e, nil
}

// postgresConfig returns the settings of the connection. PGHOST, PGPASSWORD, .pgpass and the other
// sources that libpq uses are ignored: only the configured server gets the configured password.
func postgresConfig(c config.Database, password string) (*pgconn.Config, error) {
	u, err := url.Parse(c.URL)
	if err != nil {
		return nil, tools.Errorf(tools.Failed, "databases.%s.url is not an address", tools.Clean(c.Name))
	}
	mode := c.SSLMode()
	if os.Getenv("PGSERVICE") != "" { // the driver would read the service from a file
		return nil, tools.Errorf(tools.Failed, "the environment variable PGSERVICE is set, which could redirect the database %s; start Hob without this variable", tools.Clean(c.Name))
	}
	q := url.Values{"sslmode": {"disable"}, "passfile": {os.DevNull}, "servicefile": {os.DevNull}, "target_session_attrs": {"any"}, "application_name": {"hob"}}
	plain := &url.URL{Scheme: "postgres", User: url.UserPassword(u.User.Username(), "x"), Host: u.Host, Path: u.Path, RawQuery: q.Encode()}
	pc, err := pgconn.ParseConfig(plain.String())
	if err != nil {
		return nil, tools.Errorf(tools.Failed, "databases.%s.url is not valid; use the form postgres://user@host:5432/name", tools.Clean(c.Name))
	}
	pc.Password, pc.Fallbacks, pc.ConnectTimeout = password, nil, connectTimeout
	pc.RuntimeParams = map[string]string{"application_name": "hob"}
	if pc.TLSConfig, err = tlsConfig(c, mode, u.Hostname()); err != nil {
		return nil, err
	}
	return pc, nil
}

// tlsConfig returns the TLS settings for a mode; nil means no TLS.
func tlsConfig(c config.Database, mode, host string) (*tls.Config, error) {
	if mode == "disable" {
		return nil, nil //nolint:nilnil // the user disabled TLS
	}
	out := &tls.Config{ServerName: host, MinVersion: tls.VersionTLS12}
	if c.CA != "" {
		pem, err := os.ReadFile(c.CA)
		if err != nil {
			return nil, tools.Errorf(tools.Failed, "databases.%s.ca cannot be read: %w", tools.Clean(c.Name), tools.CleanErr(err))
		}
		out.RootCAs = x509.NewCertPool()
		if !out.RootCAs.AppendCertsFromPEM(pem) {
			return nil, tools.Errorf(tools.Failed, "databases.%s.ca contains no certificate; it must be a PEM file", tools.Clean(c.Name))
		}
	}
	if mode == "require" { // encrypted, but the server is not verified
		out.InsecureSkipVerify = true
	}
	return out, nil
}

// connectError returns an error that names the setting to check. The server's text is untrusted.
func connectError(c config.Database, err error) error {
	name := tools.Clean(c.Name)
	if pe, ok := errors.AsType[*pgconn.PgError](err); ok {
		switch {
		case strings.HasPrefix(pe.Code, "28"):
			return tools.Errorf(tools.Failed, "the database %s refused the sign-in (%s); check the user in databases.%s.url and the password", name, tools.Clean(sqlState(pe.Code)), name)
		case pe.Code == "3D000":
			return tools.Errorf(tools.NotFound, "the database in databases.%s.url does not exist on the server; correct the url", name)
		}
	}
	if errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Canceled) {
		return err
	}
	return tools.Errorf(tools.Failed, "no connection to the database %s: %w; check databases.%s.url, and whether the server runs and offers TLS", name, err, name)
}

// sqlState returns a SQLSTATE code if it looks like one.
func sqlState(code string) string {
	if len(code) == 5 && strings.Trim(code, "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ") == "" {
		return code
	}
	return "?????"
}

// beginReadOnly starts the read-only transaction and refuses a role that could leave the
// transaction. The first query takes the snapshot; after that, the transaction can no longer be
// made writable.
func (e *postgresEngine) beginReadOnly(ctx context.Context, timeout time.Duration) error {
	ms := timeout.Milliseconds()
	setup := fmt.Sprintf("BEGIN READ ONLY; SET LOCAL statement_timeout = %d; SET LOCAL lock_timeout = %d; SET LOCAL idle_in_transaction_session_timeout = %d; "+
		"SET LOCAL standard_conforming_strings = on; SET LOCAL datestyle = 'ISO'; SET LOCAL intervalstyle = 'postgres'; SET LOCAL bytea_output = 'hex'; "+
		"SET LOCAL client_encoding = 'UTF8'", ms, min(ms, 2_000), ms+5_000)
	if err := e.conn.Exec(ctx, setup).Close(); err != nil {
		return e.classifyError(err)
	}
	var out table
	err := e.readRows(ctx, `SELECT coalesce((SELECT rolsuper OR rolreplication FROM pg_roles WHERE rolname = current_user), true)
		OR EXISTS (SELECT FROM pg_roles g WHERE g.rolname IN ('pg_execute_server_program', 'pg_write_server_files', 'pg_read_server_files', 'pg_signal_backend')
			AND pg_has_role(current_user, g.oid, 'USAGE'))`, nil, nil, &out)
	if err != nil {
		return err
	}
	if len(out.Rows) != 1 || out.Rows[0][0] == nil || *out.Rows[0][0] != "f" {
		return tools.Errorf(tools.PolicyDenied, "the user of the database %s may run programs or write files on the server, which a read-only transaction does not prevent; "+
			"create a user for Hob: CREATE ROLE hob_reader LOGIN PASSWORD '...'; GRANT pg_read_all_data TO hob_reader", tools.Clean(e.name))
	}
	return nil
}

func (e *postgresEngine) closeConn(ctx context.Context) {
	ctx, stop := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
	defer stop()
	_ = e.conn.Close(ctx) // the connection was used only for reading
}

func (e *postgresEngine) listTables(ctx context.Context) (table, error) {
	var out table
	err := e.readRows(ctx, `SELECT CASE WHEN pg_table_is_visible(c.oid) THEN c.relname ELSE n.nspname || '.' || c.relname END AS "table",
			CASE c.relkind WHEN 'v' THEN 'view' WHEN 'm' THEN 'materialized view' WHEN 'f' THEN 'foreign table' ELSE 'table' END AS kind,
			CASE WHEN c.reltuples >= 0 AND c.relkind IN ('r', 'm', 'p') THEN c.reltuples::bigint::text ELSE '' END AS "rows, about",
			coalesce(obj_description(c.oid, 'pg_class'), '') AS comment
		FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
		WHERE c.relkind IN ('r', 'p', 'v', 'm', 'f') AND n.nspname !~ '^(pg_|information_schema$)' AND has_any_column_privilege(c.oid, 'SELECT')
		ORDER BY 1 LIMIT 501`, nil, nil, &out)
	return out, err
}

func (e *postgresEngine) describeColumns(ctx context.Context, name string) (table, error) {
	var out table
	err := e.readRows(ctx, `WITH t AS (
			SELECT c.oid FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
			WHERE c.relkind IN ('r', 'p', 'v', 'm', 'f') AND has_any_column_privilege(c.oid, 'SELECT')
				AND (n.nspname || '.' || c.relname = $1 OR c.relname = $1)
			ORDER BY n.nspname || '.' || c.relname = $1 DESC, pg_table_is_visible(c.oid) DESC LIMIT 1)
		SELECT a.attname AS "column", format_type(a.atttypid, a.atttypmod) AS type,
			concat_ws(' ', CASE WHEN a.attnotnull THEN 'not null' END,
				(SELECT string_agg(pg_get_constraintdef(k.oid), ', ') FROM pg_constraint k
				WHERE k.conrelid = a.attrelid AND k.contype IN ('p', 'f', 'u') AND a.attnum = ANY (k.conkey))) AS keys,
			coalesce(col_description(a.attrelid, a.attnum), '') AS comment
		FROM t JOIN pg_attribute a ON a.attrelid = t.oid WHERE a.attnum > 0 AND NOT a.attisdropped ORDER BY a.attnum`, [][]byte{[]byte(name)}, []uint32{25}, &out)
	return out, err
}

func (e *postgresEngine) runQuery(ctx context.Context, s statement, params []string, out *table) error {
	if err := e.refuseVolatile(ctx, s.calls); err != nil {
		return err
	}
	var args [][]byte
	for _, p := range params {
		args = append(args, []byte(p))
	}
	return e.readRows(ctx, s.text, args, nil, out)
}

// harmlessVolatile lists the volatile functions of PostgreSQL that only return a value.
func harmlessVolatile() []string {
	return []string{
		"random", "random_normal", "clock_timestamp", "timeofday", "gen_random_uuid", "uuidv4", "uuidv7", "pg_relation_size", "pg_total_relation_size",
		"pg_table_size", "pg_indexes_size", "pg_database_size", "pg_tablespace_size", "pg_column_size",
	}
}

// refuseVolatile refuses functions that the database declares as volatile, because a read-only
// transaction does not prevent effects of such a function outside of the database.
func (e *postgresEngine) refuseVolatile(ctx context.Context, calls []string) error {
	if len(calls) == 0 {
		return nil
	}
	var out table
	err := e.readRows(ctx, `SELECT p.proname FROM pg_proc p JOIN pg_namespace n ON n.oid = p.pronamespace
		WHERE p.proname = ANY ($1) AND p.provolatile = 'v' AND NOT (n.nspname = 'pg_catalog' AND p.proname = ANY ($2)) ORDER BY 1 LIMIT 1`,
		[][]byte{textArray(calls), textArray(harmlessVolatile())}, []uint32{textArrayOID, textArrayOID}, &out)
	if err != nil || len(out.Rows) == 0 {
		return err
	}
	name := slices.IndexFunc(calls, func(s string) bool { return s == *out.Rows[0][0] })
	if name < 0 {
		return refuseFunction("in the query")
	}
	return refuseFunction(calls[name])
}

// textArray encodes a text[] (https://www.postgresql.org/docs/current/arrays.html#ARRAYS-IO).
func textArray(list []string) []byte {
	var quoted []string
	for _, s := range list {
		quoted = append(quoted, `"`+strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(s)+`"`)
	}
	return []byte("{" + strings.Join(quoted, ",") + "}")
}

// readRows executes one statement in the extended protocol, which accepts no second statement. types may
// be nil: the server then infers them.
func (e *postgresEngine) readRows(ctx context.Context, query string, args [][]byte, types []uint32, out *table) error {
	r := e.conn.ExecParams(ctx, query, args, types, nil, nil)
	var names []string
	for _, f := range r.FieldDescriptions() {
		names = append(names, f.Name)
	}
	out.setColumns(names)
	for r.NextRow() {
		var row []*string
		for _, v := range r.Values() {
			if v == nil {
				row = append(row, nil)
				continue
			}
			s := textnorm.TruncateRunes(string(v[:min(len(v), 8*maxCell)]), 2*maxCell)
			row = append(row, &s)
		}
		if !out.addRow(row) {
			e.cancelRest(ctx)
			return nil
		}
	}
	_, err := r.Close()
	return e.classifyError(err)
}

// cancelRest cancels a query whose remaining rows are not needed.
func (e *postgresEngine) cancelRest(ctx context.Context) {
	ctx, stop := context.WithTimeout(context.WithoutCancel(ctx), 2*time.Second)
	defer stop()
	_ = e.conn.CancelRequest(ctx) // the connection is closed in any case
}

// classifyError converts an error of the server. Its text is untrusted.
func (e *postgresEngine) classifyError(err error) error {
	pe, ok := errors.AsType[*pgconn.PgError](err)
	if !ok {
		return err
	}
	name := tools.Clean(e.name)
	switch {
	case pe.Code == "25006" || pe.Code == "42501": // read_only_sql_transaction, insufficient_privilege
		return tools.Errorf(tools.PolicyDenied, "the database %s refused the query: %w; the connection is read-only, and the database user may read only granted tables", name, errors.New(pe.Message))
	case pe.Code == "57014": // query_canceled
		return context.DeadlineExceeded
	case pe.Code == "55P03": // lock_not_available
		return tools.Errorf(tools.Failed, "another program has locked a table of the database %s; try again later", name)
	}
	text := pe.Message
	if pe.Hint != "" {
		text += " (" + pe.Hint + ")"
	}
	return tools.Errorf(tools.InvalidArguments, "the database %s: %w", name, errors.New(textnorm.Ellipsize(text, 500)))
}
