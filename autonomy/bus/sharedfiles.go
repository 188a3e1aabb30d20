package bus

import (
	"bytes"
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"hob/channels"
	"hob/platform/store"
	"hob/platform/store/lease"
)

// schemaFiles adds the files that other instances may need, and up to which file each instance has
// them.
const schemaFiles = `
CREATE TABLE shared_files (
	seq INTEGER PRIMARY KEY AUTOINCREMENT, instance TEXT NOT NULL, folder TEXT NOT NULL, name TEXT NOT NULL, data BLOB NOT NULL, at INTEGER NOT NULL);
CREATE TABLE shared_files_seen (instance TEXT PRIMARY KEY, seq INTEGER NOT NULL);
`

// sharedFilesTime is how long the database contains a file. An instance that was away for longer does
// not get it.
const sharedFilesTime = 3 * 24 * time.Hour

// The folders of shared files.
const (
	receivedFolder = "received"
	outgoingFolder = "outgoing"
)

// SharedFiles gives each instance of a fleet the files that messages contain: files that another
// instance received, before a turn that may read them begins, and files that another instance attached
// to an answer, before this one sends it. Without a fleet it does nothing. Its methods may be called
// concurrently.
type SharedFiles struct {
	db    *store.Store
	lease *lease.Member
	now   func() time.Time
	keep  func(ctx context.Context, name string, data []byte) (string, error)
	spool *channels.Spool
	log   *slog.Logger

	mu   sync.Mutex
	seen int64 // number of the last file that this instance has; -1 if it was not read yet
}

// Receive returns files with a Keep that also stores each file for the other instances. The name of a
// file contains a part of its digest, so that it is the same file on all instances.
func (f *SharedFiles) Receive(files channels.Files) channels.Files {
	if !f.lease.IsShared() {
		return files
	}
	f.keep = files.Keep
	files.Keep = func(ctx context.Context, name string, data []byte) (string, error) {
		sum := sha256.Sum256(data)
		ext := filepath.Ext(name)
		path, err := f.keep(ctx, strings.TrimSuffix(name, ext)+"-"+hex.EncodeToString(sum[:4])+ext, data)
		if err != nil {
			return path, err
		}
		return path, f.addFile(ctx, receivedFolder, filepath.Base(path), data)
	}
	return files
}

// Attach stores the copy of a file to send for the instance that will send it.
func (f *SharedFiles) Attach(ctx context.Context, file channels.OutgoingFile) error {
	if !f.lease.IsShared() {
		return nil
	}
	data, err := os.ReadFile(f.spool.Path(file.Digest))
	if err != nil {
		return fmt.Errorf("bus: share a file to send: %w", err)
	}
	return f.addFile(ctx, outgoingFolder, file.Digest, data)
}

// addFile stores a file for the other instances, and removes old ones.
func (f *SharedFiles) addFile(ctx context.Context, folder, name string, data []byte) error {
	now := f.now()
	err := f.db.Write(ctx, func(tx *store.Tx) error {
		if _, err := tx.Exec(`DELETE FROM shared_files WHERE at < ?`, store.Millis(now.Add(-sharedFilesTime))); err != nil {
			return err
		}
		_, err := tx.Exec(`INSERT INTO shared_files (instance, folder, name, data, at) VALUES (?,?,?,?,?)`, f.lease.Name(), folder, name, data, store.Millis(now))
		return err
	})
	if err != nil {
		return fmt.Errorf("bus: share a file with the other instances: %w", err)
	}
	return nil
}

// CatchUp writes the files of the other instances to the folders of this one. A file is committed
// before the event or the message that contains it, so after one of these was read, CatchUp finds the
// file.
func (f *SharedFiles) CatchUp(ctx context.Context) error {
	if !f.lease.IsShared() {
		return nil
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if err := f.copyMissing(ctx); err != nil {
		return fmt.Errorf("bus: copy the files that other instances share: %w", err)
	}
	return nil
}

// copyMissing implements CatchUp. The caller holds f.mu.
func (f *SharedFiles) copyMissing(ctx context.Context) error {
	db := f.db.Read()
	if f.seen < 0 {
		err := db.QueryRowContext(ctx, `SELECT seq FROM shared_files_seen WHERE instance = ?`, f.lease.Name()).Scan(&f.seen)
		if errors.Is(err, sql.ErrNoRows) {
			f.seen, err = 0, nil
		}
		if err != nil {
			f.seen = -1
			return err
		}
	}
	for before := f.seen; ; {
		var seq int64
		var instance, folder, name string
		var data []byte
		err := db.QueryRowContext(ctx, `SELECT seq, instance, folder, name, CASE WHEN instance = ?1 THEN x'' ELSE data END FROM shared_files WHERE seq > ?2 ORDER BY seq LIMIT 1`,
			f.lease.Name(), f.seen).Scan(&seq, &instance, &folder, &name, &data)
		switch {
		case errors.Is(err, sql.ErrNoRows) && f.seen == before:
			return nil
		case errors.Is(err, sql.ErrNoRows):
			return f.db.Write(ctx, func(tx *store.Tx) error {
				_, err := tx.Exec(`INSERT INTO shared_files_seen (instance, seq) VALUES (?, ?) ON CONFLICT (instance) DO UPDATE SET seq = excluded.seq`, f.lease.Name(), f.seen)
				return err
			})
		case err != nil:
			return err
		}
		if instance != f.lease.Name() {
			if err := f.placeFile(ctx, folder, name, data); err != nil {
				if ctx.Err() != nil {
					return err
				}
				f.log.Warn("cannot write a file of another instance; messages with it lack it here", "folder", folder, "name", name, "err", err)
			}
		}
		f.seen = seq
	}
}

// placeFile writes a file of another instance. A file that exists is kept.
func (f *SharedFiles) placeFile(ctx context.Context, folder, name string, data []byte) error {
	switch {
	case folder == receivedFolder && f.keep != nil:
		_, err := f.keep(ctx, name, data)
		return err
	case folder == outgoingFolder && f.spool != nil:
		return f.spool.Put(ctx, channels.OutgoingFile{Name: name, Size: int64(len(data)), Digest: name}, func() (io.ReadCloser, error) {
			return io.NopCloser(bytes.NewReader(data)), nil
		})
	}
	return nil
}

// localizePaths sets the paths of files to the copies of this instance.
func (f *SharedFiles) localizePaths(files []channels.Attachment) {
	if f.lease.IsShared() && f.spool != nil {
		for i := range files {
			files[i].Path = f.spool.Path(filepath.Base(files[i].Path))
		}
	}
}

// eraseFilesTx removes all shared files when something is forgotten, because they may contain it. The
// other instances have the files that they needed.
func eraseFilesTx(tx *store.Tx) error {
	_, err := tx.Exec(`DELETE FROM shared_files`)
	return err
}
