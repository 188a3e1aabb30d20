// Package store manages Hob's only SQLite file. It opens the file, sets the pragmas, applies the
// numbered migrations of the packages that own the tables, and provides one writer and a pool of
// readers.
//
// It owns only the table of migrations. The other tables, their queries and their meaning belong to
// other packages. Times are stored as UTC integers (milliseconds since 1970); Millis and Time
// convert them.
//
// Writes use group commit. Closures that many goroutines pass to Write run one after another on the
// writer's goroutine, each in its own savepoint, and share one durable commit. Write returns after
// that commit.
package store

import (
	"cmp"
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

// Errors that callers handle.
var (
	// ErrNewerSchema means that a newer version of Hob wrote the file. The remedy is to update Hob.
	ErrNewerSchema = errors.New("the database was written by a newer version of Hob; update Hob, or point HOB_HOME at another folder")
	// ErrClosed means that Write was called after Close.
	ErrClosed = errors.New("the store is closed")
	// ErrFull means that the disk is full and the transaction was rolled back.
	ErrFull = errors.New("the disk is full and the change was not saved; free space on the disk of Hob's data (for its folder and what is large there: hob doctor disk)")
)

// IsOutage reports whether err is about the state of the database and not about the work: the same
// work may succeed later.
func IsOutage(err error) bool {
	return errors.Is(err, ErrFull) || errors.Is(err, ErrAway) || errors.Is(err, ErrUnknown)
}

// MigrationSet contains the migrations of one package. Steps[i] upgrades the package's schema to
// version i+1 and never changes after a release.
type MigrationSet struct {
	Owner string
	Steps []string
	// RowChanges lists, for each version, the existing tables that the step drops or whose number
	// of rows it changes. If any other table changes in this way, the migration is rolled back.
	RowChanges map[int][]string
}

// Migration describes the migrations that a database needs before it can be used.
type Migration struct {
	Path     string
	From, To map[string]int // schema versions
}

// Options configures Open. The zero value is ready to use.
type Options struct {
	// Readers is the maximum number of concurrent read connections (default 4).
	Readers int
	// BackupDir is the folder for automatic backups (default "backups" next to the file).
	BackupDir string
	// SkipCheck disables PRAGMA quick_check when the database is opened. Without SkipCheck, Open
	// checks small files always, files up to 64 MB after an unclean exit, and files of any size
	// after damage was found. On PostgreSQL, Open compares the clocks instead, and the store is notified
	// of the commits of other instances.
	SkipCheck bool
	// BeforeMigration runs before the first migration of an existing database, which is open but
	// unchanged. An error stops Open. The default creates a dated backup.
	BeforeMigration func(context.Context, Migration) error
	// Volatile is for temporary copies: commits do not wait until the data is on disk, and idle
	// connections stay open.
	Volatile bool
	// URL is the address of a PostgreSQL database that instances share. If it is set, the file is not
	// used. Instance is the name of this one. Lease is the longest time for which an instance that does
	// not answer may keep the others from writing (default 15 s).
	URL, Instance string
	Lease         time.Duration
	copying       bool // see Copy
}

// Store is an open database. Its methods may be called concurrently.
type Store struct {
	path      string
	backupDir string
	w         *sql.DB
	conn      *sql.Conn
	r         *sql.DB
	queue     chan *writeJob
	stop      chan struct{}
	done      chan struct{}
	closing   func() error
	setAside  string
	replaced  *Replacement
	copying   sync.Mutex // serializes backups
	commits   atomic.Int64
	fence     *Fence    // see SetFence
	shared    *shared   // nil if the database is a file
	merging   *walMerge // nil if the write-ahead log was small when the database was opened
}

// Open opens or creates the file and applies all migrations. A file that is damaged or not a
// database is renamed (see QuarantinedPath) and replaced by the newest intact backup, or by an
// empty file if there is none. A missing file is replaced in the same way if there are backups. The
// caller handles Replacement.
func Open(ctx context.Context, path string, sets []MigrationSet, opt Options) (*Store, error) {
	if opt.Readers <= 0 {
		opt.Readers = 4
	}
	if opt.BackupDir == "" {
		opt.BackupDir = filepath.Join(filepath.Dir(path), "backups")
	}
	if opt.URL != "" {
		return openShared(ctx, path, sets, opt)
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return nil, fmt.Errorf("store: create the folder: %w; %s", err, remedyFolder)
	}
	if err := resumeReplacement(path); err != nil {
		return nil, fmt.Errorf("store: replace the damaged database: %w; %s", err, remedyFolder)
	}
	backups := len(listBackups(opt.BackupDir))
	err := checkTruncated(path, backups)
	if !fileExists(path) && (backups > 0 || fileExists(replacementCopy(path))) {
		err = fmt.Errorf("store: %s is missing: %w", path, errDamaged)
	}
	if err == nil {
		s, oerr := openStore(ctx, path, sets, opt)
		if oerr == nil {
			if s.replaced, oerr = currentReplacement(path); oerr != nil {
				return nil, errors.Join(oerr, s.Close())
			}
			return s, nil
		}
		if !isDamaged(oerr) {
			return nil, oerr
		}
		err = oerr
	}
	r, rerr := replaceByBackup(ctx, path, opt.BackupDir)
	if rerr != nil {
		return nil, fmt.Errorf("%w, and it could not be replaced by a backup: %w", err, rerr)
	}
	s, err := openStore(ctx, path, sets, opt)
	if err != nil {
		return nil, fmt.Errorf("%w (%s)", err, r)
	}
	s.setAside, s.replaced = r.Aside, r
	return s, nil
}

func openStore(ctx context.Context, path string, sets []MigrationSet, opt Options) (_ *Store, err error) {
	s := &Store{
		path: path, backupDir: opt.BackupDir,
		queue: make(chan *writeJob, 256), stop: make(chan struct{}), done: make(chan struct{}),
	}
	s.closing = sync.OnceValue(s.closeConnections)
	unclean := fileExists(path + "-wal")
	if err := ensureFile(path); err != nil {
		return nil, fmt.Errorf("store: create the database file: %w; %s", err, remedyFolder)
	}
	s.w, err = openDB(dataSourceName(path, false))
	if err != nil {
		return nil, fmt.Errorf("store: open the database: %w", err)
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
		return nil, fmt.Errorf("store: open %s: %w", path, classifyError(err))
	}
	largeWAL := fileSize(path+"-wal") > walLarge
	if largeWAL {
		if _, err = s.conn.ExecContext(ctx, "PRAGMA wal_autocheckpoint = 0"); err != nil {
			return nil, fmt.Errorf("store: configure the database: %w", classifyError(err))
		}
	}
	if err = s.verifyDatabase(ctx, unclean, opt.SkipCheck); err != nil {
		return nil, err
	}
	if err = s.migrateSchema(ctx, sets, opt.BeforeMigration); err != nil {
		return nil, err
	}
	if s.r, err = openDB(dataSourceName(path, true)); err != nil {
		return nil, fmt.Errorf("store: open the database for reading: %w", err)
	}
	s.r.SetMaxOpenConns(opt.Readers)
	s.r.SetMaxIdleConns(opt.Readers)
	if !opt.Volatile {
		s.r.SetConnMaxIdleTime(time.Minute)
	} else if _, err = s.conn.ExecContext(ctx, "PRAGMA synchronous = OFF"); err != nil {
		return nil, errors.Join(fmt.Errorf("store: configure the database: %w", classifyError(err)), s.r.Close())
	}
	go s.runWriter() //nolint:contextcheck // the writer outlives the context of Open
	if largeWAL {
		s.merging = s.mergeWAL() //nolint:contextcheck // the merging outlives the context of Open
	}
	return s, nil
}

// synchronous is set only by the linker of tests, whose databases may be lost when the machine fails
// (Makefile).
var synchronous string

// dataSourceName returns the connection string with pragmas. synchronous=FULL makes each commit durable before
// it returns (https://www.sqlite.org/pragma.html#pragma_synchronous).
func dataSourceName(path string, readOnly bool) string {
	d := "file:" + escapeURIPath(path) + "?_pragma=busy_timeout(5000)&_pragma=foreign_keys(1)&_pragma=cache_size(-1024)"
	if readOnly {
		return d + "&_pragma=query_only(1)&mode=rw" // mode=rw does not recreate a deleted file
	}
	return d + "&_pragma=journal_mode(WAL)&_pragma=wal_autocheckpoint(1000)&_pragma=temp_store(MEMORY)&_pragma=secure_delete(1)&_pragma=synchronous(" + cmp.Or(synchronous, "FULL") + ")"
}

// Path returns the file's path.
func (s *Store) Path() string { return s.path }

// QuarantinedPath returns the new path of a damaged file that this Open renamed, or "".
func (s *Store) QuarantinedPath() string { return s.setAside }

// Read returns the pool of read-only connections. Callers must close the rows that they get from
// it.
func (s *Store) Read() *sql.DB { return s.r }

// CommitCount returns the number of commits in this process. As long as it does not change, data
// that only this process writes has not changed either.
func (s *Store) CommitCount() int64 { return s.commits.Load() }

// NoteForeignCommit counts a commit of another process, because data that was read before may have changed.
func (s *Store) NoteForeignCommit() { s.commits.Add(1) }

// Close runs the queued writes and closes the file. Further calls do nothing and return the same
// error.
func (s *Store) Close() error { return s.closing() }

func (s *Store) closeConnections() error {
	s.merging.stopMerge()
	close(s.stop)
	<-s.done
	rerr := s.r.Close() // close the readers first, because they would prevent the truncation of the log
	// an empty log marks a clean exit; any other log makes the next Open check the file
	_, cerr := s.conn.ExecContext(context.Background(), "PRAGMA wal_checkpoint(TRUNCATE)")
	return errors.Join(rerr, cerr, s.conn.Close(), s.w.Close())
}

// Millis converts a time to milliseconds since 1970 (UTC). It converts the zero time to 0.
func Millis(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.UnixMilli()
}

// Time converts stored milliseconds to a time in UTC.
func Time(ms int64) time.Time {
	if ms == 0 {
		return time.Time{}
	}
	return time.UnixMilli(ms).UTC()
}
