package store

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"

	"hob/platform/store/postgres"
)

// The maximum sizes, in bytes, of files that are checked with PRAGMA quick_check (1 ms per MB) when
// they are opened: always, and after an unclean exit. Larger files are checked only by `hob doctor`
// or after damage was found in them.
const (
	checkAlways  = 4 << 20
	checkUnclean = 64 << 20
)

const remedyDamaged = "restart Hob: it moves the file aside and restores the newest good backup"

var errDamaged = errors.New("the database file is damaged; " + remedyDamaged)

// damageError contains the details of the damage. errors.Is recognizes it as errDamaged.
type damageError struct{ found string }

func (e *damageError) Error() string {
	return "the database file is damaged (" + e.found + "); " + remedyDamaged
}

func (*damageError) Is(target error) bool { return target == errDamaged }

const remedyFolder = "check the permissions and free space of the folder, or point HOB_HOME at another one"

func (s *Store) verifyDatabase(ctx context.Context, unclean, skip bool) error {
	var n int
	if err := s.conn.QueryRowContext(ctx, "SELECT count(*) FROM sqlite_master").Scan(&n); err != nil {
		return fmt.Errorf("store: read %s: %w", s.path, classifyError(err))
	}
	fi, err := os.Stat(s.path)
	if err != nil || skip {
		return nil
	}
	limit := int64(checkAlways)
	if unclean {
		limit = checkUnclean
	}
	if suspect := fileExists(s.suspectPath()); fi.Size()+fileSize(s.path+"-wal") > limit && !suspect {
		return nil
	}
	if err := quickCheck(ctx, s.conn, s.path); err != nil {
		return err
	}
	_ = os.Remove(s.suspectPath())
	return nil
}

// suspectPath returns the path of a marker file that makes the next Open check the database.
func (s *Store) suspectPath() string { return s.path + "-suspect" }

// markIfDamaged checks an error before it is returned. If the database is damaged, it marks the
// database for a check.
func (s *Store) markIfDamaged(err error) error {
	if isDamaged(err) {
		_ = ensureFile(s.suspectPath()) // if the marker cannot be created, the next start detects the damage only when it reads the damaged part
	}
	return err
}

// Check runs SQLite's quick integrity check over the whole file. On PostgreSQL, which checks its pages
// itself, it checks what other programs may have changed: migrations, triggers and indexes.
func (s *Store) Check(ctx context.Context) error {
	if s.shared != nil {
		return s.checkServer(ctx)
	}
	return s.markIfDamaged(quickCheck(ctx, s.r, s.path))
}

// CheckIntegrity runs SQLite's full integrity check, which also compares the indexes with their tables.
// It takes several times as long as Check.
func (s *Store) CheckIntegrity(ctx context.Context) error {
	if s.shared != nil {
		return s.checkServer(ctx)
	}
	return s.markIfDamaged(runCheck(ctx, s.r, s.path, "PRAGMA integrity_check(5)"))
}

// Checkpoint writes the content of the write-ahead log to the database and empties the log, unless
// readers use it (https://www.sqlite.org/pragma.html#pragma_wal_checkpoint).
func Checkpoint(ctx context.Context, path string) error {
	if !fileExists(path) {
		return nil
	}
	db, err := sql.Open("sqlite", dataSourceName(path, false))
	if err != nil {
		return fmt.Errorf("store: open the database for a checkpoint: %w", err)
	}
	defer db.Close()
	var busy, log, done int
	if err := db.QueryRowContext(ctx, "PRAGMA wal_checkpoint(TRUNCATE)").Scan(&busy, &log, &done); err != nil {
		return fmt.Errorf("store: checkpoint %s: %w", path, classifyError(err))
	}
	if busy != 0 {
		return fmt.Errorf("store: the write-ahead log of %s is in use; try again later", path)
	}
	return nil
}

// CreatedAt returns when a database was created. The error wraps fs.ErrNotExist if it does not exist.
func CreatedAt(ctx context.Context, path string) (time.Time, error) {
	if _, err := os.Stat(path); err != nil {
		return time.Time{}, fmt.Errorf("store: read the creation time: %w", err)
	}
	db, err := sql.Open("sqlite", dataSourceName(path, true))
	if err != nil {
		return time.Time{}, fmt.Errorf("store: read the creation time: %w", err)
	}
	defer db.Close()
	var ms int64
	if err := db.QueryRowContext(ctx, "SELECT coalesce(min(applied_at), 0) FROM migrations").Scan(&ms); err != nil {
		return time.Time{}, fmt.Errorf("store: read %s: %w", path, classifyError(err))
	}
	return Time(ms), nil
}

type querier interface {
	QueryContext(context.Context, string, ...any) (*sql.Rows, error)
}

func quickCheck(ctx context.Context, q querier, path string) error {
	return runCheck(ctx, q, path, "PRAGMA quick_check(5)")
}

func runCheck(ctx context.Context, q querier, path, pragma string) error {
	rows, err := q.QueryContext(ctx, pragma)
	if err != nil {
		return fmt.Errorf("store: check %s: %w", path, classifyError(err))
	}
	defer rows.Close()
	var bad []string
	for rows.Next() {
		var line string
		if err := rows.Scan(&line); err != nil {
			return fmt.Errorf("store: check %s: %w", path, classifyError(err))
		}
		if line != "ok" {
			bad = append(bad, line)
		}
	}
	if err := rows.Err(); err != nil {
		return fmt.Errorf("store: check %s: %w", path, classifyError(err))
	}
	if len(bad) > 0 {
		return fmt.Errorf("store: %s: %w", path, &damageError{strings.Join(bad, ", ")})
	}
	return nil
}

func isDamaged(err error) bool { return errors.Is(err, errDamaged) }

// primaryCode returns SQLite's primary result code, or 0 for other errors.
func primaryCode(err error) int {
	if se, ok := errors.AsType[*sqlite.Error](err); ok {
		return se.Code() & 0xff
	}
	return 0
}

// classifyError maps SQLite's codes to the package's errors
// (https://www.sqlite.org/rescode.html).
func classifyError(err error) error {
	if err == nil || errors.Is(err, ErrFull) || isDamaged(err) {
		return err
	}
	switch {
	case errors.Is(err, postgres.ErrFull):
		return &serverFullError{err}
	case errors.Is(err, driver.ErrBadConn):
		return fmt.Errorf("%w: connection lost", ErrAway)
	}
	switch primaryCode(err) {
	case sqlite3.SQLITE_FULL:
		return &fullError{err}
	case sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_CORRUPT:
		return &damageError{err.Error()}
	case sqlite3.SQLITE_READONLY, sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_PERM:
		return fmt.Errorf("the database cannot be opened for writing (%w); %s", err, remedyFolder)
	case sqlite3.SQLITE_IOERR:
		return fmt.Errorf("the disk cannot be read or written (%w); check its quota, free space and health", err)
	}
	return err
}

// fullError wraps an SQLite error and matches ErrFull. Its text omits the SQLite error.
type fullError struct{ err error }

func (*fullError) Error() string     { return ErrFull.Error() }
func (e *fullError) Unwrap() []error { return []error{ErrFull, e.err} }

// serverFullError wraps an error of PostgreSQL and matches ErrFull.
type serverFullError struct{ err error }

func (e *serverFullError) Error() string   { return "the change was not saved: " + e.err.Error() }
func (e *serverFullError) Unwrap() []error { return []error{ErrFull, e.err} }

// mayBeRolledBack reports whether the database may have rolled back the whole transaction after err
// (https://www.sqlite.org/lang_transaction.html, "Response To Errors Within A Transaction").
func mayBeRolledBack(err error) bool {
	if errors.Is(err, ErrAway) {
		return true
	}
	switch primaryCode(err) {
	case sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR, sqlite3.SQLITE_NOMEM, sqlite3.SQLITE_BUSY, sqlite3.SQLITE_INTERRUPT:
		return true
	}
	return false
}
