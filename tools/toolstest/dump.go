package toolstest

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"hob/platform/store"
)

// Dump returns the rows of all tables. It omits the row numbers that the database assigns (columns named
// n and, with PostgreSQL, rowid), the ignored columns ("table.column") and the internal tables of the search index.
func Dump(t *testing.T, st *store.Store, ignore ...string) map[string][]string {
	t.Helper()
	out := map[string][]string{}
	columns, value := `SELECT name FROM pragma_table_info('%s') WHERE name <> 'n'`, "quote(%s)"
	if st.IsShared() {
		columns = `SELECT column_name FROM information_schema.columns WHERE table_schema = current_schema() AND table_name = '%s' AND column_name NOT IN ('n', 'rowid')`
		value = "coalesce(quote_literal(%s), 'NULL')"
	}
	for _, table := range queryColumn(t, st, `SELECT name FROM sqlite_master WHERE type = 'table'`) {
		if strings.HasPrefix(table, "sqlite_") || strings.Contains(table, "_fts") || slices.Contains(bookkeepingTables(), table) {
			continue
		}
		var parts []string
		for _, c := range queryColumn(t, st, fmt.Sprintf(columns, table)) {
			if !slices.Contains(ignore, table+"."+c) {
				parts = append(parts, fmt.Sprintf(value, c))
			}
		}
		rows := queryColumn(t, st, fmt.Sprintf(`SELECT %s FROM %s`, strings.Join(parts, " || ' | ' || "), table))
		slices.Sort(rows)
		out[table] = rows
	}
	return out
}

// bookkeepingTables returns the tables that an undo does not restore: tables that record changes of
// other tables, the commits of PostgreSQL, and tables that cache public data from the network.
func bookkeepingTables() []string {
	return []string{"migrations", "doc_changes", "currency_rates", "store_writers"}
}

func queryColumn(t *testing.T, st *store.Store, query string) []string {
	t.Helper()
	rows, err := st.Reader(context.WithoutCancel(t.Context())).Query(query)
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	var out []string
	for rows.Next() {
		var s string
		if err := rows.Scan(&s); err != nil {
			t.Fatal(err)
		}
		out = append(out, s)
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	return out
}

// listTree lists the files below dir with their modes and contents.
func listTree(t *testing.T, dir string) []string {
	t.Helper()
	var out []string
	err := filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(dir, path)
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		line := fmt.Sprintf("%s %s", info.Mode(), filepath.ToSlash(rel))
		if d.Type().IsRegular() {
			b, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			line += fmt.Sprintf(" %q", b)
		}
		out = append(out, line)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}
