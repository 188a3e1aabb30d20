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

	"hob/platform/system"
)

// keepBackups is how many automatic copies stay in the backup folder.
const keepBackups = 5

// Backup writes a consistent copy of the whole database to dst, which must not
// exist, while everything goes on (https://www.sqlite.org/lang_vacuum.html).
func (s *Store) Backup(ctx context.Context, dst string) error {
	s.copying.Lock()
	defer s.copying.Unlock()
	return s.copy(ctx, dst)
}

func (s *Store) copy(ctx context.Context, dst string) error {
	if fileExists(dst) {
		return fmt.Errorf("store: backup: %s already exists; choose another name", dst)
	}
	if err := os.MkdirAll(filepath.Dir(dst), 0o700); err != nil {
		return fmt.Errorf("store: backup: %w; %s", err, remedyFolder)
	}
	db, err := sql.Open("sqlite", dsn(s.path, false))
	if err != nil {
		return fmt.Errorf("store: backup: %w", err)
	}
	defer db.Close()
	return s.met(vacuumInto(ctx, db, dst))
}

// BackupNow makes a dated copy in the backup folder, keeps the newest five and
// returns its path.
func (s *Store) BackupNow(ctx context.Context) (string, error) {
	dst := dated(s.backupDir, "")
	if err := s.Backup(ctx, dst); err != nil {
		return "", err
	}
	prune(s.backupDir)
	return dst, nil
}

func (s *Store) backupTo(ctx context.Context, why string) error {
	if err := os.MkdirAll(s.backupDir, 0o700); err != nil {
		return err
	}
	if err := vacuumInto(ctx, s.conn, dated(s.backupDir, why)); err != nil {
		return err
	}
	prune(s.backupDir)
	return nil
}

type execer interface {
	ExecContext(context.Context, string, ...any) (sql.Result, error)
}

// vacuumInto copies through a file beside dst, so that dst is whole or absent.
func vacuumInto(ctx context.Context, db execer, dst string) (err error) {
	tmp := dst + ".part"
	_ = os.Remove(tmp)
	defer func() {
		if err != nil {
			_ = os.Remove(tmp)
		}
	}()
	if err := touch(tmp); err != nil { // VACUUM INTO accepts an empty file: made 0600 first
		return fmt.Errorf("store: backup: %w; %s", err, remedyFolder)
	}
	if _, err := db.ExecContext(ctx, "VACUUM INTO ?", tmp); err != nil {
		return fmt.Errorf("store: backup to %s: %w", dst, classify(err))
	}
	if err := flush(tmp); err != nil {
		return fmt.Errorf("store: backup: %w", err)
	}
	if err := system.Rename(tmp, dst); err != nil {
		return fmt.Errorf("store: backup: %w", err)
	}
	return nil
}

// flush waits until a file is on the disk: VACUUM INTO does not.
func flush(path string) error {
	f, err := os.OpenFile(path, os.O_RDWR, 0o600)
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}

func stamp() string { return time.Now().UTC().Format("20060102T150405.000") }

// dated is a free name in the backup folder; names sort by time.
func dated(dir, why string) string {
	if why != "" {
		why = "-" + why
	}
	name := filepath.Join(dir, "hob-"+stamp()+why+".db")
	for n := 2; fileExists(name); n++ {
		name = filepath.Join(dir, fmt.Sprintf("hob-%s%s-%d.db", stamp(), why, n))
	}
	return name
}

// backups lists the copies in the folder, oldest first. (filepath.Glob would
// take a folder's own name for a pattern.)
func backups(dir string) []string {
	entries, _ := os.ReadDir(dir) // no folder, no backups
	var names []string
	for _, e := range entries {
		if n := e.Name(); strings.HasPrefix(n, "hob-") && strings.HasSuffix(n, ".db") {
			names = append(names, filepath.Join(dir, n))
		}
	}
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

// cut finds a file that was cut off where SQLite does not notice: to nothing,
// which it takes for a new database (without backups it is one), or within a
// page, which it takes for zeros (https://www.sqlite.org/fileformat.html#the_database_header).
func cut(path string, backups int) error {
	f, err := os.Open(path)
	if err != nil {
		return nil // not there, or open will say why
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

// replace puts the newest good backup in place of a damaged file, which it
// renames; without a backup nothing is left in its place. The copy is made
// before the file is touched, so that a crash loses neither.
func replace(ctx context.Context, path, dir string) (aside string, err error) {
	fresh := copyNewest(ctx, dir, path+".restored")
	if aside, err = setAside(path); err != nil {
		return "", err
	}
	if fresh != "" {
		err = system.Rename(fresh, path)
	}
	return aside, err
}

// setAside renames the file and its log so that nothing of them is overwritten.
func setAside(path string) (string, error) {
	aside := path + ".damaged-" + stamp()
	for n := 2; fileExists(aside); n++ {
		aside = fmt.Sprintf("%s.damaged-%s-%d", path, stamp(), n)
	}
	if err := system.Rename(path, aside); err != nil {
		return "", err
	}
	_ = os.Remove(path + "-suspect")
	for _, ext := range []string{"-wal", "-shm"} {
		if fileExists(path + ext) {
			if err := system.Rename(path+ext, aside+ext); err != nil {
				return "", err
			}
		}
	}
	return aside, nil
}

// copyNewest copies the newest backup that passes its check to dst; it returns
// "" when there is none.
func copyNewest(ctx context.Context, dir, dst string) string {
	names := backups(dir)
	slices.Reverse(names)
	for _, n := range names {
		if copyGood(ctx, n, dst) == nil {
			return dst
		}
	}
	return ""
}

func copyGood(ctx context.Context, name, dst string) error {
	if err := cut(name, 1); err != nil {
		return err
	}
	db, err := sql.Open("sqlite", "file:"+escape(name)+"?mode=ro")
	if err != nil {
		return err
	}
	defer db.Close()
	if err := check(ctx, db, name); err != nil {
		return err
	}
	return vacuumInto(ctx, db, dst)
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

// RenewBackups makes a new backup and removes every older one, with the files
// that were set aside as damaged: they hold what was removed since. It returns
// how many went. Where there was no backup none is made.
func (s *Store) RenewBackups(ctx context.Context) (int, error) {
	s.copying.Lock() // one that is being made would hold it
	defer s.copying.Unlock()
	old := backups(s.backupDir)
	aside := append(besides(s.path, ".damaged-"), halves(s.backupDir)...)
	if len(old) > 0 {
		if err := s.copy(ctx, dated(s.backupDir, "")); err != nil {
			return 0, err
		}
	}
	gone := 0
	for _, name := range append(old, aside...) {
		if err := os.Remove(name); err != nil && !errors.Is(err, os.ErrNotExist) {
			return gone, fmt.Errorf("store: an old backup contains erased data and cannot be removed: %w; remove it yourself", err)
		}
		gone++
	}
	return gone, nil
}

// halves are the copies that were being made when Hob was killed.
func halves(dir string) []string {
	return slices.DeleteFunc(besides(filepath.Join(dir, "hob-"), ""), func(name string) bool { return !strings.HasSuffix(name, ".db.part") })
}

// besides lists the files whose names begin as a path does with more added.
func besides(path, more string) (out []string) {
	entries, _ := os.ReadDir(filepath.Dir(path)) // no folder, no files
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), filepath.Base(path)+more) {
			out = append(out, filepath.Join(filepath.Dir(path), e.Name()))
		}
	}
	return out
}

// Copy copies the database at path to dst, which must not exist; whoever has it
// open goes on.
func Copy(ctx context.Context, path, dst string) error {
	db, err := sql.Open("sqlite", "file:"+escape(path)+"?mode=ro")
	if err != nil {
		return fmt.Errorf("store: copy: %w", err)
	}
	defer db.Close()
	return vacuumInto(ctx, db, dst)
}
