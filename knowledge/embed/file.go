package embed

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"
	_ "modernc.org/sqlite/vec" // registers vec_distance_cosine
)

// version is the schema version. A file with another version is rebuilt.
const version = 1

// schema: vectors has one row per row of docs; v is NULL if the model rejects the text. A place is
// a realm and a kind. chunks contains one bit per number (its sign) for the first pass. One blob
// contains the bits of several hundred rows of one place, because the scan time depends on the
// number of blobs. Slot k of a chunk is the k-th number of ns and the k-th group of bits.
const schema = `
CREATE TABLE state (name TEXT PRIMARY KEY, value NOT NULL) WITHOUT ROWID;
CREATE TABLE places (id INTEGER PRIMARY KEY, realm TEXT NOT NULL, kind TEXT NOT NULL, UNIQUE (realm, kind));
CREATE TABLE vectors (n INTEGER PRIMARY KEY, place INTEGER NOT NULL, hash BLOB NOT NULL, chunk INTEGER NOT NULL, slot INTEGER NOT NULL, v BLOB);
CREATE TABLE chunks (id INTEGER PRIMARY KEY, place INTEGER NOT NULL, used INTEGER NOT NULL, ns BLOB NOT NULL, bits BLOB NOT NULL);
CREATE INDEX chunks_place ON chunks (place, used);`

// vectorFile is the vector database. It has one writer and several readers.
type vectorFile struct {
	w, r *sql.DB
}

// pragmas makes deletions permanent: the rollback journal is truncated after each transaction, so
// it contains no deleted data. A write-ahead log would contain deleted data until a checkpoint.
// secure_delete overwrites deleted data in the file itself.
const pragmas = "?_pragma=busy_timeout(10000)&_pragma=page_size(16384)&_pragma=cache_size(-1024)&_pragma=journal_mode(TRUNCATE)" +
	"&_pragma=synchronous(FULL)&_pragma=secure_delete(1)&_pragma=temp_store(MEMORY)"

func openFile(ctx context.Context, path string) (_ *vectorFile, err error) {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return nil, fmt.Errorf("embed: create the folder of the vector file: %w", err)
	}
	made, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, fmt.Errorf("embed: open the vector file: %w; check the permissions and free space of the folder", err)
	}
	if err := made.Close(); err != nil {
		return nil, fmt.Errorf("embed: create the vector file: %w", err)
	}
	f := &vectorFile{}
	name := "file:" + strings.NewReplacer("%", "%25", "?", "%3f", "#", "%23").Replace(filepath.ToSlash(path)) + pragmas
	if f.w, err = sql.Open("sqlite", name+"&_txlock=immediate"); err != nil {
		return nil, fmt.Errorf("embed: open the vector file: %w", err)
	}
	if f.r, err = sql.Open("sqlite", name+"&_pragma=query_only(1)"); err != nil {
		return nil, errors.Join(fmt.Errorf("embed: open the vector file: %w", err), f.w.Close())
	}
	f.w.SetMaxOpenConns(1)
	f.r.SetMaxOpenConns(2)
	for _, db := range []*sql.DB{f.w, f.r} {
		db.SetConnMaxIdleTime(20 * time.Second) // releases the memory of idle connections
	}
	if err := f.prepareSchema(ctx); err != nil {
		return nil, errors.Join(err, f.close())
	}
	return f, nil
}

// errVersion is returned for a file with another schema version.
var errVersion = errors.New("embed: the vector file was written by another version of Hob")

func (f *vectorFile) prepareSchema(ctx context.Context) error {
	var have, tables int
	err := f.w.QueryRowContext(ctx, `PRAGMA user_version`).Scan(&have)
	if err == nil {
		err = f.w.QueryRowContext(ctx, `SELECT count(*) FROM sqlite_master`).Scan(&tables)
	}
	switch {
	case err != nil:
		return fmt.Errorf("embed: read the vectors: %w", err)
	case tables > 0 && have != version:
		return errVersion
	case tables > 0:
		return nil
	}
	return f.writeTx(ctx, func(tx *sql.Tx) error {
		_, err := tx.ExecContext(ctx, schema+fmt.Sprintf("PRAGMA user_version = %d;", version))
		return err
	})
}

// writeTx runs fn in a durable transaction.
func (f *vectorFile) writeTx(ctx context.Context, fn func(*sql.Tx) error) error {
	tx, err := f.w.BeginTx(ctx, nil)
	if err != nil {
		return fmt.Errorf("embed: write vectors: %w", err)
	}
	if err := fn(tx); err != nil {
		return errors.Join(fmt.Errorf("embed: write vectors: %w", err), tx.Rollback())
	}
	if err := tx.Commit(); err != nil {
		return fmt.Errorf("embed: write vectors: %w", err)
	}
	return nil
}

func (f *vectorFile) close() error { return errors.Join(f.r.Close(), f.w.Close()) }

// isDamagedFile reports whether err means that the file is unusable and must be rebuilt.
func isDamagedFile(err error) bool {
	if errors.Is(err, errVersion) {
		return true
	}
	if e, ok := errors.AsType[*sqlite.Error](err); ok {
		switch e.Code() & 0xff {
		case sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB:
			return true
		}
	}
	return false
}

// Remove deletes a vector file that is not open.
func Remove(path string) error { return removeFile(path) }

func removeFile(path string) error {
	var errs []error
	for _, end := range []string{"", "-journal"} {
		if err := os.Remove(path + end); err != nil && !errors.Is(err, fs.ErrNotExist) {
			errs = append(errs, fmt.Errorf("embed: remove the vectors: %w", err))
		}
	}
	return errors.Join(errs...)
}
