package store

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"hob/platform/host/system"
	"hob/platform/text/sorting"
)

// Errors of a copy of the whole database.
var (
	// ErrHalfCopy means that a copy into this database was not completed.
	ErrHalfCopy = errors.New("an unfinished copy fills this database; repeat the command hob store copy, or empty the database")
	// ErrNotEmpty means that the target of a copy has tables already.
	ErrNotEmpty = errors.New("the target is not empty; choose an empty database, or another file")
)

// Location is a database: a file, or a PostgreSQL database if URL is set.
type Location struct{ Path, URL string }

// CopiedTable is the result of a copy for one table. Digest is the SHA-256 of all rows in the order of
// their keys; it is the same in both databases.
type CopiedTable struct {
	Table  string `json:"table"`
	Rows   int64  `json:"rows"`
	Digest string `json:"digest"`
}

// batchRows is the number of rows that a copy reads and writes at a time.
const batchRows = 100

// Copy copies all tables to another database, which must be empty, and compares the digests of both
// sides. No process may use either of them. Until the copy is complete, the target is marked, so that
// Open refuses it with ErrHalfCopy; the same call then continues. progress is called after each batch.
func Copy(ctx context.Context, from, to Location, sets []MigrationSet, progress func(table string, rows int64)) (_ []CopiedTable, err error) {
	if from.URL == "" && !fileExists(from.Path) {
		return nil, fmt.Errorf("store: copy: %s does not exist; start Hob once, or correct [store] url", from.Path)
	}
	source, err := Open(ctx, from.Path, sets, Options{URL: from.URL, BackupDir: filepath.Dir(from.Path)})
	if err != nil {
		return nil, fmt.Errorf("open the source: %w", err)
	}
	defer func() { err = errors.Join(err, source.Close()) }()
	c := &copier{from: source, progress: progress}
	finish := c.finishShared
	if to.URL != "" {
		c.to, err = Open(ctx, to.Path, sets, Options{URL: to.URL, copying: true})
	} else {
		finish = func(ctx context.Context) error { return c.finishFile(ctx, to.Path) }
		c.to, err = openCopy(ctx, to.Path, sets)
	}
	if err != nil {
		return nil, fmt.Errorf("open the target: %w", err)
	}
	defer func() { err = errors.Join(err, c.to.Close()) }()
	tables, err := describeTables(ctx, sets)
	if err != nil {
		return nil, err
	}
	if to.URL == "" {
		if err := c.prepareFile(ctx, tables); err != nil {
			return nil, fmt.Errorf("store: prepare the target: %w", err)
		}
	}
	var out []CopiedTable
	for _, t := range tables {
		done, err := c.copyTable(ctx, t)
		if err != nil {
			return nil, fmt.Errorf("store: copy table %s: %w", t.name, err)
		}
		out = append(out, done)
	}
	if err := c.copySequences(ctx); err != nil {
		return nil, fmt.Errorf("store: copy the numbers of rows: %w", err)
	}
	return out, finish(ctx)
}

// copier copies between two open databases.
type copier struct {
	from, to *Store
	triggers []string // of a target file, to be created at the end
	progress func(string, int64)
}

// copyPath returns the name of a file until its copy is complete.
func copyPath(path string) string { return path + ".copy" }

// openCopy creates a new database file under its temporary name. A copy into a file starts again
// from the beginning.
func openCopy(ctx context.Context, path string, sets []MigrationSet) (*Store, error) {
	if fileExists(path) {
		return nil, fmt.Errorf("store: %s exists: %w", path, ErrNotEmpty)
	}
	for _, end := range []string{"", "-wal", "-shm"} {
		if err := os.Remove(copyPath(path) + end); err != nil && !os.IsNotExist(err) {
			return nil, fmt.Errorf("store: remove an unfinished copy: %w", err)
		}
	}
	return Open(ctx, copyPath(path), sets, Options{BackupDir: copyPath(path) + "-backups"})
}

// prepareFile removes the triggers, which would change the copied rows, and the first rows.
func (c *copier) prepareFile(ctx context.Context, tables []tableShape) error {
	return c.to.Write(ctx, func(tx *Tx) error {
		var err error
		if c.triggers, err = scanNames(tx.Query(`SELECT sql FROM sqlite_master WHERE type = 'trigger' ORDER BY name`)); err != nil {
			return err
		}
		names, err := scanNames(tx.Query(`SELECT name FROM sqlite_master WHERE type = 'trigger'`))
		if err != nil {
			return err
		}
		var drop []string
		for _, name := range names {
			drop = append(drop, "DROP TRIGGER "+name)
		}
		for _, t := range tables {
			drop = append(drop, "DELETE FROM "+t.name)
		}
		for _, q := range drop {
			if _, err := tx.Exec(q); err != nil {
				return err
			}
		}
		return nil
	})
}

// finishFile creates the triggers and gives the file its name.
func (c *copier) finishFile(ctx context.Context, path string) error {
	if err := c.to.Write(ctx, func(tx *Tx) error {
		for _, q := range c.triggers {
			if _, err := tx.Exec(q); err != nil {
				return err
			}
		}
		return nil
	}); err != nil {
		return fmt.Errorf("store: complete the copy: %w", err)
	}
	if err := c.to.Close(); err != nil {
		return fmt.Errorf("store: complete the copy: %w", err)
	}
	if err := system.RenameDurable(copyPath(path), path); err != nil {
		return fmt.Errorf("store: complete the copy: %w", err)
	}
	return nil
}

// finishShared enables the triggers and removes the mark.
func (c *copier) finishShared(ctx context.Context) error {
	err := c.to.Write(ctx, func(tx *Tx) error {
		if err := setTriggers(tx, "ENABLE"); err != nil {
			return err
		}
		_, err := tx.Exec("DROP TABLE store_copy")
		return err
	})
	if err != nil {
		return fmt.Errorf("store: complete the copy: %w", err)
	}
	return nil
}

// setTriggers enables or disables the triggers of all tables of PostgreSQL.
func setTriggers(q interface {
	Querier
	Exec(query string, args ...any) (sql.Result, error)
}, how string,
) error {
	names, err := scanNames(q.Query(`SELECT name FROM sqlite_master WHERE type = 'table'`))
	if err != nil {
		return err
	}
	for _, name := range names {
		if _, err := q.Exec("ALTER TABLE " + name + " " + how + " TRIGGER USER"); err != nil {
			return err
		}
	}
	return nil
}

func scanNames(rows *sql.Rows, err error) (out []string, _ error) {
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for rows.Next() {
		var name string
		if err := rows.Scan(&name); err != nil {
			return nil, err
		}
		out = append(out, name)
	}
	return out, rows.Err()
}

// tableShape describes a table. Both databases have the same columns.
type tableShape struct {
	name      string
	cols, key []string
}

// describeTables returns the tables of the migrations, from an empty database in a temporary folder.
func describeTables(ctx context.Context, sets []MigrationSet) (_ []tableShape, err error) {
	dir, err := os.MkdirTemp("", "hob-tables-")
	if err != nil {
		return nil, fmt.Errorf("store: describe the tables: %w", err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	s, err := Open(ctx, filepath.Join(dir, "hob.db"), sets, Options{Volatile: true, SkipCheck: true})
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	rows, err := s.r.QueryContext(ctx, `SELECT t.name, c.name, c.pk FROM sqlite_master t, pragma_table_info(t.name) c
		WHERE t.type = 'table' AND t.name NOT LIKE 'sqlite\_%' ESCAPE '\' AND t.name <> 'migrations' ORDER BY t.name, c.cid`)
	if err != nil {
		return nil, fmt.Errorf("store: describe the tables: %w", err)
	}
	defer rows.Close()
	var out []tableShape
	var order []int
	for rows.Next() {
		var table, column string
		var pk int
		if err := rows.Scan(&table, &column, &pk); err != nil {
			return nil, fmt.Errorf("store: describe the tables: %w", err)
		}
		if len(out) == 0 || out[len(out)-1].name != table {
			out, order = append(out, tableShape{name: table}), nil
		}
		t := &out[len(out)-1]
		t.cols = append(t.cols, column)
		if pk > 0 { // the columns of a key may stand in another order
			at, _ := slices.BinarySearch(order, pk)
			order, t.key = slices.Insert(order, at, pk), slices.Insert(t.key, at, column)
		}
	}
	for i := range out {
		if t := &out[i]; len(t.key) == 0 {
			t.key, t.cols = []string{"rowid"}, append(t.cols, "rowid")
		}
	}
	return out, rows.Err()
}

// copyTable copies the rows that the target does not have yet, and compares the digests.
func (c *copier) copyTable(ctx context.Context, t tableShape) (CopiedTable, error) {
	for again := false; ; again = true {
		if err := c.copyRows(ctx, t); err != nil {
			return CopiedTable{}, err
		}
		want, err := c.digestTable(ctx, c.from, t)
		if err != nil {
			return CopiedTable{}, err
		}
		got, err := c.digestTable(ctx, c.to, t)
		if err != nil {
			return CopiedTable{}, err
		}
		if got == want {
			return got, nil
		}
		if again {
			return CopiedTable{}, fmt.Errorf("%d rows with the digest %.12s became %d rows with %.12s; stop all processes that use the databases and repeat", want.Rows, want.Digest, got.Rows, got.Digest)
		}
		// the source was changed after an earlier attempt
		if err := c.to.Write(ctx, func(tx *Tx) error {
			_, err := tx.Exec("DELETE FROM " + t.name)
			return err
		}); err != nil {
			return CopiedTable{}, err
		}
	}
}

// copyRows copies rows in the order of their key, so that the largest key of the target tells where to
// go on.
func (c *copier) copyRows(ctx context.Context, t tableShape) error {
	last, err := t.readRows(ctx, c.to, nil, 1, " DESC")
	if err != nil {
		return err
	}
	var after []any
	if len(last) > 0 {
		after = t.keyOf(last[0])
	}
	n := int64(0)
	for {
		rows, err := t.readRows(ctx, c.from, after, batchRows, "")
		if err != nil || len(rows) == 0 {
			return err
		}
		if err := c.to.Write(ctx, func(tx *Tx) error { return t.insertRows(tx, rows) }); err != nil {
			return err
		}
		after = t.keyOf(rows[len(rows)-1])
		n += int64(len(rows))
		if c.progress != nil {
			c.progress(t.name, n)
		}
	}
}

// readRows returns the rows after a key.
func (t tableShape) readRows(ctx context.Context, s *Store, after []any, limit int, direction string) ([][]any, error) {
	q := "SELECT " + quoteNames(t.cols) + " FROM " + t.name
	if after != nil {
		q += " WHERE (" + quoteNames(t.key) + ") > (" + strings.TrimSuffix(strings.Repeat("?, ", len(t.key)), ", ") + ")"
	}
	q += " ORDER BY " + strings.ReplaceAll(quoteNames(t.key), ",", direction+",") + direction + fmt.Sprintf(" LIMIT %d", limit)
	rows, err := s.Reader(ctx).Query(q, after...)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var out [][]any
	for rows.Next() {
		vals, to := make([]any, len(t.cols)), make([]any, len(t.cols))
		for i := range vals {
			to[i] = &vals[i]
		}
		if err := rows.Scan(to...); err != nil {
			return nil, err
		}
		out = append(out, vals)
	}
	return out, rows.Err()
}

// quoteNames lists column names. Migrations use none that needs a quotation mark inside.
func quoteNames(names []string) string { return `"` + strings.Join(names, `", "`) + `"` }

func (t tableShape) keyOf(row []any) (out []any) {
	for _, k := range t.key {
		out = append(out, row[slices.Index(t.cols, k)])
	}
	return out
}

func (t tableShape) insertRows(tx *Tx, rows [][]any) error {
	one := "(" + strings.TrimSuffix(strings.Repeat("?, ", len(t.cols)), ", ") + "), "
	args := make([]any, 0, len(rows)*len(t.cols))
	for _, r := range rows {
		args = append(args, r...)
	}
	_, err := tx.Exec("INSERT INTO "+t.name+" ("+quoteNames(t.cols)+") VALUES "+strings.TrimSuffix(strings.Repeat(one, len(rows)), ", "), args...)
	return err
}

func (c *copier) digestTable(ctx context.Context, s *Store, t tableShape) (CopiedTable, error) {
	h, n := sha256.New(), int64(0)
	var after []any
	for {
		rows, err := t.readRows(ctx, s, after, batchRows, "")
		if err != nil {
			return CopiedTable{}, err
		}
		if len(rows) == 0 {
			return CopiedTable{Table: t.name, Rows: n, Digest: hex.EncodeToString(h.Sum(nil))}, nil
		}
		for _, r := range rows {
			writeDigest(h, r)
		}
		after = t.keyOf(rows[len(rows)-1])
		n += int64(len(rows))
	}
}

// writeDigest adds a row. A number counts as the same in both forms, and so do a text and a blob.
func writeDigest(h hash.Hash, row []any) {
	for _, v := range row {
		switch v := v.(type) {
		case nil:
			_, _ = fmt.Fprint(h, "-;")
		case float64:
			_, _ = fmt.Fprintf(h, "n%v;", v)
		case int64:
			_, _ = fmt.Fprintf(h, "n%d;", v)
		case []byte:
			_, _ = fmt.Fprintf(h, "t%d:%s;", len(v), v)
		case string:
			_, _ = fmt.Fprintf(h, "t%d:%s;", len(v), v)
		default:
			_, _ = fmt.Fprintf(h, "?%v;", v)
		}
	}
}

// copySequences copies the last numbers of rows, so that no number is used twice.
func (c *copier) copySequences(ctx context.Context) error {
	seqs := map[string]int64{}
	if err := queryPairs(ctx, c.from.r, `SELECT name, seq FROM sqlite_sequence`, seqs); err != nil {
		return err
	}
	names := make([]string, 0, len(seqs))
	for name := range seqs {
		names = append(names, name)
	}
	sorting.ByFunc(names, strings.Compare)
	return c.to.Write(ctx, func(tx *Tx) error {
		for _, name := range names {
			if _, err := tx.Exec(`DELETE FROM sqlite_sequence WHERE name = ?`, name); err != nil {
				return err
			}
			if _, err := tx.Exec(`INSERT INTO sqlite_sequence (name, seq) VALUES (?, ?)`, name, seqs[name]); err != nil {
				return err
			}
		}
		return nil
	})
}
