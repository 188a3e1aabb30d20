// Package store owns the one SQLite file in which Hob keeps everything: it
// opens it, sets the pragmas, applies the numbered migrations of the packages
// that own the tables, and hands out one writer and a pool of readers.
//
// It knows no table but its own list of migrations. Rows, queries and their
// meaning belong to the packages that own them. Times are stored as UTC
// integers (milliseconds since 1970); Millis and Time convert.
//
// Writes are group committed: closures given to Write from many goroutines run
// one after another on the writer's goroutine, each in a savepoint of its own,
// and share one durable commit. Write returns only after that commit.
package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	_ "modernc.org/sqlite" // the driver, registered as "sqlite"
)

// Errors a caller can act on.
var (
	// ErrNewerSchema: the file was written by a newer Hob. Remedy: update Hob.
	ErrNewerSchema = errors.New("the database was written by a newer version of Hob; update Hob, or point HOB_HOME at another folder")
	// ErrClosed: Write after Close.
	ErrClosed = errors.New("the store is closed")
	// ErrFull: the disk is full; nothing of the failed transaction was kept.
	ErrFull = errors.New("the disk is full and the change was not saved; free some space")
)

// Set is the migrations of one owning package. Steps[i] brings the schema of
// that owner to version i+1 and never changes once released.
type Set struct {
	Owner string
	Steps []string
}

// Options of Open; the zero value is useful.
type Options struct {
	// Readers is the largest number of concurrent read connections (default 4).
	Readers int
	// BackupDir receives the copy made before a migration (default
	// "backups" beside the file).
	BackupDir string
	// SkipCheck leaves out the PRAGMA quick_check at open, which small files
	// always get, files up to 64 MB after an unclean end, and files of any size
	// after damage was met.
	SkipCheck bool
	// Volatile is for a copy that nobody needs after the process: commits do not
	// wait for the disk, and connections stay open, however long nobody reads.
	Volatile bool
}

// Store is the open database. All methods may be called concurrently.
type Store struct {
	path      string
	backupDir string
	w         *sql.DB
	conn      *sql.Conn
	r         *sql.DB
	queue     chan *job
	stop      chan struct{}
	done      chan struct{}
	closing   func() error
	setAside  string
	copying   sync.Mutex // one backup at a time
	commits   atomic.Int64
}

// Open opens or creates the file and brings every set to its newest version.
// A file that is not a database, or damaged, is renamed aside (SetAside tells
// where) and the newest good backup, else an empty file, takes its place.
func Open(ctx context.Context, path string, sets []Set, opt Options) (*Store, error) {
	if opt.Readers <= 0 {
		opt.Readers = 4
	}
	if opt.BackupDir == "" {
		opt.BackupDir = filepath.Join(filepath.Dir(path), "backups")
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return nil, fmt.Errorf("store: make folder: %w; %s", err, remedyFolder)
	}
	err := cut(path, len(backups(opt.BackupDir)))
	if err == nil {
		s, oerr := open(ctx, path, sets, opt)
		if oerr == nil || !damaged(oerr) {
			return s, oerr
		}
		err = oerr
	}
	aside, rerr := replace(ctx, path, opt.BackupDir)
	if rerr != nil {
		return nil, fmt.Errorf("%w, and it could not be replaced by a backup: %w", err, rerr)
	}
	s, err := open(ctx, path, sets, opt)
	if err != nil {
		return nil, fmt.Errorf("%w (the damaged file is now %s)", err, aside)
	}
	s.setAside = aside
	return s, nil
}

func open(ctx context.Context, path string, sets []Set, opt Options) (_ *Store, err error) {
	s := &Store{
		path: path, backupDir: opt.BackupDir,
		queue: make(chan *job, 256), stop: make(chan struct{}), done: make(chan struct{}),
	}
	s.closing = sync.OnceValue(s.close)
	unclean := fileExists(path + "-wal")
	if err := touch(path); err != nil {
		return nil, fmt.Errorf("store: %w; %s", err, remedyFolder)
	}
	s.w, err = openDB(dsn(path, false))
	if err != nil {
		return nil, fmt.Errorf("store: %w", err)
	}
	s.w.SetMaxOpenConns(1)
	defer func() {
		if err != nil {
			if s.conn != nil {
				_ = s.conn.Close()
			}
			_ = s.w.Close()
		}
	}()
	if s.conn, err = s.w.Conn(ctx); err != nil {
		return nil, fmt.Errorf("store: open %s: %w", path, classify(err))
	}
	if err = s.verify(ctx, unclean, opt.SkipCheck); err != nil {
		return nil, err
	}
	if err = s.migrate(ctx, sets); err != nil {
		return nil, err
	}
	if s.r, err = openDB(dsn(path, true)); err != nil {
		return nil, fmt.Errorf("store: %w", err)
	}
	s.r.SetMaxOpenConns(opt.Readers)
	s.r.SetMaxIdleConns(opt.Readers)
	if !opt.Volatile {
		s.r.SetConnMaxIdleTime(time.Minute)
	} else if _, err = s.conn.ExecContext(ctx, "PRAGMA synchronous = OFF"); err != nil {
		return nil, errors.Join(fmt.Errorf("store: %w", classify(err)), s.r.Close())
	}
	go s.write() //nolint:contextcheck // the writer outlives the context of Open
	return s, nil
}

// dsn gives the pragmas of a connection. synchronous=FULL makes each commit
// durable before it returns (https://www.sqlite.org/pragma.html#pragma_synchronous).
func dsn(path string, readOnly bool) string {
	d := "file:" + escape(path) + "?_pragma=busy_timeout(5000)&_pragma=foreign_keys(1)&_pragma=cache_size(-1024)"
	if readOnly {
		return d + "&_pragma=query_only(1)&mode=rw" // rw: a file that was removed is not made anew, empty
	}
	return d + "&_pragma=journal_mode(WAL)&_pragma=synchronous(FULL)&_pragma=wal_autocheckpoint(1000)&_pragma=temp_store(MEMORY)&_pragma=secure_delete(1)"
}

// Path returns the file's path.
func (s *Store) Path() string { return s.path }

// SetAside returns where a damaged file was moved at open, "" if none was.
func (s *Store) SetAside() string { return s.setAside }

// Read returns the pool of read-only connections. Callers close their rows.
func (s *Store) Read() *sql.DB { return s.r }

// Commits counts what this process has committed. While it stays the same, so does
// everything that only this process writes.
func (s *Store) Commits() int64 { return s.commits.Load() }

// Close ends the writer after what is queued and closes the file. Closing
// again does nothing and gives the same answer.
func (s *Store) Close() error { return s.closing() }

func (s *Store) close() error {
	close(s.stop)
	<-s.done
	rerr := s.r.Close() // first: readers would hold up the truncation
	// Truncating the log marks a clean end; a leftover one asks for a check.
	_, cerr := s.conn.ExecContext(context.Background(), "PRAGMA wal_checkpoint(TRUNCATE)")
	return errors.Join(rerr, cerr, s.conn.Close(), s.w.Close())
}

// Millis gives the stored form of a time: milliseconds since 1970 UTC, 0 for
// the zero time.
func Millis(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.UnixMilli()
}

// Time reads the stored form back, in UTC.
func Time(ms int64) time.Time {
	if ms == 0 {
		return time.Time{}
	}
	return time.UnixMilli(ms).UTC()
}
