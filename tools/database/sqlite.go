package database

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"modernc.org/sqlite"

	"hob/autonomy/config"
	"hob/platform/host/denypaths"
	"hob/tools"
)

// Limits of a connection (https://www.sqlite.org/c3ref/c_limit_attached.html). With the limit 0 for
// attached databases, neither ATTACH nor VACUUM INTO can open or create another file.
const (
	limitLength, maxLength     = 0, 20 << 20
	limitDepth, maxDepth       = 3, 200
	limitCompound, maxCompound = 4, 50
	limitAttached, maxAttached = 7, 0
	limitPattern, maxPattern   = 8, 1_000
	limitWorkers, maxWorkers   = 11, 0
)

// sqliteEngine reads an SQLite file.
type sqliteEngine struct {
	db   *sql.DB
	conn *sql.Conn
	name string
}

// openSQLite opens the file so that SQLite itself refuses each write: mode=ro opens the file
// read-only, query_only also covers temporary tables, and the schema of the file is not trusted.
func openSQLite(ctx context.Context, c config.Database, places *denypaths.Places, own []string) (engine, error) {
	path, err := checkFile(c, places, own)
	if err != nil {
		return nil, err
	}
	uri := strings.NewReplacer("%", "%25", "?", "%3f", "#", "%23").Replace(filepath.ToSlash(path))
	db, err := sql.Open("sqlite", "file:"+uri+"?mode=ro&_defensive=1&_query_only=1&_pragma=trusted_schema(0)&_pragma=busy_timeout(2000)&_pragma=cache_size(-8192)&_pragma=mmap_size(0)")
	if err != nil {
		return nil, fmt.Errorf("open %s: %w", path, err)
	}
	conn, err := db.Conn(ctx)
	if err != nil {
		_ = db.Close()
		return nil, (&sqliteEngine{name: c.Name}).classifyError(err)
	}
	e := &sqliteEngine{db: db, conn: conn, name: c.Name}
	for _, l := range [][2]int{{limitLength, maxLength}, {limitDepth, maxDepth}, {limitCompound, maxCompound}, {limitAttached, maxAttached}, {limitPattern, maxPattern}, {limitWorkers, maxWorkers}} {
		if _, err := sqlite.Limit(conn, l[0], l[1]); err != nil {
			e.closeConn(ctx)
			return nil, fmt.Errorf("limit the connection: %w", err)
		}
	}
	return e, nil
}

// checkFile returns the real path of the database file. It refuses protected paths, Hob's own
// files and everything that is not a regular file.
func checkFile(c config.Database, places *denypaths.Places, own []string) (string, error) {
	name := tools.Clean(c.Name)
	real, err := filepath.EvalSymlinks(c.URL)
	if errors.Is(err, os.ErrNotExist) {
		return "", tools.Errorf(tools.NotFound, "the file of the database %s does not exist: %s; correct databases.%s.url", name, tools.Clean(c.URL), name)
	}
	if err != nil {
		return "", tools.Errorf(tools.Failed, "the file of the database %s cannot be opened: %w", name, tools.CleanErr(err))
	}
	why := places.ProtectionReason(c.URL)
	if why == "" {
		why = places.ProtectionReason(real)
	}
	info, err := os.Stat(real)
	if err != nil {
		return "", tools.Errorf(tools.Failed, "the file of the database %s cannot be opened: %w", name, tools.CleanErr(err))
	}
	if why == "" && isOwnFile(info, own) {
		why = "it belongs to Hob"
	}
	switch {
	case why != "":
		return "", tools.Errorf(tools.PolicyDenied, "the file of the database %s is protected: %s; use a copy in another folder", name, tools.Clean(why))
	case !info.Mode().IsRegular():
		return "", tools.Errorf(tools.Unsupported, "the database %s is not a file: %s; correct databases.%s.url", name, tools.Clean(c.URL), name)
	}
	return real, nil
}

// isOwnFile reports whether a file is one of the databases in own, or a hard link to one of them.
func isOwnFile(info os.FileInfo, own []string) bool {
	for _, dir := range own {
		files, _ := filepath.Glob(filepath.Join(dir, "*.db*")) // the only error is a malformed pattern, which matches no file
		for _, f := range append(files, dir) {
			if mine, err := os.Stat(f); err == nil && os.SameFile(info, mine) {
				return true
			}
		}
	}
	return false
}

func (e *sqliteEngine) closeConn(context.Context) {
	_ = e.conn.Close() // the connection was used only for reading
	_ = e.db.Close()
}

func (e *sqliteEngine) listTables(ctx context.Context) (table, error) {
	var out table
	err := e.readRows(ctx, `SELECT name AS "table", type AS kind, ncol AS columns FROM pragma_table_list
		WHERE schema = 'main' AND type IN ('table', 'view', 'virtual') AND name NOT LIKE 'sqlite\_%' ESCAPE '\' ORDER BY name`, nil, &out)
	return out, err
}

func (e *sqliteEngine) describeColumns(ctx context.Context, name string) (table, error) {
	var out table
	err := e.readRows(ctx, `SELECT c.name AS "column", c.type AS type,
		trim(CASE WHEN c.pk > 0 THEN 'primary key ' ELSE '' END || CASE WHEN c."notnull" THEN 'not null ' ELSE '' END ||
			coalesce((SELECT 'references ' || f."table" || '(' || coalesce(f."to", 'primary key') || ')' FROM pragma_foreign_key_list(?1) f WHERE f."from" = c.name LIMIT 1), '')) AS keys
		FROM pragma_table_xinfo(?1) c WHERE c.hidden <> 1 ORDER BY c.cid`, []any{name}, &out)
	return out, err
}

func (e *sqliteEngine) runQuery(ctx context.Context, s statement, params []string, out *table) error {
	var args []any
	for _, p := range params {
		args = append(args, sqliteValue(p))
	}
	return e.readRows(ctx, s.text, args, out)
}

// sqliteValue binds a canonical number as a number, because SQLite compares a number with a text
// without conversion if neither is a column.
func sqliteValue(s string) any {
	if i, err := strconv.ParseInt(s, 10, 64); err == nil && strconv.FormatInt(i, 10) == s {
		return i
	}
	if f, err := strconv.ParseFloat(s, 64); err == nil && strconv.FormatFloat(f, 'f', -1, 64) == s {
		return f
	}
	return s
}

func (e *sqliteEngine) readRows(ctx context.Context, query string, args []any, out *table) error {
	rows, err := e.conn.QueryContext(ctx, query, args...)
	if err != nil {
		return e.classifyError(err)
	}
	defer rows.Close()
	names, err := rows.Columns()
	if err != nil {
		return e.classifyError(err)
	}
	types, err := rows.ColumnTypes()
	if err != nil {
		return e.classifyError(err)
	}
	out.setColumns(names)
	values, targets := make([]any, len(names)), make([]any, len(names))
	for i := range values {
		targets[i] = &values[i]
	}
	for rows.Next() {
		if err := rows.Scan(targets...); err != nil {
			return e.classifyError(err)
		}
		row := make([]*string, len(values))
		for i, v := range values {
			row[i] = formatValue(v, types[i].DatabaseTypeName())
		}
		if !out.addRow(row) {
			return nil
		}
	}
	return e.classifyError(rows.Err())
}

func formatValue(v any, declared string) *string {
	var s string
	switch v := v.(type) {
	case nil:
		return nil
	case []byte:
		if s = string(v); !utf8.Valid(v) || strings.ContainsRune(s, 0) {
			s = fmt.Sprintf("(%d bytes)", len(v))
		}
	case time.Time: // the driver parses columns that are declared as dates
		if s = v.Format("2006-01-02 15:04:05.999999999Z07:00"); strings.EqualFold(declared, "date") {
			s = v.Format(time.DateOnly)
		}
	case float64:
		s = strconv.FormatFloat(v, 'g', -1, 64)
	default:
		s = fmt.Sprint(v)
	}
	return &s
}

// classifyError converts an error of SQLite. Its text may quote names in the file, so it is untrusted.
func (e *sqliteEngine) classifyError(err error) error {
	if err == nil || errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	se, ok := errors.AsType[*sqlite.Error](err)
	if !ok {
		return tools.Errorf(tools.InvalidArguments, "the database %s: %w", tools.Clean(e.name), err)
	}
	switch se.Code() & 0xff {
	case 8, 23: // SQLITE_READONLY, SQLITE_AUTH
		return tools.Errorf(tools.PolicyDenied, "the database %s is read-only; use SELECT", tools.Clean(e.name))
	case 5, 6: // SQLITE_BUSY, SQLITE_LOCKED
		return tools.Errorf(tools.Failed, "another program is writing to the database %s; try again later", tools.Clean(e.name))
	case 9: // SQLITE_INTERRUPT
		return context.DeadlineExceeded
	case 10, 14: // SQLITE_IOERR, SQLITE_CANTOPEN
		return tools.Errorf(tools.Failed, "the file of the database %s cannot be read: %w; check the rights of the file and of its folder", tools.Clean(e.name), err)
	case 11, 26: // SQLITE_CORRUPT, SQLITE_NOTADB
		return tools.Errorf(tools.Failed, "the file of the database %s is damaged or not an SQLite database: %w", tools.Clean(e.name), err)
	case 18: // SQLITE_TOOBIG
		return tools.Errorf(tools.InvalidArguments, "a value in the database %s is larger than 20 MB; omit the column", tools.Clean(e.name))
	}
	return tools.Errorf(tools.InvalidArguments, "the database %s: %w", tools.Clean(e.name), err)
}
