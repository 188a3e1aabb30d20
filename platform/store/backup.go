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

	"hob/platform/host/system"
	"hob/platform/text/sorting"
)

// keepBackups is the number of automatic backups to keep.
const keepBackups = 5

// Backup writes a consistent copy of the whole database to dst, which must not exist. It blocks
// neither reads nor writes (https://www.sqlite.org/lang_vacuum.html).
func (s *Store) Backup(ctx context.Context, dst string) error {
	if s.shared != nil {
		return fmt.Errorf("store: backup: %w", ErrNoFile)
	}
	s.copying.Lock()
	defer s.copying.Unlock()
	return s.copyDatabase(ctx, dst)
}

func (s *Store) copyDatabase(ctx context.Context, dst string) error {
	if fileExists(dst) {
		return fmt.Errorf("store: backup: %s already exists; choose another name", dst)
	}
	if err := os.MkdirAll(filepath.Dir(dst), 0o700); err != nil {
		return fmt.Errorf("store: create the backup: %w; %s", err, remedyFolder)
	}
	db, err := sql.Open("sqlite", dataSourceName(s.path, false))
	if err != nil {
		return fmt.Errorf("store: open the database for a backup: %w", err)
	}
	defer db.Close()
	return s.markIfDamaged(vacuumInto(ctx, db, dst))
}

// BackupNow creates a dated backup in the backup folder, removes all but the newest five, and
// returns the path of the backup.
func (s *Store) BackupNow(ctx context.Context) (string, error) {
	dst := newBackupPath(s.backupDir, "")
	if err := s.Backup(ctx, dst); err != nil {
		return "", err
	}
	pruneBackups(s.backupDir)
	return dst, nil
}

func (s *Store) backupTo(ctx context.Context, why string) error {
	if err := os.MkdirAll(s.backupDir, 0o700); err != nil {
		return err
	}
	if err := vacuumInto(ctx, s.conn, newBackupPath(s.backupDir, why)); err != nil {
		return err
	}
	pruneBackups(s.backupDir)
	return nil
}

type execer interface {
	ExecContext(context.Context, string, ...any) (sql.Result, error)
}

// vacuumInto copies through a temporary file in the folder of dst, so that dst is either complete
// or does not exist.
func vacuumInto(ctx context.Context, db execer, dst string) (err error) {
	tmp := dst + ".part"
	_ = os.Remove(tmp)
	defer func() {
		if err != nil {
			_ = os.Remove(tmp)
		}
	}()
	if err := ensureFile(tmp); err != nil { // VACUUM INTO accepts an empty file as its target: create it with mode 0600 first
		return fmt.Errorf("store: create the backup: %w; %s", err, remedyFolder)
	}
	if _, err := db.ExecContext(ctx, "VACUUM INTO ?", tmp); err != nil {
		return fmt.Errorf("store: write the backup %s: %w", dst, classifyError(err))
	}
	if err := syncFile(tmp); err != nil {
		return fmt.Errorf("store: sync the backup: %w", err)
	}
	if err := system.Rename(tmp, dst); err != nil {
		return fmt.Errorf("store: rename the backup: %w", err)
	}
	return nil
}

// syncFile syncs a file to disk, which VACUUM INTO does not do.
func syncFile(path string) error {
	f, err := os.OpenFile(path, os.O_RDWR, 0o600)
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}

func backupTimestamp() string { return time.Now().UTC().Format("20060102T150405.000") }

// newBackupPath returns an unused name in the backup folder. The names sort by time.
func newBackupPath(dir, why string) string {
	if why != "" {
		why = "-" + why
	}
	name := filepath.Join(dir, datedPrefix+backupTimestamp()+why+".db")
	for n := 2; fileExists(name); n++ {
		name = filepath.Join(dir, fmt.Sprintf("%s%s%s-%d.db", datedPrefix, backupTimestamp(), why, n))
	}
	return name
}

// The names in the backup folder: dated databases, and the folders of package snapshot, which
// contain a database each. The time of creation follows the prefix.
const (
	datedPrefix = "hob-"
	// SnapshotPrefix is the prefix of the name of a snapshot folder. PartialSuffix is the suffix of
	// the name of an incomplete snapshot folder.
	SnapshotPrefix = "snapshot-"
	PartialSuffix  = ".part"
	// SnapshotDatabase is the name of the database in a snapshot folder.
	SnapshotDatabase = "hob.db"
)

// listBackups lists the databases of all dated backups and snapshots in the folder, oldest first.
func listBackups(dir string) []string {
	names := listDated(dir)
	for _, folder := range listSnapshots(dir) {
		if db := filepath.Join(folder, SnapshotDatabase); !strings.HasSuffix(folder, PartialSuffix) && fileExists(db) {
			names = append(names, db)
		}
	}
	stamp := func(path string) string {
		rel, _ := filepath.Rel(dir, path)
		_, after, _ := strings.Cut(rel, "-")
		return after
	}
	sorting.ByFunc(names, func(a, b string) int { return strings.Compare(stamp(a), stamp(b)) })
	return names
}

// listDated lists the dated backups, oldest first. It does not use filepath.Glob, because the folder
// name can contain pattern characters.
func listDated(dir string) []string {
	return slices.DeleteFunc(filesWithPrefix(filepath.Join(dir, datedPrefix), ""), func(name string) bool { return !strings.HasSuffix(name, ".db") })
}

// listSnapshots lists the snapshot folders, including incomplete ones, oldest first.
func listSnapshots(dir string) []string {
	return filesWithPrefix(filepath.Join(dir, SnapshotPrefix), "")
}

func pruneBackups(dir string) {
	names := listDated(dir)
	for len(names) > keepBackups {
		_ = os.Remove(names[0])
		names = names[1:]
	}
}

// checkTruncated detects truncated files that SQLite accepts. One is an empty file, which SQLite
// treats as a new database; this is correct only if there are no backups. The other is a file that
// ends within a page, which SQLite fills with zeros
// (https://www.sqlite.org/fileformat.html#the_database_header).
func checkTruncated(path string, backups int) error {
	f, err := os.Open(path)
	if err != nil {
		return nil // the file does not exist, or opening it will report the error
	}
	defer f.Close()
	fi, err := f.Stat()
	if err != nil || fi.IsDir() {
		return nil
	}
	if fi.Size() == 0 {
		if backups == 0 {
			return nil
		}
		return fmt.Errorf("store: %s is empty: %w", path, errDamaged)
	}
	head := make([]byte, 18)
	if _, err := f.ReadAt(head, 0); err != nil || string(head[:16]) != "SQLite format 3\x00" || fileExists(path+"-wal") {
		return nil
	}
	page := int64(head[16])<<8 | int64(head[17]) // 1 means 65,536
	if page > 1 && fi.Size()%page != 0 {
		return fmt.Errorf("store: %s ends within a page: %w", path, errDamaged)
	}
	return nil
}

// copyNewest copies the newest backup that passes its check to dst and returns its name. Without a
// good backup, it creates an empty file and returns "". It fails if a backup cannot be read or copied:
// an older or empty database must not replace data that still exists.
func copyNewest(ctx context.Context, dir, dst string) (name string, err error) {
	names := listBackups(dir)
	slices.Reverse(names)
	for _, n := range names {
		if err := copyGood(ctx, n, dst); isDamaged(err) {
			continue
		} else if err != nil {
			return "", fmt.Errorf("copy %s: %w", n, err)
		}
		rel, err := filepath.Rel(dir, n)
		return strings.TrimSuffix(filepath.ToSlash(rel), "/"+SnapshotDatabase), err
	}
	if checkGood(ctx, dst) == nil { // an older version of Hob left the copy between two renames
		return filepath.Base(dst), nil
	}
	return "", os.WriteFile(dst, nil, 0o600)
}

func copyGood(ctx context.Context, name, dst string) error {
	if err := checkGood(ctx, name); err != nil {
		return err
	}
	return CopyDatabase(ctx, name, dst)
}

func checkGood(ctx context.Context, name string) error {
	if err := checkTruncated(name, 1); err != nil {
		return err
	}
	db, err := OpenFile(name)
	if err != nil {
		return err
	}
	defer db.Close()
	return quickCheck(ctx, db, name)
}

func fileExists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

func fileSize(path string) int64 {
	fi, err := os.Stat(path)
	if err != nil {
		return 0
	}
	return fi.Size()
}

// ensureFile creates the file with owner-only permissions, if necessary.
func ensureFile(path string) error {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return err
	}
	return f.Close()
}

// escapeURIPath quotes a path for a SQLite URI (https://www.sqlite.org/uri.html).
func escapeURIPath(path string) string {
	return strings.NewReplacer("%", "%25", "?", "%3f", "#", "%23").Replace(filepath.ToSlash(path))
}

// HoldingBackups runs fn, which creates a backup in the backup folder, and prevents an erasure from
// replacing the backups in the meantime. Otherwise the new backup could contain erased data.
func (s *Store) HoldingBackups(fn func() error) error {
	s.copying.Lock()
	defer s.copying.Unlock()
	return fn()
}

// RenewBackups creates a new backup and deletes all older ones, including snapshots and the damaged
// files that were moved aside, because they contain data that has been erased since. It returns the
// number of deleted files and snapshots. If there was no backup, it creates none.
func (s *Store) RenewBackups(ctx context.Context) (int, error) {
	if s.shared != nil { // these are not backups of this database
		return 0, nil
	}
	s.copying.Lock() // a backup in progress would contain deleted data
	defer s.copying.Unlock()
	old := listBackups(s.backupDir)
	gone := append(listDated(s.backupDir), listSnapshots(s.backupDir)...)
	gone = append(append(gone, filesWithPrefix(s.path, ".damaged-")...), partialCopies(s.backupDir)...)
	if len(old) > 0 {
		if err := s.copyDatabase(ctx, newBackupPath(s.backupDir, "")); err != nil {
			return 0, err
		}
	}
	for n, name := range gone {
		if err := system.RemoveAll(name); err != nil {
			return n, fmt.Errorf("store: an old backup contains erased data and cannot be removed: %w; remove it yourself", err)
		}
	}
	return len(gone), nil
}

// partialCopies returns the unfinished copies that a killed process left behind.
func partialCopies(dir string) []string {
	return slices.DeleteFunc(filesWithPrefix(filepath.Join(dir, datedPrefix), ""), func(name string) bool { return !strings.HasSuffix(name, ".db.part") })
}

// filesWithPrefix lists the files in the folder of path whose names start with the name of path
// followed by more.
func filesWithPrefix(path, more string) (out []string) {
	entries, _ := os.ReadDir(filepath.Dir(path)) // a missing folder contains no files
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), filepath.Base(path)+more) {
			out = append(out, filepath.Join(filepath.Dir(path), e.Name()))
		}
	}
	return out
}

// CopyDatabase copies the database at path to dst, which must not exist. Other processes may use the
// database.
func CopyDatabase(ctx context.Context, path, dst string) error {
	db, err := sql.Open("sqlite", "file:"+escapeURIPath(path)+"?mode=ro")
	if err != nil {
		return fmt.Errorf("store: copy database: %w", err)
	}
	defer db.Close()
	return vacuumInto(ctx, db, dst)
}
