// Package chatdb reads the Messages database of a Mac (~/Library/Messages/chat.db): senders, texts,
// times and chats. It never changes the file. It supports every schema since macOS 10.12 by
// checking which columns exist, and runs on any operating system. The imessage channel and `hob
// channel test imessage --db` use it.
package chatdb

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"modernc.org/sqlite"
)

// Errors that a caller can handle. fs.ErrNotExist means that the file does not exist.
var (
	// ErrNoAccess means that macOS does not let this process read the database.
	ErrNoAccess = errors.New("no permission to read the Messages database")
	// ErrNotMessages means that the file is not a Messages database.
	ErrNotMessages = errors.New("the file is not a Messages database")
)

// logEnd is the suffix that SQLite appends to the name of a database for the name of its
// write-ahead log.
const logEnd = "-wal"

// DB is an open database. Its methods may be called concurrently, except Changed.
type DB struct {
	sql     *sql.DB
	file    string
	private string    // folder of the copy; "" if the original file is open
	from    fileState // state of the original file when it was copied
	seen    fileState // state at the last call of Changed
	main    os.FileInfo
	log     os.FileInfo // nil if there was no log
	columns map[string]map[string]bool
}

// Open opens the file read-only. If SQLite cannot open it in place, for example in a read-only
// folder, Open reads a copy in a private folder within temp ("" means the system's folder).
//
// Only SQLite may open the file while a DB is open. Closing any file descriptor releases all locks
// of this process on the file, including those of another DB (sqlite.org/howtocorrupt.html, 2.2),
// and Messages would then remove its log.
func Open(ctx context.Context, file, temp string) (*DB, error) {
	info, err := os.Stat(file)
	switch {
	case errors.Is(err, fs.ErrPermission):
		return nil, fmt.Errorf("%w: %w", ErrNoAccess, err)
	case err != nil:
		return nil, err
	case !info.Mode().IsRegular():
		return nil, fmt.Errorf("%w: %s is not a regular file", ErrNotMessages, file)
	}
	log, _ := os.Stat(file + logEnd) // log is nil if there is no write-ahead log
	d, err := openInPlace(ctx, file)
	if err == nil {
		if log == nil { // SQLite has created a log in the meantime
			log, _ = os.Stat(file + logEnd)
		}
		d.file, d.main, d.log = file, info, log
		return d, nil
	}
	if !isCannotOpen(err) {
		return nil, err
	}
	if err := checkReadable(file); err != nil {
		return nil, err
	}
	return openCopy(ctx, file, temp)
}

// checkReadable distinguishes a missing permission from other errors.
func checkReadable(file string) error {
	f, err := os.Open(file) //nolint:gosec // the user chooses the file
	if errors.Is(err, fs.ErrPermission) {
		return fmt.Errorf("%w: %w", ErrNoAccess, err)
	}
	if err != nil {
		return err
	}
	return f.Close()
}

// lockWait is the maximum wait for a database that another program has locked.
const lockWait = 5 * time.Second

// openInPlace opens a file in place. It never uses immutable=1, which would ignore the newest
// messages, because they are in the log (sqlite.org/uri.html).
func openInPlace(ctx context.Context, file string) (_ *DB, err error) {
	at, err := filepath.Abs(file)
	if err != nil {
		return nil, err
	}
	at = strings.NewReplacer("%", "%25", "?", "%3f", "#", "%23").Replace(filepath.ToSlash(at))
	if !strings.HasPrefix(at, "/") {
		at = "/" + at // C:/x
	}
	pool, err := sql.Open("sqlite", "file://"+at+"?mode=ro&_pragma=query_only(1)&_pragma=busy_timeout("+strconv.FormatInt(lockWait.Milliseconds(), 10)+")&_pragma=cache_size(-2048)")
	if err != nil {
		return nil, err
	}
	pool.SetMaxOpenConns(2)
	d := &DB{sql: pool}
	defer func() {
		if err != nil {
			_ = pool.Close()
		}
	}()
	if d.columns, err = tableColumns(ctx, pool); err != nil {
		return nil, explainError(file, err)
	}
	for _, c := range []string{"guid", "text", "handle_id", "date", "is_from_me"} {
		if !d.columns["message"][c] {
			return nil, fmt.Errorf("%w: the message table of %s has no column %s", ErrNotMessages, file, c)
		}
	}
	return d, nil
}

// tableColumns returns the columns of each Messages table. A table that does not exist has none.
func tableColumns(ctx context.Context, pool *sql.DB) (map[string]map[string]bool, error) {
	rows, err := pool.QueryContext(ctx, "SELECT s.name, c.name FROM sqlite_schema s, pragma_table_info(s.name) c WHERE s.type = 'table' AND s.name IN ('message', 'handle', 'chat', 'attachment', 'chat_message_join', 'chat_handle_join', 'message_attachment_join', 'chat_recoverable_message_join', 'sqlite_sequence')")
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	out := map[string]map[string]bool{}
	for rows.Next() {
		var table, name string
		if err := rows.Scan(&table, &name); err != nil {
			return nil, err
		}
		if out[table] == nil {
			out[table] = map[string]bool{}
		}
		out[table][name] = true
	}
	return out, rows.Err()
}

// Result codes (sqlite.org/rescode.html).
const (
	codeBusy     = 5
	codeReadOnly = 8
	codeCorrupt  = 11
	codeCantOpen = 14
	codeAuth     = 23
	codeNoDB     = 26
)

func sqliteCode(err error) int {
	if e, ok := errors.AsType[*sqlite.Error](err); ok {
		return e.Code() & 0xff
	}
	return 0
}

// isCannotOpen reports whether err means that SQLite could not open the database in place although
// the file is readable. For a log without its index, SQLite returns "read-only".
func isCannotOpen(err error) bool {
	c := sqliteCode(err)
	return c == codeCantOpen || c == codeReadOnly
}

func explainError(file string, err error) error {
	switch sqliteCode(err) {
	case codeBusy:
		return fmt.Errorf("another program has locked %s for %s; Hob will retry: %w", file, lockWait, err)
	case codeAuth:
		return fmt.Errorf("%w: %w", ErrNoAccess, err)
	case codeNoDB, codeCorrupt:
		return fmt.Errorf("%w: %s: %w", ErrNotMessages, file, err)
	}
	return fmt.Errorf("read %s: %w", file, err)
}

// Close closes the database and, if it is a copy, removes the copy.
func (d *DB) Close() error {
	err := d.sql.Close()
	if d.private != "" {
		err = errors.Join(err, os.RemoveAll(d.private))
	}
	return err
}

// Stale reports whether the open files were replaced or the copy is outdated. The caller must then
// reopen the database: if the log was removed, for example, the DB would never see new rows.
func (d *DB) Stale() bool {
	if d.private != "" {
		now, err := stampOf(d.file)
		return err != nil || now != d.from
	}
	now, err := os.Stat(d.file)
	if err != nil || !os.SameFile(now, d.main) {
		return true
	}
	log, err := os.Stat(d.file + logEnd)
	return (err != nil) != (d.log == nil) || err == nil && !os.SameFile(log, d.log)
}

// Changed reports whether the file or its log was written since the last call. Calls must not be
// concurrent.
func (d *DB) Changed() bool {
	now, err := stampOf(d.file)
	was := d.seen
	d.seen = now
	return err != nil || now != was
}

// Copied reports whether the DB reads a copy.
func (d *DB) Copied() bool { return d.private != "" }
