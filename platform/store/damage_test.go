package store_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"hob/platform/store"
)

func overwriteBytes(t *testing.T, path string, at int64, data []byte) {
	t.Helper()
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	failOnError(t, err)
	_, err = f.WriteAt(data, at)
	failOnError(t, errors.Join(err, f.Close()))
}

func fileSize(t *testing.T, path string) int64 {
	t.Helper()
	fi, err := os.Stat(path)
	failOnError(t, err)
	return fi.Size()
}

// damages lists ways to damage a file.
var damages = []struct {
	name string
	do   func(t *testing.T, path string)
}{
	{"garbage header", func(t *testing.T, path string) { overwriteBytes(t, path, 0, []byte("garbage garbage garbage")) }},
	{"not a database", func(t *testing.T, path string) {
		failOnError(t, os.WriteFile(path, bytes.Repeat([]byte("x"), 9000), 0o600))
	}},
	{"truncated to half", func(t *testing.T, path string) { failOnError(t, os.Truncate(path, fileSize(t, path)/2)) }},
	{"truncated within a page", func(t *testing.T, path string) { failOnError(t, os.Truncate(path, fileSize(t, path)-1000)) }},
	{"truncated to 0 bytes", func(t *testing.T, path string) { failOnError(t, os.Truncate(path, 0)) }},
	{"a page of noise in the middle", func(t *testing.T, path string) {
		overwriteBytes(t, path, fileSize(t, path)/2&^4095, bytes.Repeat([]byte{0xA5}, 4096))
	}},
	{"a page of zeros in the middle", func(t *testing.T, path string) {
		overwriteBytes(t, path, fileSize(t, path)/2&^4095, make([]byte, 4096))
	}},
	{"a flipped pointer", func(t *testing.T, path string) {
		overwriteBytes(t, path, fileSize(t, path)/2&^4095+8, []byte{0xff, 0xff, 0xff, 0xff})
	}},
}

func insertMany(t *testing.T, db *store.Store, n, size int) {
	t.Helper()
	failOnError(t, db.Write(t.Context(), func(tx *store.Tx) error {
		for k := range n {
			if _, err := tx.Exec(`INSERT INTO t VALUES (?, ?)`, k, strings.Repeat("v", size)); err != nil {
				return err
			}
		}
		return nil
	}))
}

// createGrown creates a database with several pages. It returns the rows that a backup contains; one more
// row follows the backup.
func createGrown(t *testing.T, path string, backup bool) []string {
	t.Helper()
	db := openStore(t, path)
	insertMany(t, db, 40, 1500)
	if backup {
		_, err := db.BackupNow(t.Context())
		failOnError(t, err)
	}
	want := shortenRows(listRows(t, db.Reader(t.Context())))
	insertRow(t, db, 1000, "after the backup")
	failOnError(t, db.Close())
	return want
}

func TestOpen_MovesADamagedFileAside(t *testing.T) {
	for _, d := range damages {
		for _, backup := range []bool{true, false} {
			if d.name == "truncated to 0 bytes" && !backup {
				continue // an empty file is a new database
			}
			t.Run(fmt.Sprintf("%s, backup %v", d.name, backup), func(t *testing.T) {
				path := tempPath(t)
				want := createGrown(t, path, backup)
				if !backup {
					want = []string{}
				}
				d.do(t, path)
				broken, err := os.ReadFile(path)
				failOnError(t, err)
				db := openStore(t, path)
				if diff := cmp.Diff(want, shortenRows(listRows(t, db.Reader(t.Context())))); diff != "" {
					t.Error(diff)
				}
				aside := db.QuarantinedPath()
				if !strings.HasPrefix(aside, path+".damaged-") {
					t.Fatalf("the damaged file was moved to %q", aside)
				}
				kept, err := os.ReadFile(aside)
				failOnError(t, err)
				if !bytes.Equal(broken, kept) {
					t.Error("the damaged file was changed")
				}
				insertRow(t, db, 2000, "goes on")
				failOnError(t, db.Close())
				db = openStore(t, path)
				if r := db.Replacement(); db.QuarantinedPath() != "" || r == nil || r.Aside != aside || (r.Backup != "") != backup {
					t.Errorf("after reopening: moved aside %q, replacement %+v", db.QuarantinedPath(), r)
				}
				failOnError(t, db.ConfirmReplacement())
				failOnError(t, db.Close())
				if db = openStore(t, path); db.Replacement() != nil {
					t.Errorf("after the confirmation: replacement %+v", db.Replacement())
				}
			})
		}
	}
}

// After an unclean exit, the content of the write-ahead log is kept: in the log that is moved aside
// with the damaged file, or in the file itself if SQLite checkpointed the log when it closed the
// file.
func TestOpen_MovesTheLogWithADamagedFile(t *testing.T) {
	path := tempPath(t)
	db := openStore(t, path)
	insertMany(t, db, 40, 1500)
	raw, err := sql.Open("sqlite", path)
	failOnError(t, err)
	_, err = raw.ExecContext(t.Context(), `PRAGMA wal_checkpoint(RESTART)`)
	failOnError(t, errors.Join(err, raw.Close()))
	insertRow(t, db, 1000, "only in the log")
	crashed := copyCrashed(t, path)
	overwriteBytes(t, crashed, 0, []byte("garbage garbage garbage"))
	after := openStore(t, crashed)
	if after.QuarantinedPath() == "" {
		t.Fatal("the damaged file was not moved aside")
	}
	kept, err := os.ReadFile(after.QuarantinedPath())
	failOnError(t, err)
	log, _ := os.ReadFile(after.QuarantinedPath() + "-wal")
	if !bytes.Contains(append(kept, log...), []byte("only in the log")) {
		t.Errorf("the write-ahead log was lost: %v", listFiles(t, filepath.Dir(crashed)))
	}
	if n := countRows(t, after); n != 0 {
		t.Errorf("%d rows restored from an old write-ahead log", n)
	}
}

// copyCrashed copies the files that a SIGKILL would leave.
func copyCrashed(t *testing.T, path string) string {
	t.Helper()
	to := filepath.Join(t.TempDir(), filepath.Base(path))
	for _, ext := range []string{"", "-wal"} {
		b, err := os.ReadFile(path + ext)
		failOnError(t, err)
		failOnError(t, os.WriteFile(to+ext, b, 0o600))
	}
	return to
}

func TestOpen_LosesNothingAfterACrash(t *testing.T) {
	path := tempPath(t)
	db := openStore(t, path)
	for k := range 30 {
		insertRow(t, db, k, strings.Repeat("v", 1000))
		if k%10 == 9 {
			after := openStore(t, copyCrashed(t, path))
			if n := countRows(t, after); n != k+1 || after.QuarantinedPath() != "" {
				t.Errorf("%d of %d rows, moved aside %q", n, k+1, after.QuarantinedPath())
			}
		}
	}
}

// The newest intact backup is restored, not the newest one.
func TestOpen_SkipsADamagedBackup(t *testing.T) {
	for _, d := range damages {
		t.Run(d.name, func(t *testing.T) {
			path := tempPath(t)
			want := createGrown(t, path, true)
			db := openStore(t, path)
			bad, err := db.BackupNow(t.Context())
			failOnError(t, err)
			failOnError(t, db.Close())
			d.do(t, bad)
			overwriteBytes(t, path, 0, []byte("garbage garbage garbage"))
			db = openStore(t, path)
			if diff := cmp.Diff(want, shortenRows(listRows(t, db.Reader(t.Context())))); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// Damage found at runtime makes the next start check and replace the file.
func TestOpen_ReplacesAFileFoundDamagedAtRuntime(t *testing.T) {
	path := tempPath(t)
	db := openStore(t, path)
	_, err := db.BackupNow(t.Context())
	failOnError(t, err)
	insertMany(t, db, 60, 100_000) // larger than files that are checked at each start
	failOnError(t, db.Close())
	overwriteBytes(t, path, fileSize(t, path)/2&^4095, make([]byte, 8192))
	db = openStore(t, path)
	if db.QuarantinedPath() != "" {
		t.Skip("damage was found at open")
	}
	if err := db.Check(t.Context()); err == nil || !strings.Contains(err.Error(), "restart Hob") {
		t.Errorf("Check = %v", err)
	}
	failOnError(t, db.Close())
	db = openStore(t, path)
	if db.QuarantinedPath() == "" {
		t.Error("the damaged file was not replaced at the next start")
	}
	failOnError(t, db.Close())
	if got := listFiles(t, filepath.Dir(path)); len(got) != 4 { // including the record of the replacement
		t.Errorf("files: %v", got)
	}
}

// A crash while the damaged file is replaced, at any instant, loses neither the damaged file nor the
// record that the data is old, and never starts an empty home.
func TestOpen_CompletesReplacementAfterCrash(t *testing.T) {
	record := func(t *testing.T, path, aside string) {
		t.Helper()
		failOnError(t, os.WriteFile(path+"-replaced", fmt.Appendf(nil, `{"id":"r1","aside":%q,"backup":"hob-x.db"}`, aside), 0o600))
	}
	copyFile := func(t *testing.T, from, to string) {
		t.Helper()
		b, err := os.ReadFile(from)
		failOnError(t, err)
		failOnError(t, os.WriteFile(to, b, 0o600))
	}
	for _, tt := range []struct {
		name  string
		crash func(t *testing.T, path, aside, backup string)
		kept  bool // a damaged file existed
	}{
		{"after the copy", func(t *testing.T, path, _, backup string) { copyFile(t, backup, path+".restored") }, true},
		{"after the record", func(t *testing.T, path, aside, backup string) {
			copyFile(t, backup, path+".restored")
			record(t, path, aside)
		}, true},
		{"after the link", func(t *testing.T, path, aside, backup string) {
			copyFile(t, backup, path+".restored")
			record(t, path, aside)
			failOnError(t, os.Link(path, aside))
		}, true},
		{"after the rename, without hard links", func(t *testing.T, path, aside, backup string) {
			copyFile(t, backup, path+".restored")
			record(t, path, aside)
			failOnError(t, os.Rename(path, aside))
		}, true},
		{"of an earlier version between its renames", func(t *testing.T, path, aside, backup string) {
			copyFile(t, backup, path+".restored")
			failOnError(t, os.Rename(path, aside))
		}, true},
		{"an earlier version without backups", func(t *testing.T, path, _, backup string) {
			failOnError(t, os.Rename(backup, path+".restored"))
			failOnError(t, os.Remove(path))
		}, false},
		{"and the database is missing", func(t *testing.T, path, _, _ string) { failOnError(t, os.Remove(path)) }, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			path := tempPath(t)
			want := createGrown(t, path, true)
			backup := filepath.Join(filepath.Dir(path), "backups", listFiles(t, filepath.Join(filepath.Dir(path), "backups"))[0])
			overwriteBytes(t, path, 0, []byte("garbage garbage garbage"))
			broken, err := os.ReadFile(path)
			failOnError(t, err)
			failOnError(t, os.WriteFile(path+"-wal", []byte("a log"), 0o600))
			tt.crash(t, path, path+".damaged-x", backup)
			db := openStore(t, path)
			if diff := cmp.Diff(want, shortenRows(listRows(t, db.Reader(t.Context())))); diff != "" {
				t.Error(diff)
			}
			r := db.Replacement()
			if r == nil || r.ID == "" || r.Backup == "" {
				t.Fatalf("Replacement = %+v", r)
			}
			var kept [][]byte
			for _, name := range listFiles(t, filepath.Dir(path)) {
				if strings.HasPrefix(name, "hob.db.damaged-") && !strings.HasSuffix(name, "-wal") {
					b, err := os.ReadFile(filepath.Join(filepath.Dir(path), name))
					failOnError(t, err)
					kept = append(kept, b)
				}
			}
			if tt.kept && (len(kept) != 1 || !bytes.Equal(kept[0], broken)) {
				t.Errorf("%d damaged files are stored, want 1: %v", len(kept), listFiles(t, filepath.Dir(path)))
			}
			if names := listFiles(t, filepath.Dir(path)); slices.Contains(names, "hob.db.restored") {
				t.Errorf("files: %v", names)
			}
		})
	}
}

// A file that the user puts in place of the damaged one after a crash is not overwritten.
func TestOpen_KeepsFileThatReplacesTheDamagedOne(t *testing.T) {
	path := tempPath(t)
	createGrown(t, path, true)
	good, err := os.ReadFile(path)
	failOnError(t, err)
	failOnError(t, os.WriteFile(path+".damaged-x", []byte("garbage"), 0o600))
	failOnError(t, os.WriteFile(path+".restored", nil, 0o600))
	failOnError(t, os.WriteFile(path+"-replaced", fmt.Appendf(nil, `{"id":"r1","aside":%q}`, path+".damaged-x"), 0o600))
	db := openStore(t, path)
	failOnError(t, db.Close())
	now, err := os.ReadFile(path)
	failOnError(t, err)
	if db.Replacement() != nil || len(now) != len(good) {
		t.Errorf("Replacement = %+v, %d bytes, want %d", db.Replacement(), len(now), len(good))
	}
	if names := listFiles(t, filepath.Dir(path)); slices.Contains(names, "hob.db.restored") || slices.Contains(names, "hob.db-replaced") {
		t.Errorf("files: %v", names)
	}
}

// A backup that cannot be read must not make Hob continue with an older or empty database.
func TestOpen_StopsWhenBackupCannotBeRead(t *testing.T) {
	path := tempPath(t)
	createGrown(t, path, true)
	failOnError(t, os.Mkdir(filepath.Join(filepath.Dir(path), "backups", "hob-99990101T000000.000.db"), 0o700))
	overwriteBytes(t, path, 0, []byte("garbage garbage garbage"))
	if _, err := store.Open(t.Context(), path, testSets(), store.Options{}); err == nil || !strings.Contains(err.Error(), "hob-99990101T000000.000.db") {
		t.Errorf("Open = %v, want the name of the backup", err)
	}
	if _, err := os.Stat(path); err != nil {
		t.Error(err)
	}
}

// A migration whose result fails the check is rolled back; the intact database is not replaced.
func TestOpen_KeepsDatabaseWhoseMigrationFailsItsCheck(t *testing.T) {
	path := tempPath(t)
	createGrown(t, path, true)
	db := openStore(t, path)
	want := shortenRows(listRows(t, db.Reader(t.Context())))
	failOnError(t, db.Close())
	bad := testSets(`CREATE TABLE checked (k INTEGER CHECK (k > 0)); PRAGMA ignore_check_constraints = 1; INSERT INTO checked VALUES (-1); PRAGMA ignore_check_constraints = 0`)
	_, err := store.Open(t.Context(), path, bad, store.Options{})
	if !errors.Is(err, store.ErrMigration) || store.IsDamaged(err) || strings.Contains(err.Error(), "restart Hob") {
		t.Errorf("Open = %v, want ErrMigration", err)
	}
	noDatabase := filepath.Join(filepath.Dir(path), "copy.db")
	failOnError(t, os.WriteFile(noDatabase, bytes.Repeat([]byte("x"), 9000), 0o600))
	_, err = store.Open(t.Context(), path, bad, store.Options{BeforeMigration: func(ctx context.Context, _ store.Migration) error {
		_, err := store.Inspect(ctx, noDatabase)
		return err
	}})
	if err == nil || store.IsDamaged(err) {
		t.Errorf("Open = %v, want the error of the copy", err)
	}
	db = openStore(t, path)
	if diff := cmp.Diff(want, shortenRows(listRows(t, db.Reader(t.Context())))); diff != "" || db.Replacement() != nil {
		t.Errorf("replacement %+v, %s", db.Replacement(), diff)
	}
}

// shortenRows shortens long rows in failure texts.
func shortenRows(rows []string) []string {
	for i, r := range rows {
		if len(r) > 40 {
			rows[i] = fmt.Sprintf("%s… %d bytes, %x", r[:10], len(r), sha256.Sum256([]byte(r)))
		}
	}
	return rows
}
