package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"
)

// keepBackups is how many automatic copies stay in the backup folder.
const keepBackups = 5

// checkBelow is the size in bytes up to which an unclean end is followed by
// PRAGMA quick_check at open; larger files are left to `hob doctor`.
const checkBelow = 64 << 20

func (s *Store) verify(ctx context.Context, check bool) error {
	var n int
	if err := s.conn.QueryRowContext(ctx, "SELECT count(*) FROM sqlite_master").Scan(&n); err != nil {
		return fmt.Errorf("store: read %s: %w", s.path, classify(err))
	}
	fi, err := os.Stat(s.path)
	if err != nil || !check || fi.Size() > checkBelow {
		return nil
	}
	return s.check(ctx, s.conn)
}

type querier interface {
	QueryContext(context.Context, string, ...any) (*sql.Rows, error)
}

func (s *Store) check(ctx context.Context, q querier) error {
	rows, err := q.QueryContext(ctx, "PRAGMA quick_check(5)")
	if err != nil {
		return fmt.Errorf("store: check %s: %w", s.path, classify(err))
	}
	defer rows.Close()
	var bad []string
	for rows.Next() {
		var line string
		if err := rows.Scan(&line); err != nil {
			return fmt.Errorf("store: check %s: %w", s.path, classify(err))
		}
		if line != "ok" {
			bad = append(bad, line)
		}
	}
	if err := rows.Err(); err != nil {
		return fmt.Errorf("store: check %s: %w", s.path, classify(err))
	}
	if len(bad) > 0 {
		return fmt.Errorf("store: %s: %w: %s", s.path, errDamaged, strings.Join(bad, "; "))
	}
	return nil
}

// Check runs SQLite's quick integrity check over the whole file.
func (s *Store) Check(ctx context.Context) error { return s.check(ctx, s.r) }

func (s *Store) migrate(ctx context.Context, sets []Set) error {
	const table = `CREATE TABLE IF NOT EXISTS migrations (
		owner TEXT NOT NULL, version INTEGER NOT NULL, applied_at INTEGER NOT NULL,
		PRIMARY KEY (owner, version)) WITHOUT ROWID`
	have, err := s.versions(ctx)
	if err != nil {
		return err
	}
	todo := false
	known := map[string]int{}
	for _, set := range sets {
		known[set.Owner] = len(set.Steps)
		todo = todo || have[set.Owner] < len(set.Steps)
	}
	for owner, v := range have {
		if v > known[owner] {
			return fmt.Errorf("store: %s: tables of %q are at version %d, this Hob knows %d: %w", s.path, owner, v, known[owner], ErrNewerSchema)
		}
	}
	if !todo {
		return nil
	}
	if len(have) > 0 {
		if _, err := s.backupTo(ctx, "pre-migration"); err != nil {
			return fmt.Errorf("store: backup before migration: %w", err)
		}
	}
	return s.apply(ctx, table, sets, have)
}

func (s *Store) apply(ctx context.Context, table string, sets []Set, have map[string]int) error {
	exec := func(q string, args ...any) error {
		_, err := s.conn.ExecContext(ctx, q, args...)
		return classify(err)
	}
	if err := exec("BEGIN IMMEDIATE"); err != nil {
		return fmt.Errorf("store: migrate: %w", err)
	}
	fail := func(err error) error { return errors.Join(err, exec("ROLLBACK")) }
	if err := exec(table); err != nil {
		return fail(fmt.Errorf("store: migrate: %w", err))
	}
	for _, set := range sets {
		for v := have[set.Owner]; v < len(set.Steps); v++ {
			if err := exec(set.Steps[v]); err != nil {
				return fail(fmt.Errorf("store: migrate %s to %d: %w", set.Owner, v+1, err))
			}
			if err := exec("INSERT INTO migrations VALUES (?, ?, ?)", set.Owner, v+1, time.Now().UnixMilli()); err != nil {
				return fail(fmt.Errorf("store: migrate %s to %d: %w", set.Owner, v+1, err))
			}
		}
	}
	if err := exec("COMMIT"); err != nil {
		return fail(fmt.Errorf("store: migrate: %w", err))
	}
	return nil
}

func (s *Store) versions(ctx context.Context) (map[string]int, error) {
	have := map[string]int{}
	rows, err := s.conn.QueryContext(ctx, "SELECT owner, max(version) FROM migrations GROUP BY owner")
	if err != nil {
		if strings.Contains(err.Error(), "no such table") {
			return have, nil
		}
		return nil, fmt.Errorf("store: read schema: %w", classify(err))
	}
	defer rows.Close()
	for rows.Next() {
		var o string
		var v int
		if err := rows.Scan(&o, &v); err != nil {
			return nil, fmt.Errorf("store: read schema: %w", classify(err))
		}
		have[o] = v
	}
	return have, classify(rows.Err())
}

// Backup writes a consistent copy of the whole database to dst, which must not
// exist, while everything goes on (https://www.sqlite.org/lang_vacuum.html).
func (s *Store) Backup(ctx context.Context, dst string) error {
	if fileExists(dst) {
		return fmt.Errorf("store: backup: %s already exists; choose another name", dst)
	}
	if err := os.MkdirAll(filepath.Dir(dst), 0o700); err != nil {
		return fmt.Errorf("store: backup: %w", err)
	}
	db, err := sql.Open("sqlite", dsn(s.path, false))
	if err != nil {
		return fmt.Errorf("store: backup: %w", err)
	}
	defer db.Close()
	return vacuumInto(ctx, db, dst)
}

// BackupNow makes a dated copy in the backup folder, keeps the newest five and
// returns its path.
func (s *Store) BackupNow(ctx context.Context) (string, error) {
	dst := filepath.Join(s.backupDir, "hob-"+stamp()+".db")
	if err := s.Backup(ctx, dst); err != nil {
		return "", err
	}
	prune(s.backupDir)
	return dst, nil
}

func (s *Store) backupTo(ctx context.Context, why string) (string, error) {
	if err := os.MkdirAll(s.backupDir, 0o700); err != nil {
		return "", err
	}
	dst := filepath.Join(s.backupDir, "hob-"+stamp()+"-"+why+".db")
	err := vacuumInto(ctx, s.conn, dst)
	prune(s.backupDir)
	return dst, err
}

type execer interface {
	ExecContext(context.Context, string, ...any) (sql.Result, error)
}

func vacuumInto(ctx context.Context, db execer, dst string) error {
	tmp := dst + ".part"
	_ = os.Remove(tmp)
	if err := touch(tmp); err != nil { // VACUUM INTO accepts an empty file: made 0600 first
		return fmt.Errorf("store: backup: %w", err)
	}
	if _, err := db.ExecContext(ctx, "VACUUM INTO ?", tmp); err != nil {
		_ = os.Remove(tmp)
		return fmt.Errorf("store: backup to %s: %w", dst, classify(err))
	}
	if err := os.Rename(tmp, dst); err != nil {
		return fmt.Errorf("store: backup: %w", err)
	}
	return nil
}

func stamp() string { return time.Now().UTC().Format("20060102T150405.000") }

func backups(dir string) []string {
	names, _ := filepath.Glob(filepath.Join(dir, "hob-*.db"))
	slices.Sort(names)
	return names
}

func prune(dir string) {
	names := backups(dir)
	for len(names) > keepBackups {
		_ = os.Remove(names[0])
		names = names[1:]
	}
}

// setAside renames the file and its log so that nothing of them is overwritten.
func setAside(path string) (string, error) {
	aside := path + ".damaged-" + stamp()
	if err := os.Rename(path, aside); err != nil {
		return "", err
	}
	for _, ext := range []string{"-wal", "-shm"} {
		if fileExists(path + ext) {
			if err := os.Rename(path+ext, aside+ext); err != nil {
				return "", err
			}
		}
	}
	return aside, nil
}

// restoreNewest copies the newest backup that opens and passes its check.
func restoreNewest(ctx context.Context, dir, path string) {
	names := backups(dir)
	slices.Reverse(names)
	for _, n := range names {
		db, err := sql.Open("sqlite", "file:"+escape(n)+"?mode=ro")
		if err != nil {
			continue
		}
		err = vacuumInto(ctx, db, path)
		_ = db.Close()
		if err == nil {
			return
		}
		_ = os.Remove(path)
	}
}

var errDamaged = errors.New("the database file is damaged")

func damaged(err error) bool { return errors.Is(err, errDamaged) }

// classify maps SQLite's codes to the package's errors
// (https://www.sqlite.org/rescode.html).
func classify(err error) error {
	if err == nil {
		return nil
	}
	se, ok := errors.AsType[*sqlite.Error](err)
	if !ok {
		return err
	}
	switch se.Code() & 0xff {
	case sqlite3.SQLITE_FULL:
		return fmt.Errorf("%w (%w)", ErrFull, err)
	case sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_CORRUPT:
		return fmt.Errorf("%w (%w)", errDamaged, err)
	case sqlite3.SQLITE_READONLY, sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_PERM:
		return fmt.Errorf("the database cannot be written; check the permissions and free space of its folder (%w)", err)
	}
	return err
}

func fileExists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// touch makes sure the file exists with owner-only permissions.
func touch(path string) error {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return err
	}
	return f.Close()
}

// escape makes a path safe inside a SQLite URI (https://www.sqlite.org/uri.html).
func escape(path string) string {
	return strings.NewReplacer("%", "%25", "?", "%3f", "#", "%23").Replace(filepath.ToSlash(path))
}
