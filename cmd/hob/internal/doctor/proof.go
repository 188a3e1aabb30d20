package doctor

import (
	"bytes"
	"cmp"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"hob/autonomy/bus"
	"hob/autonomy/guard"
	"hob/autonomy/recovery"
	"hob/platform/host/system"
	"hob/platform/host/vault"
	"hob/platform/net/release"
	"hob/platform/retry"
	"hob/platform/store"
	"hob/platform/store/snapshot"
	"hob/platform/text/textnorm"
)

const (
	// proofTime is the time limit of the restore test, and maxProofDatabase the maximum size of a
	// database that can be tested in that time.
	proofTime        = 8 * time.Second
	maxProofDatabase = 256 << 20 // bytes
	spareProof       = 64 << 20  // bytes that a restore leaves free
	maxWalkedFiles   = 50_000
	// driftWindow is the time over which the wall clock is compared with the monotonic clock, and
	// maxDrift the tolerated difference.
	driftWindow = 250 * time.Millisecond
	maxDrift    = 50 * time.Millisecond
)

// checkRestore makes a backup, verifies it, and restores it into a temporary home, as hob restore does.
// The copies are in the backup folder, under a name that the next backup deletes if Hob is killed.
func checkRestore(ctx context.Context, e Env) []Check {
	const name = "restore"
	if e.Config.Store.URL != "" {
		return okCheck(name, onServer)
	}
	fi, err := os.Stat(e.Paths.Database())
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return okCheck(name, "no data to back up yet")
	case err != nil:
		return failWithError(name, err, "make the database readable")
	case fi.Size() > maxProofDatabase:
		return skipCheck(name, fmt.Sprintf("the database is %d MB, too large for a quick test of the restore", fi.Size()>>20), "make a backup, which is verified: hob backup")
	}
	if free, err := system.DiskFree(e.Paths.Data); err == nil && free < spareProof+5*uint64(fi.Size()) {
		return skipCheck(name, fmt.Sprintf("only %d MB are free, and a test of the restore needs %d MB", free>>20, (spareProof+5*fi.Size())>>20), "free some space")
	}
	ctx, cancel := context.WithTimeout(ctx, proofTime)
	defer cancel()
	proof, err := proveRestore(ctx, e)
	switch {
	case ctx.Err() != nil:
		return skipCheck(name, "not finished within "+proofTime.String(), "make a backup, which is verified: hob backup")
	case err != nil:
		return failWithError(name, err, "see the log: "+e.Paths.LogFile())
	}
	return okCheck(name, "a backup was made, verified and restored into a temporary home: "+proof)
}

// proveRestore makes, verifies and restores a backup, and describes what it compared.
func proveRestore(ctx context.Context, e Env) (proof string, err error) {
	if err := os.MkdirAll(e.Paths.Backups(), privateDir); err != nil {
		return "", err
	}
	dir, err := os.MkdirTemp(e.Paths.Backups(), store.SnapshotPrefix+"doctor-*"+store.PartialSuffix)
	if err != nil {
		return "", fmt.Errorf("create a temporary home: %w", err)
	}
	defer func() { err = errors.Join(err, system.RemoveAll(dir)) }()
	copied := e.Paths
	copied.Data = filepath.Join(dir, "copied") // the snapshot of the copied database is in the copy's own backup folder
	home := filepath.Join(dir, "restored")
	restored := system.Paths{Home: home, Data: home, Logs: filepath.Join(home, "logs"), Runtime: filepath.Join(home, "run")}
	if err := errors.Join(os.Mkdir(copied.Data, privateDir), restored.Ensure()); err != nil {
		return "", err
	}
	for n := 1; ; n++ { // another process may open or close the database at the same time
		err := store.CopyDatabase(ctx, e.Paths.Database(), copied.Database())
		if err == nil {
			break
		}
		if n == 10 || !strings.Contains(err.Error(), "SQLITE_BUSY") || retry.Sleep(ctx, 200*time.Millisecond) != nil {
			return "", err
		}
	}
	made, err := snapshot.Create(ctx, snapshot.Options{Paths: copied, Version: e.Version, Reason: snapshot.Manual})
	if err != nil {
		return "", err
	}
	for from, to := range map[string]string{e.Paths.AuditKeyFile(): restored.AuditKeyFile(), e.Paths.TombstoneFile(): restored.TombstoneFile()} {
		b, err := os.ReadFile(from)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err = errors.Join(err, system.WriteFile(to, b)); err != nil {
			return "", err
		}
	}
	r, err := recovery.Restore(ctx, recovery.Options{Paths: restored, Migrations: e.Tables, Version: e.Version, Snapshot: made})
	if err != nil {
		return "", err
	}
	return compareRestored(ctx, restored, e.Tables, made, r)
}

// compareRestored compares a restored home with its snapshot, and checks that its work is on hold and its
// audit log records the restore.
func compareRestored(ctx context.Context, p system.Paths, tables []store.MigrationSet, made snapshot.Snapshot, r recovery.Report) (proof string, err error) {
	if len(r.Warnings) > 0 {
		return "", fmt.Errorf("restore: %s", strings.Join(r.Warnings, "; "))
	}
	for _, f := range made.Manifest.Files {
		if f.Name == store.SnapshotDatabase {
			continue
		}
		b, err := os.ReadFile(filepath.Join(p.Home, filepath.FromSlash(f.Name)))
		if sum := sha256.Sum256(b); err != nil || hex.EncodeToString(sum[:]) != f.SHA256 {
			return "", errors.Join(fmt.Errorf("the restored file %s differs from the backup", f.Name), err)
		}
	}
	have, err := store.Inspect(ctx, p.Database())
	if err != nil {
		return "", fmt.Errorf("check the restored database: %w", err)
	}
	var rows int64
	for table, n := range made.Manifest.Rows { // a restore adds rows to the audit log and the hold
		if rows += n; have.Rows[table] < n && maps.Equal(have.Schema, made.Manifest.Schema) {
			return "", fmt.Errorf("the restored table %s has %d rows instead of %d", table, have.Rows[table], n)
		}
	}
	st, err := store.Open(ctx, p.Database(), tables, store.Options{})
	if err != nil {
		return "", fmt.Errorf("open the restored database: %w", err)
	}
	defer func() { err = errors.Join(err, st.Close()) }()
	key, err := system.ReadKey(p.AuditKeyFile())
	if err != nil {
		return "", err
	}
	g, err := guard.New(st, guard.Options{AuditKey: key, Anchor: p.AuditAnchorFile(), Tombstones: p.TombstoneFile()})
	if err != nil {
		return "", err
	}
	if err := recovery.Open(ctx, recovery.SyncOptions{Store: st, Guard: g}); err != nil {
		return "", err
	}
	log, err := g.VerifyAll(ctx)
	if err != nil {
		return "", fmt.Errorf("the restored audit log: %w", err)
	}
	hold, err := bus.New(st, bus.Options{}).Hold.Status(ctx)
	switch {
	case err != nil:
		return "", err
	case len(log.Restores) == 0:
		return "", errors.New("the restored audit log does not record the restore")
	case !hold.Active || hold.Texts+hold.Events != len(r.Held):
		return "", errors.New("the restored work is not on hold")
	}
	return fmt.Sprintf("%d rows and %s match, %s on hold, and the audit log is intact", rows, textnorm.CountNoun(len(made.Manifest.Files)-1, "file", "files"), textnorm.CountNoun(len(r.Held), "item is", "items are")), nil
}

// checkEveryFile checks each file in the home: its owner, and whether others can change or access
// it. Inside a private folder, a file's permissions for others have no effect.
func checkEveryFile(ctx context.Context, e Env) []Check {
	const name = "every file"
	var foreign, open []string
	seen := map[string]bool{}
	count := 0
	for _, root := range []string{e.Paths.Home, e.Paths.Data, e.Paths.Logs, e.Paths.Runtime} {
		if root == "" || seen[root] {
			continue
		}
		top, err := os.Stat(root)
		if err != nil {
			continue // checkHome reports it
		}
		closed := !system.OthersMayRead(top)
		err = filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
			if ctx.Err() != nil || count >= maxWalkedFiles {
				return fs.SkipAll
			}
			if err != nil || seen[path] || d.Type()&fs.ModeSymlink != 0 {
				if errors.Is(err, fs.ErrNotExist) {
					return nil // the file was removed in the meantime
				}
				return err
			}
			seen[path] = true
			fi, err := d.Info()
			if err != nil {
				return nil //nolint:nilerr // the file was removed in the meantime
			}
			count++
			switch {
			case !system.IsOwnedByUser(fi):
				foreign = append(foreign, path)
			case !closed && system.OthersMayRead(fi):
				open = append(open, path)
			}
			return nil
		})
		if err != nil {
			return warnCheck(name, "not all files can be checked: "+withoutPath(err).Error(), "take ownership of the folder and make it readable")
		}
	}
	var out []Check
	if len(foreign) > 0 {
		out = warnCheck(name, fmt.Sprintf("%s of %d belong to other users: %s", textnorm.CountNoun(len(foreign), "file", "files"), count, foreign[0]), "take ownership: sudo chown -R $(id -un) "+system.QuoteForShell(e.Paths.Home))
	}
	if len(open) > 0 {
		fix := func(ctx context.Context) (string, error) {
			_, err := closeAccessFix(open)(ctx)
			return "closed " + textnorm.CountNoun(len(open), "file", "files") + " to others", err
		}
		out = append(out, withFix(fix, warnCheck(name, fmt.Sprintf("%s of %d can be read by other users: %s", textnorm.CountNoun(len(open), "file", "files"), count, open[0]), fixRemedy+", or: chmod -R go-rwx "+system.QuoteForShell(e.Paths.Home)))...)
	}
	switch {
	case len(out) > 0:
		return out
	case ctx.Err() != nil || count >= maxWalkedFiles:
		return okCheck(name, fmt.Sprintf("checked the first %d files: all are yours, and other users cannot access them", count))
	}
	return okCheck(name, fmt.Sprintf("all %d files and folders are yours, and other users cannot access them", count))
}

// checkKeyStorage stores a random secret in a temporary encrypted file, reads it and deletes it. It
// does not touch the keychain, because that may show a dialog; `hob selftest` does.
func checkKeyStorage(ctx context.Context, e Env) []Check {
	const name = "key storage"
	dir, err := os.MkdirTemp("", "hob-doctor-")
	if err != nil {
		return skipCheck(name, err.Error(), "make the temporary folder writable")
	}
	defer func() { _ = system.RemoveAll(dir) }()
	file, secret := filepath.Join(dir, "secrets.age"), rand.Text()
	v := vault.New(vault.Options{Path: file, Identity: filepath.Join(dir, "identity"), Getenv: func(string) string { return "" }})
	if err := v.Set(ctx, "proof", secret); err != nil {
		return failWithError(name, err, "")
	}
	got, err := v.Get(ctx, "proof")
	if err != nil || got != secret {
		return failWithError(name, errors.Join(errors.New("the secret that was just stored cannot be read"), err), "")
	}
	raw, err := os.ReadFile(file)
	fi, statErr := os.Stat(file)
	if err = errors.Join(err, statErr); err != nil || system.OthersMayRead(fi) || bytes.Contains(raw, []byte(secret)) {
		return failWithError(name, errors.Join(errors.New("the secrets file is not encrypted or not private"), err), "")
	}
	return okCheck(name, "a secret was encrypted, read and deleted in a temporary file")
}

// checkTime compares the wall clock with the monotonic clock, and reports whether the kernel
// considers its clock synchronized, where the kernel knows this.
func checkTime(ctx context.Context, _ Env) []Check {
	const name, remedy = "time source", "set this machine's clock and enable network time"
	before := time.Now()
	if err := retry.Sleep(ctx, driftWindow); err != nil {
		return skipCheck(name, err.Error(), "")
	}
	after := time.Now()
	drift := after.Round(0).Sub(before.Round(0)) - after.Sub(before)
	if drift.Abs() > maxDrift {
		return warnCheck(name, fmt.Sprintf("the wall clock moved by %s against the monotonic clock within %s", drift.Round(time.Millisecond), driftWindow), "another program sets the clock; "+remedy)
	}
	synced, by, err := kernelSynced()
	switch {
	case err != nil:
		return okCheck(name, fmt.Sprintf("the wall clock and the monotonic clock agree; not compared with a second source: %v", err))
	case !synced:
		return okCheck(name, "the wall clock and the monotonic clock agree; "+by+" reports no time service, so the time may be wrong")
	}
	return okCheck(name, "the wall clock and the monotonic clock agree; "+by+" says that the clock is synchronized")
}

// checkUpdates checks that an update could be verified. It contacts no server.
func checkUpdates(_ context.Context, e Env) []Check {
	const name = "updates"
	url, key := cmp.Or(e.Config.Update.URL, e.Release.URL), cmp.Or(e.Release.Key, e.Config.Update.Key)
	switch {
	case url == "" || key == "":
		return skipCheck(name, "this build contains no release address or no public key, so hob update cannot verify a release", "use a release, or set update.url and update.key (docs/packaging.md)")
	case release.CheckKeys(key) != nil:
		return failWithError(name, fmt.Errorf("the public key for releases is invalid: %w", release.CheckKeys(key)), "hob config set update.key RW…")
	}
	return okCheck(name, "the public key for releases is present; the update server was not contacted (hob update --check)")
}

// checkUnproven lists what the checks do not prove.
func checkUnproven(_ context.Context, e Env) []Check {
	out := "delivery on channels (hob channel test NAME), the functions of the desktop (hob selftest), the update server (hob update --check), and a copy of the backup on another disk"
	if runtime.GOOS != "linux" {
		out += "; the time, because this system has no second time source to compare with"
	}
	if e.Daemon == 0 {
		out += "; the permissions of the background process, which is not running"
	}
	return okCheck("unproven", "not proven by the doctor: "+out)
}
