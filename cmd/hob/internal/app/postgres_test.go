package app

import (
	"fmt"
	"net/http"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"hob/platform/store"
	"hob/platform/store/storetest"
)

// The tables of all packages are the same in both databases.
func TestMigrations_MakeTheSameTablesOnPostgreSQL(t *testing.T) {
	server := storetest.NewServer(t)
	columns := func(st *store.Store, query string) map[string]int {
		out := map[string]int{}
		rows, err := st.Read().QueryContext(t.Context(), query)
		failOnError(t, err)
		defer rows.Close()
		for rows.Next() {
			var name string
			failOnError(t, rows.Scan(&name))
			out[name]++
		}
		failOnError(t, rows.Err())
		return out
	}
	open := func(opt store.Options) *store.Store {
		st, err := store.Open(t.Context(), filepath.Join(t.TempDir(), "hob.db"), Migrations(), opt)
		failOnError(t, err)
		t.Cleanup(func() { failOnError(t, st.Close()) })
		return st
	}
	want := columns(open(store.Options{}), `SELECT t.name || '.' || lower(c.name) FROM sqlite_master t, pragma_table_info(t.name) c WHERE t.type = 'table' AND t.name NOT LIKE 'sqlite%'`)
	got := columns(open(store.Options{URL: server.URL("postgres")}), `SELECT table_name || '.' || column_name FROM information_schema.columns JOIN sqlite_master ON name = table_name
		WHERE table_schema = current_schema() AND type = 'table' AND table_name NOT IN ('sqlite_sequence', 'store_writers') AND column_name <> 'rowid'`)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if len(want) < 500 {
		t.Errorf("%d columns, want at least 500", len(want))
	}
}

// A home whose data is on a server may still have the file from before, which is no backup of that data.
func TestBackup_IsRefusedOnPostgreSQL(t *testing.T) {
	h := openDaemon(t, fmt.Sprintf("[store]\nurl = %q\n", storetest.NewServer(t).URL("postgres")))
	old, err := store.Open(t.Context(), h.d.opt.Paths.Database(), Migrations(), store.Options{})
	failOnError(t, err)
	failOnError(t, old.Close())
	if code, body := h.callAPI(http.MethodPost, "/api/v1/manage/backup", struct{}{}); code != http.StatusConflict || !strings.Contains(string(body), "the data is in PostgreSQL") {
		t.Errorf("backup = %d %s", code, body)
	}
}
