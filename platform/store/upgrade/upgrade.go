// Package upgrade guards the first start of a new version on an existing home. Before the first
// migration it checks the free disk space, creates a verified snapshot, and tries the migration and
// one turn in a copy of the home. Only then does the store migrate the database, in one transaction
// that also checks the result. If the program then cannot open the home or does not become ready, the
// snapshot is restored.
//
// A journal file records the current step. After a crash at any point, the next start uses it to
// continue or roll back. The caller holds the lock of the home from Recover to Finish.
package upgrade

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"hob/platform/failpoint"
	"hob/platform/host/system"
	"hob/platform/store"
	"hob/platform/store/snapshot"
)

// Options are the parameters of New. All but Free and Failed are required.
type Options struct {
	Paths   system.Paths
	Sets    []store.MigrationSet // migrations of this program
	Version string
	// Trial opens the home at p, which is a migrated copy, and runs one turn in it. It must not
	// contact accounts, channels or models.
	Trial func(ctx context.Context, p system.Paths) error
	Log   *slog.Logger
	// Free returns the free bytes of a folder's disk (default system.DiskFree).
	Free func(dir string) (uint64, error)
	// Failed shows the error of a failed upgrade or a refused start to the user, who does not see the log
	// of a service.
	Failed func(ctx context.Context, err error)
}

// Upgrade is the upgrade of one home.
type Upgrade struct {
	o       Options
	refused bool // Prepare refused to start the upgrade
}

// New returns the upgrade of a home. It does no I/O.
func New(o Options) *Upgrade {
	if o.Free == nil {
		o.Free = system.DiskFree
	}
	return &Upgrade{o: o}
}

// The states in the journal.
const (
	preparing = "preparing" // the database is unchanged
	migrating = "migrating" // the database may be old or already migrated, and the upgrade is not confirmed
	opened    = "opened"    // as migrating, but the program opened the home and is not ready yet
	restoring = "restoring" // the snapshot is replacing the database
)

// journal records the current step.
type journal struct {
	State    string         `json:"state"`
	Snapshot string         `json:"snapshot,omitempty"`
	From     map[string]int `json:"from"`
	Version  string         `json:"version"` // version of the program that runs the migration
	Started  time.Time      `json:"started"`
	// Aside is the name under which a damaged database is kept when the snapshot replaces it, or "".
	Aside string `json:"aside,omitempty"`
}

func journalFile(p system.Paths) string { return filepath.Join(p.Data, "upgrade.json") }

// trialDir returns the folder of the copy of the home.
func trialDir(p system.Paths) string { return filepath.Join(p.Data, "upgrade-trial") }

// InProgress reports whether an upgrade of the home has started and has not opened the home yet.
func InProgress(p system.Paths) bool {
	b, err := os.ReadFile(journalFile(p))
	var j journal
	return err == nil && (json.Unmarshal(b, &j) != nil || j.State != opened)
}

// IsUnconfirmed reports whether the last upgrade has not been confirmed by Finish. The next start
// confirms it or restores the earlier data.
func IsUnconfirmed(p system.Paths) bool {
	_, err := os.Stat(journalFile(p))
	return err == nil
}

func (u *Upgrade) readJournal() (j journal, found bool, err error) {
	b, err := os.ReadFile(journalFile(u.o.Paths))
	if errors.Is(err, fs.ErrNotExist) {
		return j, false, nil
	}
	if err != nil {
		return j, false, fmt.Errorf("upgrade: read the journal: %w", err)
	}
	if err := json.Unmarshal(b, &j); err != nil {
		return j, false, fmt.Errorf("upgrade: read %s: %w; restore the newest snapshot, or delete the file if the database is intact", journalFile(u.o.Paths), err)
	}
	return j, true, nil
}

// Discard ends an interrupted or failed upgrade whose database a restore has replaced.
func Discard(p system.Paths) error {
	for _, name := range []string{journalFile(p), failureFile(p)} {
		if err := os.Remove(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("upgrade: delete the journal: %w", err)
		}
	}
	return system.RemoveAll(trialDir(p))
}

func (u *Upgrade) writeJournal(j journal) error {
	b, err := json.Marshal(j)
	if err != nil {
		return err
	}
	return system.WriteFile(journalFile(u.o.Paths), b)
}

func (u *Upgrade) removeJournal() error {
	if err := os.Remove(journalFile(u.o.Paths)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("upgrade: delete the journal: %w", err)
	}
	failpoint.Hit("upgrade.journal.removed")
	return nil
}

// Recover continues or rolls back an upgrade that a crash interrupted. Call it before the database is
// opened.
func (u *Upgrade) Recover(ctx context.Context) error {
	j, found, err := u.readJournal()
	if err != nil || !found {
		return err
	}
	if err := system.RemoveAll(trialDir(u.o.Paths)); err != nil {
		return fmt.Errorf("upgrade: delete the trial copy: %w", err)
	}
	switch j.State {
	case preparing:
		return u.dropUpgrade(j)
	case restoring:
		return u.recoverSnapshot(ctx, j)
	}
	have, err := store.SchemaOf(ctx, u.o.Paths.Database())
	switch {
	case store.IsDamaged(err), errors.Is(err, fs.ErrNotExist), err == nil && len(have) == 0:
		u.o.Log.Error("the database is damaged after an interrupted upgrade; restoring the previous data", "err", err, "snapshot", j.Snapshot)
		j.Aside = store.AsidePath(u.o.Paths.Database())
		return u.recoverSnapshot(ctx, j)
	case err != nil:
		return fmt.Errorf("upgrade: %w", err)
	case maps.Equal(have, j.From):
		return u.dropUpgrade(j)
	case !store.Supports(store.Versions(u.o.Sets), have): // this program is the previous version
		u.o.Log.Warn("the upgrade to a newer version was interrupted; restoring the previous data", "version", j.Version, "snapshot", j.Snapshot)
		return u.recoverSnapshot(ctx, j)
	}
	return nil // the database is migrated, and Finish will confirm the upgrade
}

// recoverSnapshot restores the snapshot of an interrupted upgrade.
func (u *Upgrade) recoverSnapshot(ctx context.Context, j journal) error {
	if err := u.restoreSnapshot(ctx, j); err != nil {
		return fmt.Errorf("upgrade: restore the earlier data: %w; choose a backup with: hob backup --list, and run: hob restore NAME", err)
	}
	return nil
}

// dropUpgrade ends an upgrade that has not changed the database, and deletes its snapshot.
func (u *Upgrade) dropUpgrade(j journal) error {
	if j.Snapshot != "" {
		if s, err := snapshot.Find(u.o.Paths.Backups(), j.Snapshot); err == nil {
			if err := s.Delete(); err != nil {
				return fmt.Errorf("upgrade: delete the snapshot: %w", err)
			}
		}
	}
	err := errors.Join(system.RemoveAll(trialDir(u.o.Paths)), snapshot.Prune(u.o.Paths.Backups(), snapshot.Keep))
	if err != nil {
		return fmt.Errorf("upgrade: clean up: %w", err)
	}
	return u.removeJournal()
}

// Prepare implements store.Options.BeforeMigration.
func (u *Upgrade) Prepare(ctx context.Context, m store.Migration) error {
	if err := u.checkRetry(); err != nil {
		return err
	}
	if err := u.checkSpace(ctx); err != nil {
		u.refused = true
		return err
	}
	j := journal{State: preparing, From: m.From, Version: u.o.Version, Started: time.Now().UTC()}
	if err := u.writeJournal(j); err != nil {
		return err
	}
	u.o.Log.Info("upgrade started", "version", u.o.Version, "migrations", describeSteps(m))
	failpoint.Hit("upgrade.started")
	s, err := snapshot.Create(ctx, snapshot.Options{Paths: u.o.Paths, Version: u.o.Version, Reason: snapshot.Upgrade})
	if err != nil {
		return err
	}
	j.Snapshot = s.Name
	if err := u.writeJournal(j); err != nil {
		return err
	}
	failpoint.Hit("upgrade.snapshot")
	if err := u.tryMigration(ctx, s); err != nil {
		return fmt.Errorf("self-check in a copy of the home: %w", err)
	}
	failpoint.Hit("upgrade.tried")
	j.State = migrating
	if err := u.writeJournal(j); err != nil {
		return err
	}
	failpoint.Hit("upgrade.migrating")
	return nil
}

func describeSteps(m store.Migration) string {
	var out []string
	for owner, to := range m.To {
		if from := m.From[owner]; from < to {
			out = append(out, fmt.Sprintf("%s %d to %d", owner, from, to))
		}
	}
	slices.Sort(out)
	return strings.Join(out, ", ")
}

// spare is the number of bytes that must remain free on the disk during an upgrade.
const spare = 64 << 20

// checkSpace checks that the snapshot, the copy and the log of the migration fit on the disk. The
// copies contain only the data; the present write-ahead log may be much larger.
func (u *Upgrade) checkSpace(ctx context.Context) error {
	data, err := store.DataSize(ctx, u.o.Paths.Database())
	if err != nil {
		return err
	}
	size := spare + 3*uint64(data) //nolint:gosec // a size is not negative
	if fi, err := os.Stat(u.o.Paths.Database() + "-wal"); err == nil {
		size += uint64(fi.Size()) //nolint:gosec // a size is not negative
	}
	free, err := u.o.Free(u.o.Paths.Data)
	if err != nil {
		return fmt.Errorf("read the free space of %s: %w", u.o.Paths.Data, err)
	}
	if free < size {
		return fmt.Errorf("upgrade: not enough disk space: %d MB are needed in %s for a snapshot and a trial, but only %d MB are free; free some space and start Hob again", size>>20, u.o.Paths.Data, free>>20)
	}
	return nil
}

// tryMigration migrates a copy of the snapshot and runs the trial in it.
func (u *Upgrade) tryMigration(ctx context.Context, s snapshot.Snapshot) (err error) {
	dir := trialDir(u.o.Paths)
	if err := system.RemoveAll(dir); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, system.RemoveAll(dir)) }()
	p := system.Paths{Home: dir, Data: dir, Logs: filepath.Join(dir, "logs"), Runtime: filepath.Join(dir, "run")}
	if err := p.Ensure(); err != nil {
		return err
	}
	for _, f := range s.Manifest.Files {
		to := filepath.Join(dir, filepath.FromSlash(f.Name))
		if to == p.ConfigFile() { // omit the configuration, because it gives access to accounts, channels and models
			continue
		}
		if err := copyFile(s.File(f.Name), to); err != nil {
			return err
		}
	}
	for _, f := range []string{u.o.Paths.AuditKeyFile(), u.o.Paths.AuditAnchorFile()} {
		if err := copyFile(f, filepath.Join(dir, filepath.Base(f))); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	unchecked := func(context.Context, store.Migration) error { return nil }
	st, err := store.Open(ctx, p.Database(), u.o.Sets, store.Options{BackupDir: p.Backups(), BeforeMigration: unchecked, Volatile: true})
	if err != nil {
		return err
	}
	err = st.CheckIntegrity(ctx)
	if st.Replacement() != nil {
		err = errors.New("the copy of the database is damaged; check the disk")
	}
	if err := errors.Join(err, st.Close()); err != nil {
		return err
	}
	failpoint.Hit("upgrade.trial.migrated")
	return u.o.Trial(ctx, p)
}

func copyFile(from, to string) error {
	f, err := os.Open(from)
	if err != nil {
		return err
	}
	defer f.Close()
	return system.WriteFrom(to, f)
}

// MarkOpened records that the program opened the home. Call Finish when the program is ready. Until
// then, the start of the previous version restores the earlier data.
func (u *Upgrade) MarkOpened() error {
	j, found, err := u.readJournal()
	if err != nil || !found {
		return err
	}
	j.State = opened
	return u.writeJournal(j)
}

// Finish ends the upgrade. failed is the error of opening the home or of becoming ready, or nil. If
// failed is nil, Finish confirms the new state. Otherwise it restores the old state; the caller
// must have closed the home. Finish also explains a database that is too new for this program.
func (u *Upgrade) Finish(ctx context.Context, failed error) error {
	if errors.Is(failed, store.ErrNewerSchema) {
		return u.refuseStart(ctx, u.explainNewer(ctx, failed))
	}
	j, found, err := u.readJournal()
	switch {
	case err == nil && !found && failed == nil:
		u.forgetOutdated()
		return nil
	case err == nil && !found && u.refused:
		return u.refuseStart(ctx, failed)
	case err != nil || !found:
		return errors.Join(failed, err)
	}
	ctx = context.WithoutCancel(ctx)
	if failed == nil {
		failpoint.Hit("upgrade.opened")
		u.o.Log.Info("upgrade finished", "version", u.o.Version, "snapshot", j.Snapshot)
		if err := snapshot.Prune(u.o.Paths.Backups(), snapshot.Keep); err != nil {
			u.o.Log.Warn("deleting old snapshots failed", "err", err)
		}
		if err := ForgetFailure(u.o.Paths); err != nil {
			u.o.Log.Warn("record of a failed upgrade not deleted", "err", err)
		}
		return u.removeJournal()
	}
	err = u.rollBack(ctx, j, failed)
	if u.o.Failed != nil {
		u.o.Failed(ctx, err)
	}
	return err
}

// refuseStart reports an error that ends the start before an upgrade begins. A service manager
// repeats the start, so refuseStart shows the same error at most once per hour.
func (u *Upgrade) refuseStart(ctx context.Context, failed error) error {
	if u.o.Failed != nil && u.recordRefusal(failed) {
		u.o.Failed(context.WithoutCancel(ctx), failed)
	}
	return failed
}

// rollBack restores the state before a failed upgrade. It returns an error with the reason and the
// result.
func (u *Upgrade) rollBack(ctx context.Context, j journal, failed error) error {
	u.o.Log.Error("upgrade failed", "version", u.o.Version, "err", failed)
	if err := u.recordFailure(failed); err != nil { // the next start repeats the upgrade immediately
		u.o.Log.Warn("failed upgrade not recorded", "err", err)
	}
	have, err := store.SchemaOf(ctx, u.o.Paths.Database())
	if err == nil && (j.State == migrating || j.State == opened) && !maps.Equal(have, j.From) {
		err = u.restoreSnapshot(ctx, j)
	} else if err == nil {
		err = u.dropUpgrade(j)
	}
	if err != nil {
		return fmt.Errorf("upgrade to %s failed: %w; the old state could not be restored: %w", u.o.Version, failed, err)
	}
	return fmt.Errorf("upgrade to %s failed: %w; your data is the same as before the upgrade: start Hob again, or return to the previous version with: hob update --rollback", u.o.Version, failed)
}

// restoreSnapshot restores the database from the snapshot. It can be called again after a crash.
func (u *Upgrade) restoreSnapshot(ctx context.Context, j journal) error {
	s, err := snapshot.Find(u.o.Paths.Backups(), j.Snapshot)
	if err != nil {
		return err
	}
	if err := s.Verify(ctx); err != nil {
		return err
	}
	j.State = restoring
	if err := u.writeJournal(j); err != nil {
		return err
	}
	failpoint.Hit("upgrade.restoring")
	db := u.o.Paths.Database()
	if err := copyFile(s.Database(), db+".restoring"); err != nil {
		return err
	}
	failpoint.Hit("upgrade.restore.copied")
	if _, err := store.Replace(ctx, db, db+".restoring", j.Aside, j.Aside != ""); err != nil {
		return err
	}
	return u.removeJournal()
}

// newerError wraps ErrNewerSchema and names the snapshot that this version can open.
type newerError struct {
	err  error
	text string
}

func (e *newerError) Error() string { return e.text }
func (e *newerError) Unwrap() error { return e.err }

// explainNewer adds the newest snapshot that this version can open to the error.
func (u *Upgrade) explainNewer(ctx context.Context, err error) error {
	s, found, lerr := FittingSnapshot(ctx, u.o.Paths, store.Versions(u.o.Sets))
	if lerr != nil {
		return errors.Join(err, lerr)
	}
	cause, _, _ := strings.Cut(err.Error(), "; ")
	if !found {
		return &newerError{err, cause + "; update Hob, or point HOB_HOME at another folder (no snapshot fits this version)"}
	}
	return &newerError{err, fmt.Sprintf("%s; update Hob, or restore the snapshot from %s, which discards later changes: hob restore %s",
		cause, s.Manifest.Created.Format("2006-01-02 15:04 UTC"), s.Name)}
}

// FittingSnapshot returns the newest snapshot that a program with these schema versions can open.
func FittingSnapshot(ctx context.Context, p system.Paths, known map[string]int) (snapshot.Snapshot, bool, error) {
	list, err := snapshot.List(p.Backups())
	for _, s := range list {
		if have, err := s.Schema(ctx); err == nil && len(have) > 0 && store.Supports(known, have) {
			return s, true, nil
		}
	}
	return snapshot.Snapshot{}, false, err
}
