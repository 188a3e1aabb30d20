package store

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"hob/platform/failpoint"
	"hob/platform/host/system"
)

// Replace replaces the closed database at path by the file from, which is on the same disk. After a
// crash the database is either the old or the new one. Replace keeps a damaged database under the name
// aside (by default AsidePath), and every database if keep is true. It returns the name, or "" if it kept none.
// It can be repeated with the same names after a crash.
func Replace(ctx context.Context, path, from, aside string, keep bool) (kept string, err error) {
	fail := func(err error) (string, error) {
		return "", fmt.Errorf("store: replace %s: %w; %s", filepath.Base(path), err, remedyFolder)
	}
	if err := syncFile(from); err != nil {
		return fail(err)
	}
	if !keep && fileExists(path) {
		// The log belongs to the old database and must not be applied to the new one.
		if err := Checkpoint(ctx, path); isDamaged(err) {
			keep = true
		} else if err != nil {
			return "", err
		}
	}
	if aside == "" {
		aside = AsidePath(path)
	}
	if keep {
		if kept, err = keepAside(path, aside); err != nil {
			return fail(err)
		}
	}
	for _, ext := range []string{"-wal", "-shm"} {
		if err := os.Remove(path + ext); err != nil && !os.IsNotExist(err) {
			return fail(err)
		}
	}
	failpoint.Hit("replace.log")
	if err := system.RenameDurable(from, path); err != nil {
		return fail(err)
	}
	failpoint.Hit("replace.done")
	return kept, nil
}

// AsidePath returns an unused name for a damaged database.
func AsidePath(path string) string {
	base := path + ".damaged-" + backupTimestamp()
	aside := base
	for n := 2; fileExists(aside); n++ {
		aside = fmt.Sprintf("%s-%d", base, n)
	}
	return aside
}

// keepAside gives a database the second name aside and moves its log there. The database stays in
// place, so that a crash does not make it look like a new home. keepAside returns "" if there is neither
// a database nor a log, and another name if aside is another file.
func keepAside(path, aside string) (string, error) {
	if !fileExists(path) && !fileExists(path+"-wal") && !fileExists(aside) {
		return "", nil
	}
	if fileExists(path) && fileExists(aside) && !isSameFile(path, aside) {
		aside = AsidePath(path)
	}
	if fileExists(path) && !fileExists(aside) {
		if err := os.Link(path, aside); err != nil { // the file system has no hard links
			if err := system.Rename(path, aside); err != nil {
				return aside, err
			}
		}
	}
	if fileExists(path + "-wal") {
		return aside, system.Rename(path+"-wal", aside+"-wal")
	}
	return aside, nil
}

func isSameFile(a, b string) bool {
	x, err := os.Stat(a)
	y, berr := os.Stat(b)
	return err == nil && berr == nil && os.SameFile(x, y)
}

// Replacement describes how Open replaced a damaged or missing database. A file next to the database
// records it until ConfirmReplacement, so that a crash does not hide that the data is old.
type Replacement struct {
	ID     string    `json:"id"`
	At     time.Time `json:"at"`
	Aside  string    `json:"aside,omitempty"`  // new path of the damaged file; "" if the file was missing
	Backup string    `json:"backup,omitempty"` // name of the backup; "" for an empty database
}

// String describes the replacement, or returns "" for nil.
func (r *Replacement) String() string {
	if r == nil {
		return ""
	}
	what, by := "the database was missing", "an empty database"
	if r.Aside != "" {
		what = "the database was damaged and is now " + r.Aside
	}
	if r.Backup != "" {
		by = "the newest good backup, " + r.Backup
	}
	return what + "; Hob continues with " + by
}

func replacementFile(path string) string { return path + "-replaced" }

// replacementCopy returns the path of the copy that replaces a database. While it and the file of the
// Replacement exist, the database has not been replaced yet.
func replacementCopy(path string) string { return path + ".restored" }

// replaceByBackup replaces a damaged or missing database by the newest good backup, or by an empty
// file if there is none.
func replaceByBackup(ctx context.Context, path, dir string) (*Replacement, error) {
	r, err := readReplacement(path)
	if err != nil {
		return nil, err
	}
	if r == nil { // otherwise the replacement itself is damaged, and still unconfirmed
		r = &Replacement{ID: rand.Text()}
	}
	r.At, r.Aside = time.Now().UTC(), ""
	if fileExists(path) || fileExists(path+"-wal") {
		r.Aside = AsidePath(path)
	}
	if r.Backup, err = copyNewest(ctx, dir, replacementCopy(path)); err != nil {
		return nil, err
	}
	failpoint.Hit("replacement.copied")
	b, err := json.Marshal(r)
	if err != nil {
		return nil, err
	}
	if err := system.WriteFile(replacementFile(path), b); err != nil {
		return nil, err
	}
	failpoint.Hit("replacement.recorded")
	return r, completeReplacement(path, r)
}

// completeReplacement can be repeated after a crash at any instant.
func completeReplacement(path string, r *Replacement) error {
	if _, err := keepAside(path, r.Aside); err != nil {
		return err
	}
	failpoint.Hit("replacement.aside")
	for _, ext := range []string{"-shm", "-suspect"} {
		if err := os.Remove(path + ext); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	if err := system.RenameDurable(replacementCopy(path), path); err != nil {
		return err
	}
	failpoint.Hit("replacement.done")
	return nil
}

// resumeReplacement completes a replacement that a crash interrupted. If the database is not the
// damaged file, Open checks it again.
func resumeReplacement(path string) error {
	r, err := readReplacement(path)
	if err != nil || r == nil || !fileExists(replacementCopy(path)) || fileExists(path) && !isSameFile(path, r.Aside) {
		return err
	}
	return completeReplacement(path, r)
}

// currentReplacement returns the recorded replacement that has not been confirmed yet, or nil. Call
// it only after the database was opened without errors: it discards the record of a replacement
// that was never made.
func currentReplacement(path string) (*Replacement, error) {
	r, err := readReplacement(path)
	if r != nil && fileExists(replacementCopy(path)) { // the replacement was recorded but not made
		return nil, DiscardReplacement(path)
	}
	return r, err
}

func readReplacement(path string) (*Replacement, error) {
	b, err := os.ReadFile(replacementFile(path))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("store: read the record of the replacement: %w; make the file readable", err)
	}
	r := &Replacement{}
	if json.Unmarshal(b, r) != nil || r.ID == "" {
		r = &Replacement{ID: "unknown"} // an unreadable record still means that the database was replaced
	}
	return r, nil
}

// DiscardReplacement removes the record of a replacement, after another database took its place.
func DiscardReplacement(path string) error {
	for _, name := range []string{replacementFile(path), replacementCopy(path)} {
		if err := os.Remove(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("store: remove the record of the replacement: %w", err)
		}
	}
	return nil
}

// Replacement returns how Open, now or at an earlier start, replaced the database, or nil. It returns
// the same value until ConfirmReplacement.
func (s *Store) Replacement() *Replacement { return s.replaced }

// ConfirmReplacement records that the caller has handled Replacement. It can be repeated.
func (s *Store) ConfirmReplacement() error {
	if s.replaced == nil {
		return nil
	}
	return DiscardReplacement(s.path)
}
