package recovery

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"hob/autonomy/bus"
	"hob/autonomy/guard"
	"hob/platform/failpoint"
	"hob/platform/host/system"
	"hob/platform/store"
	"hob/platform/store/snapshot"
	"hob/platform/store/tombstone"
	"hob/platform/store/upgrade"
)

// Carry keeps records of the replaced database that the restored one lacks. replaced is nil if that
// database is damaged or missing; the warning then says what this means for the user.
type Carry func(tx *store.Tx, replaced store.Querier) (warning string, err error)

// Options are the parameters of Restore. Carry and Free may be nil.
type Options struct {
	Paths      system.Paths
	Migrations []store.MigrationSet // migrations of this program
	Version    string
	Snapshot   snapshot.Snapshot
	Carry      Carry
	// Free returns the free bytes of a folder's disk (default system.DiskFree).
	Free func(dir string) (uint64, error)
}

// Report is the result of a restore.
type Report struct {
	Snapshot string    `json:"snapshot"`
	Created  time.Time `json:"created"`
	// Before is the snapshot of the state that was replaced; "" if that database was damaged.
	Before string `json:"before"`
	// Aside is the new path of a damaged database.
	Aside string `json:"aside,omitempty"`
	// Files is the folder with the replaced files of the home, if no snapshot contains them.
	Files string `json:"files,omitempty"`
	// Warnings describe parts of the replaced state that could not be read.
	Warnings []string       `json:"warnings,omitempty"`
	Applied  Applied        `json:"applied"`
	Closed   int            `json:"approvals_closed"`
	Held     []bus.HeldItem `json:"held"`
}

// keptFolder is the folder in a home that a restore adds to but never overwrites: rules that were
// added since the snapshot must stay in force.
const keptFolder = "policy/"

func stagingDir(p system.Paths) string  { return filepath.Join(p.Data, "restore-staging") }
func journalFile(p system.Paths) string { return filepath.Join(p.Data, "restore.json") }

// journal is the commit record of a restore.
type journal struct {
	Snapshot string          `json:"snapshot"`
	Files    []snapshot.File `json:"files"` // staged files of the home
	// Aside is the name under which the replaced database is kept, because it is damaged, or "".
	Aside string `json:"aside,omitempty"`
}

// Names in the staging folder.
const (
	stagedDatabase = "hob.db"
	stagedAnchor   = "audit.anchor"
	stagedFiles    = "files"
)

// Restore replaces the home's database and configuration files with a snapshot. The caller holds
// the lock of the home and has called Resume. Restore first verifies the snapshot, checks the disk
// space and creates a snapshot of the current state.
func Restore(ctx context.Context, o Options) (r Report, err error) {
	p, s := o.Paths, o.Snapshot
	r = Report{Snapshot: s.Name, Created: s.Manifest.Created}
	if err := s.Verify(ctx); err != nil {
		return r, fmt.Errorf("restore: verify the snapshot: %w", err)
	}
	if err := checkSpace(o); err != nil {
		return r, err
	}
	if err := system.RemoveAll(stagingDir(p)); err != nil {
		return r, fmt.Errorf("restore: empty the staging folder: %w", err)
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, discardStaging(p))
		}
	}()
	j := journal{Snapshot: s.Name}
	if j.Aside, err = saveCurrent(ctx, o, &r); err != nil {
		return r, err
	}
	failpoint.Hit("restore.saved")
	if err := stageFiles(ctx, o); err != nil {
		return r, fmt.Errorf("restore: stage the files: %w", err)
	}
	failpoint.Hit("restore.staged")
	if err := prepareDatabase(ctx, o, &r); err != nil {
		return r, fmt.Errorf("restore: prepare the database: %w", err)
	}
	failpoint.Hit("restore.prepared")
	for _, f := range s.Manifest.Files {
		if f.Name != store.SnapshotDatabase {
			j.Files = append(j.Files, f)
		}
	}
	b, err := json.Marshal(j)
	if err != nil {
		return r, err
	}
	if err := system.WriteFile(journalFile(p), b); err != nil {
		return r, fmt.Errorf("restore: write the journal: %w", err)
	}
	failpoint.Hit("restore.committed")
	if r.Aside, err = completeRestore(context.WithoutCancel(ctx), p, j); err != nil {
		return r, err
	}
	if err := errors.Join(system.RemoveAll(stagingDir(p)), snapshot.Prune(p.Backups(), snapshot.Keep)); err != nil {
		r.Warnings = append(r.Warnings, fmt.Sprintf("old files were not deleted: %v", err))
	}
	return r, nil
}

// discardStaging removes the staging folder of a restore that was not committed.
func discardStaging(p system.Paths) error {
	if _, err := os.Stat(journalFile(p)); err == nil {
		return nil // the next start completes the restore
	}
	return system.RemoveAll(stagingDir(p))
}

// spare is the number of bytes that a restore leaves free.
const spare = 64 << 20

// checkSpace checks that the disk has room for the snapshot of the current state, the staged copy
// and its migration.
func checkSpace(o Options) error {
	free := o.Free
	if free == nil {
		free = system.DiskFree
	}
	need := uint64(spare)
	for name, times := range map[string]int64{o.Paths.Database(): 1, o.Paths.Database() + "-wal": 1, o.Snapshot.Database(): 3} {
		if fi, err := os.Stat(name); err == nil {
			need += uint64(times * fi.Size()) //nolint:gosec // a size is not negative
		}
	}
	have, err := free(o.Paths.Data)
	if err != nil {
		return fmt.Errorf("restore: read the free space of %s: %w", o.Paths.Data, err)
	}
	if have < need {
		return fmt.Errorf("restore: not enough disk space: %d MB needed in %s, %d MB free; free up some space and try again", need>>20, o.Paths.Data, have>>20)
	}
	return nil
}

// saveCurrent creates a snapshot of the current state. If the database is damaged or missing, it saves
// the other files only, and returns the name under which store.Replace keeps the damaged database.
func saveCurrent(ctx context.Context, o Options, r *Report) (aside string, err error) {
	db := o.Paths.Database()
	if _, err := os.Stat(db); err == nil {
		s, err := snapshot.Create(ctx, snapshot.Options{Paths: o.Paths, Version: o.Version, Reason: snapshot.Restore})
		if err == nil {
			r.Before = s.Name
			return "", nil
		}
		if !store.IsDamaged(err) {
			return "", fmt.Errorf("restore: save the current state: %w", err)
		}
		aside = store.AsidePath(db)
		r.Warnings = append(r.Warnings, "the current database is damaged: no snapshot of it was created, and the file is kept")
	} else if !errors.Is(err, fs.ErrNotExist) {
		return "", fmt.Errorf("restore: find the current database: %w", err)
	}
	if r.Files, err = snapshot.SaveFiles(o.Paths); err != nil {
		return "", fmt.Errorf("restore: save the current files: %w", err)
	}
	return aside, nil
}

// stageFiles copies the snapshot to the staging folder.
func stageFiles(ctx context.Context, o Options) error {
	dir := stagingDir(o.Paths)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	if err := store.CopyDatabase(ctx, o.Snapshot.Database(), filepath.Join(dir, stagedDatabase)); err != nil {
		return err
	}
	for _, f := range o.Snapshot.Manifest.Files {
		if f.Name == store.SnapshotDatabase {
			continue
		}
		if err := copyFile(o.Snapshot.File(f.Name), filepath.Join(dir, stagedFiles, filepath.FromSlash(f.Name)), f.Executable); err != nil {
			return err
		}
	}
	return nil
}

func copyFile(from, to string, executable bool) error {
	f, err := os.Open(from)
	if err != nil {
		return err
	}
	defer f.Close()
	if err := system.WriteFrom(to, f); err != nil || !executable {
		return err
	}
	return os.Chmod(to, 0o700) //nolint:gosec // a script stays executable for the user
}

// prepareDatabase changes the staged database so that Hob can run on it; see the package comment.
func prepareDatabase(ctx context.Context, o Options, r *Report) (err error) {
	p, dir := o.Paths, stagingDir(o.Paths)
	key, err := system.EnsureKey(p.AuditKeyFile())
	if err != nil {
		return err
	}
	path := filepath.Join(dir, stagedDatabase)
	st, err := store.Open(ctx, path, o.Migrations, store.Options{
		BackupDir: filepath.Join(dir, "backups"), BeforeMigration: func(context.Context, store.Migration) error { return nil }, // the snapshot is the backup
	})
	if err != nil {
		return err
	}
	defer func() {
		err = errors.Join(err, st.Close())
		if err == nil {
			_, err = store.Inspect(ctx, path)
		}
	}()
	if st.QuarantinedPath() != "" {
		return fmt.Errorf("the copy of %s is damaged; check the disk", r.Snapshot)
	}
	g, err := guard.New(st, guard.Options{AuditKey: key, Anchor: filepath.Join(dir, stagedAnchor), Tombstones: p.TombstoneFile()})
	if err != nil {
		return err
	}
	if err := g.InitKeys(ctx); err != nil {
		return err
	}
	replaced, err := openReplaced(p.Database())
	if err != nil {
		return err
	}
	if replaced != nil {
		defer func() { err = errors.Join(err, replaced.Close()) }()
	}
	cut, err := recordReplaced(o, g, replaced, r)
	if err != nil {
		return err
	}
	var altered error
	if r.Applied, altered, err = syncTombstones(ctx, SyncOptions{Store: st, Guard: g, Files: stagedTexts(dir)}); err != nil {
		return err
	}
	warnAltered(r, altered)
	err = st.Write(ctx, func(tx *store.Tx) error {
		closed, err := g.RestoreTx(tx, r.Snapshot, "cli", cut)
		if err != nil {
			return err
		}
		r.Closed = len(closed)
		if err := carryRecords(tx, o.Carry, replaced, r); err != nil {
			return err
		}
		return bus.StartHoldTx(tx, r.Snapshot)
	})
	if err != nil {
		return err
	}
	if r.Held, err = bus.New(st, bus.Options{}).Hold.Items(ctx); err != nil {
		return err
	}
	_, err = g.WriteAnchor(ctx)
	return err
}

// recordReplaced adds the revocations and erasures of the current database to the file that records
// them, and returns the end of the database's audit log (see guard.LastCut). If the database is
// damaged, revocations that are not in the file yet are lost.
func recordReplaced(o Options, g *guard.Guard, db *sql.DB, r *Report) (guard.Cut, error) {
	if db == nil {
		return g.LastCut(nil, o.Paths.AuditAnchorFile()), nil
	}
	switch err := g.Tombstones().AddFrom(db); {
	case errors.Is(err, tombstone.ErrAltered):
		warnAltered(r, err)
	case store.IsDamaged(err):
		r.Warnings = append(r.Warnings, "revocations of the damaged database that were not yet in "+o.Paths.TombstoneFile()+" are lost")
	case err != nil:
		return guard.Cut{}, fmt.Errorf("read the current database: %w", err)
	}
	return g.LastCut(db, o.Paths.AuditAnchorFile()), nil
}

// openReplaced opens the database that is replaced. It returns nil if there is none.
func openReplaced(path string) (*sql.DB, error) {
	db, err := store.OpenFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return db, err
}

// carryRecords calls carry, if it is not nil. A database that could not be saved is damaged.
func carryRecords(tx *store.Tx, carry Carry, replaced *sql.DB, r *Report) error {
	if carry == nil {
		return nil
	}
	var from store.Querier
	if replaced != nil && r.Before != "" {
		from = replaced
	}
	warning, err := carry(tx, from)
	if warning != "" {
		r.Warnings = append(r.Warnings, warning)
	}
	return err
}

// warnAltered adds a warning about an altered file of revocations, unless err is nil.
func warnAltered(r *Report, err error) {
	if err != nil {
		r.Warnings = append(r.Warnings, fmt.Sprintf("%v; Hob repaired the file from the database and kept the changed version in the same folder; check the grants and pairings: hob grant list, hob channel list", err))
	}
}

// stagedTexts lists the staged files that may contain erased phrases.
func stagedTexts(dir string) (out []string) {
	_ = filepath.WalkDir(filepath.Join(dir, stagedFiles), func(name string, e fs.DirEntry, err error) error {
		if err == nil && e.Type().IsRegular() {
			out = append(out, name)
		}
		return nil
	})
	return out
}

// Resume completes a committed restore that was interrupted, and removes the files of an
// uncommitted one. Call it under the lock of the home, before the database is opened. It returns
// the name of the snapshot whose restore it completed, or "".
func Resume(ctx context.Context, p system.Paths) (name string, err error) {
	b, err := os.ReadFile(journalFile(p))
	if errors.Is(err, fs.ErrNotExist) {
		if err := system.RemoveAll(stagingDir(p)); err != nil {
			return "", fmt.Errorf("restore: remove the files of an interrupted restore: %w", err)
		}
		return "", nil
	}
	if err != nil {
		return "", fmt.Errorf("restore: read the journal: %w", err)
	}
	var j journal
	if err := json.Unmarshal(b, &j); err != nil {
		return "", fmt.Errorf("restore: read %s: %w; delete the file and restore again", journalFile(p), err)
	}
	if _, err = completeRestore(ctx, p, j); err == nil {
		err = system.RemoveAll(stagingDir(p))
	}
	return j.Snapshot, err
}

// completeRestore copies the staged files into the home, replaces the database last and removes the
// journal. The caller removes the staging folder. completeRestore can be repeated after a crash at
// any instant.
func completeRestore(ctx context.Context, p system.Paths, j journal) (aside string, err error) {
	dir := stagingDir(p)
	db := filepath.Join(dir, stagedDatabase)
	if _, err := os.Stat(db); err == nil { // without a staged database, all files are already in place
		for _, f := range j.Files {
			to := filepath.Join(p.Home, filepath.FromSlash(f.Name))
			if _, err := os.Stat(to); err == nil && strings.HasPrefix(f.Name, keptFolder) {
				continue
			}
			if err := copyFile(filepath.Join(dir, stagedFiles, filepath.FromSlash(f.Name)), to, f.Executable); err != nil {
				return "", fmt.Errorf("restore: copy %s into the home: %w; the next start completes the restore", f.Name, err)
			}
			failpoint.Hit("restore.file")
		}
		err := copyFile(filepath.Join(dir, stagedAnchor), p.AuditAnchorFile(), false)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return "", fmt.Errorf("restore: copy the audit anchor: %w; the next start completes the restore", err)
		}
		failpoint.Hit("restore.files")
		if aside, err = store.Replace(ctx, p.Database(), db, j.Aside, j.Aside != ""); err != nil {
			return aside, fmt.Errorf("restore: replace the database: %w; the next start completes the restore", err)
		}
	} else if !errors.Is(err, fs.ErrNotExist) {
		return "", fmt.Errorf("restore: find the staged database: %w", err)
	}
	failpoint.Hit("restore.replaced")
	if err := errors.Join(upgrade.Discard(p), store.DiscardReplacement(p.Database())); err != nil {
		return aside, err
	}
	if err := os.Remove(journalFile(p)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return aside, fmt.Errorf("restore: remove the journal: %w", err)
	}
	failpoint.Hit("restore.done")
	return aside, nil
}

// Find returns a snapshot by its name or path, the newest one for "", or any other copy of a database
// by its path.
func Find(dir, name string) (snapshot.Snapshot, error) {
	s, err := snapshot.Find(dir, name)
	if err == nil || name == "" {
		return s, err
	}
	fi, serr := os.Stat(name)
	if serr != nil || !fi.Mode().IsRegular() {
		return s, err
	}
	path, err := filepath.Abs(name)
	return snapshot.Snapshot{Name: filepath.Base(path), Path: path, Dated: true, Manifest: snapshot.Manifest{Created: fi.ModTime().UTC()}}, err
}
