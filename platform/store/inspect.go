package store

import (
	"context"
	"database/sql"
	"fmt"
	"os"
	"strings"
)

// Contents describes a database file.
type Contents struct {
	Schema  map[string]int   // schema version of each package that owns tables
	Rows    map[string]int64 // number of rows of each table
	Derived map[string]int64 // number of the last change that each derived index has processed
}

// Inspect checks a database and returns its contents. It does not change the file. The error wraps
// fs.ErrNotExist if the file does not exist.
func Inspect(ctx context.Context, path string) (Contents, error) {
	if _, err := os.Stat(path); err != nil {
		return Contents{}, fmt.Errorf("store: inspect the database: %w", err)
	}
	if err := checkTruncated(path, 1); err != nil {
		return Contents{}, err
	}
	db, err := sql.Open("sqlite", "file:"+escapeURIPath(path)+"?mode=ro")
	if err != nil {
		return Contents{}, fmt.Errorf("store: inspect the database: %w", err)
	}
	defer db.Close()
	if err := quickCheck(ctx, db, path); err != nil {
		return Contents{}, err
	}
	return readContents(ctx, db)
}

// OpenFile opens a database for reading, without a Store and without changing the file. The error wraps
// fs.ErrNotExist if the file does not exist.
func OpenFile(path string) (*sql.DB, error) {
	if _, err := os.Stat(path); err != nil {
		return nil, fmt.Errorf("store: open the database: %w", err)
	}
	db, err := sql.Open("sqlite", "file:"+escapeURIPath(path)+"?mode=ro")
	if err != nil {
		return nil, fmt.Errorf("store: open the database: %w", err)
	}
	return db, nil
}

// IsDamaged reports whether err means that a database file is damaged or is not a database.
func IsDamaged(err error) bool { return err != nil && isDamaged(classifyError(err)) }

// SchemaOf returns the schema versions of a database without checking it.
func SchemaOf(ctx context.Context, path string) (map[string]int, error) {
	if _, err := os.Stat(path); err != nil {
		return nil, fmt.Errorf("store: read the schema versions: %w", err)
	}
	db, err := sql.Open("sqlite", "file:"+escapeURIPath(path)+"?mode=ro")
	if err != nil {
		return nil, fmt.Errorf("store: read the schema versions: %w", err)
	}
	defer db.Close()
	return schemaVersions(ctx, db)
}

// DataSize returns the size of a database in bytes, with the pages that are only in its write-ahead
// log.
func DataSize(ctx context.Context, path string) (n int64, err error) {
	db, err := OpenFile(path)
	if err != nil {
		return 0, err
	}
	defer db.Close()
	if err := db.QueryRowContext(ctx, "SELECT page_count * page_size FROM pragma_page_count, pragma_page_size").Scan(&n); err != nil {
		return 0, fmt.Errorf("store: read the size of %s: %w", path, err)
	}
	return n, nil
}

// Supports reports whether a program that knows these schema versions can open a database with the
// schema, after migrating it if it is older.
func Supports(known, schema map[string]int) bool {
	for owner, v := range schema {
		if v > known[owner] {
			return false
		}
	}
	return true
}

func readContents(ctx context.Context, q querier) (c Contents, err error) {
	if c.Schema, err = schemaVersions(ctx, q); err != nil {
		return c, err
	}
	if c.Rows, err = countRows(ctx, q); err != nil {
		return c, err
	}
	c.Derived = map[string]int64{}
	if _, ok := c.Rows["derived"]; !ok {
		return c, nil
	}
	// package knowledge owns this table; here its rows only describe the backup
	return c, queryPairs(ctx, q, "SELECT name, seq FROM derived", c.Derived)
}

// countRows counts the rows of each table, except SQLite's own tables and the internal tables of
// virtual tables.
func countRows(ctx context.Context, q querier) (map[string]int64, error) {
	names := map[string]int64{}
	if err := queryPairs(ctx, q, `SELECT name, 0 FROM pragma_table_list WHERE schema = 'main' AND type IN ('table', 'virtual') AND name NOT LIKE 'sqlite\_%' ESCAPE '\'`, names); err != nil {
		return nil, err
	}
	for name := range names {
		one := map[string]int64{}
		quoted := strings.ReplaceAll(name, `"`, `""`)
		if err := queryPairs(ctx, q, `SELECT '', count(*) FROM "`+quoted+`"`, one); err != nil {
			return nil, fmt.Errorf("count %s: %w", name, err)
		}
		names[name] = one[""]
	}
	return names, nil
}

// queryPairs adds the rows of a query with two columns to out.
func queryPairs(ctx context.Context, q querier, query string, out map[string]int64) error {
	rows, err := q.QueryContext(ctx, query)
	if err != nil {
		return fmt.Errorf("store: read the contents: %w", classifyError(err))
	}
	defer rows.Close()
	for rows.Next() {
		var name string
		var n int64
		if err := rows.Scan(&name, &n); err != nil {
			return fmt.Errorf("store: read the contents: %w", classifyError(err))
		}
		out[name] = n
	}
	return classifyError(rows.Err())
}
