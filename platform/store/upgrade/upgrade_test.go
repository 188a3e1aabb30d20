package upgrade_test

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"hob/platform/host/system"
	"hob/platform/store"
	"hob/platform/store/snapshot"
	"hob/platform/store/upgrade"
)

// setsOf returns the migrations of a program that knows the first n steps.
func setsOf(n int, changes map[int][]string) []store.MigrationSet {
	steps := []string{
		`CREATE TABLE t (k INTEGER PRIMARY KEY, v TEXT); CREATE TABLE u (k INTEGER)`,
		`ALTER TABLE t ADD COLUMN w TEXT; DELETE FROM u WHERE k > 1`,
	}
	return []store.MigrationSet{{Owner: "t", Steps: steps[:n], RowChanges: changes}}
}

func declaredSets() []store.MigrationSet { return setsOf(2, map[int][]string{2: {"u"}}) }

func failOnError(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// oldHome returns a home of the old version.
func oldHome(t *testing.T) system.Paths {
	t.Helper()
	dir := t.TempDir()
	p := system.Paths{Home: dir, Data: dir, Logs: filepath.Join(dir, "logs"), Runtime: filepath.Join(dir, "run")}
	st, err := store.Open(t.Context(), p.Database(), setsOf(1, nil), store.Options{})
	failOnError(t, err)
	failOnError(t, st.Write(t.Context(), func(tx *store.Tx) error {
		_, err := tx.Exec(`INSERT INTO t VALUES (1, 'a'); INSERT INTO u VALUES (1), (2)`)
		return err
	}))
	failOnError(t, st.Close())
	failOnError(t, os.WriteFile(p.SoulFile(), []byte("soul"), 0o600))
	failOnError(t, os.WriteFile(p.ConfigFile(), []byte("x = 1"), 0o600))
	return p
}

// badCheck returns migrations whose result fails the integrity check.
func badCheck() []store.MigrationSet {
	sets := setsOf(1, nil)
	sets[0].Steps = append(sets[0].Steps, `CREATE TABLE checked (k INTEGER CHECK (k > 0)); PRAGMA ignore_check_constraints = 1; INSERT INTO checked VALUES (-1); PRAGMA ignore_check_constraints = 0`)
	return sets
}

// startOptions describes one start of a program.
type startOptions struct {
	sets    []store.MigrationSet
	trial   error // result of the trial
	opened  error // error of opening the home after the migration
	free    uint64
	version string // default v2
	serves  bool   // a daemon, which finishes when it is ready
	ready   error  // error of the daemon while it becomes ready
	shown   *[]string
}

// startProgram does what the composition root does, and returns the result of Finish.
func startProgram(t *testing.T, p system.Paths, o startOptions) error {
	t.Helper()
	up := upgrade.New(upgrade.Options{
		Paths: p, Sets: o.sets, Version: cmp.Or(o.version, "v2"), Log: slog.New(slog.DiscardHandler),
		Trial: func(_ context.Context, c system.Paths) error {
			if b, err := os.ReadFile(c.SoulFile()); err != nil || string(b) != "soul" {
				t.Errorf("SOUL.md of the copy = %q, %v", b, err)
			}
			if _, err := os.Stat(c.ConfigFile()); !errors.Is(err, fs.ErrNotExist) {
				t.Error("the copy contains the configuration, which gives access to accounts")
			}
			if v := schemaOf(t, c); v != 2 {
				t.Errorf("schema of the copy = %d", v)
			}
			if v := schemaOf(t, p); v != 1 {
				t.Errorf("schema during the trial = %d", v)
			}
			return o.trial
		},
		Free: func(string) (uint64, error) {
			if o.free > 0 {
				return o.free, nil
			}
			return 1 << 40, nil
		},
		Failed: func(_ context.Context, err error) {
			if o.shown != nil {
				*o.shown = append(*o.shown, err.Error())
			}
		},
	})
	failOnError(t, up.Recover(t.Context()))
	st, err := store.Open(t.Context(), p.Database(), o.sets, store.Options{BeforeMigration: up.Prepare})
	if err == nil {
		err = o.opened
		failOnError(t, st.Close())
	}
	if err == nil && o.serves {
		failOnError(t, up.MarkOpened())
		if upgrade.InProgress(p) {
			t.Error("InProgress = true after the home was opened; a start would wait forever")
		}
		err = o.ready
	}
	return up.Finish(t.Context(), err)
}

func schemaOf(t *testing.T, p system.Paths) int {
	t.Helper()
	have, err := store.SchemaOf(t.Context(), p.Database())
	failOnError(t, err)
	return have["t"]
}

// checkHome checks the schema, that no unfinished upgrade is left, and the number of snapshots.
func checkHome(t *testing.T, p system.Paths, schema, snapshots int) {
	t.Helper()
	if v := schemaOf(t, p); v != schema {
		t.Errorf("schema = %d, want %d", v, schema)
	}
	c, err := store.Inspect(t.Context(), p.Database())
	failOnError(t, err)
	if want := int64(3 - schema); c.Rows["t"] != 1 || c.Rows["u"] != want {
		t.Errorf("rows = %v", c.Rows)
	}
	if _, err := os.Stat(filepath.Join(p.Data, "upgrade-trial")); upgrade.InProgress(p) || !errors.Is(err, fs.ErrNotExist) {
		t.Error("an upgrade is in progress")
	}
	list, err := snapshot.List(p.Backups())
	failOnError(t, err)
	if len(list) != snapshots {
		t.Errorf("%d snapshots, want %d", len(list), snapshots)
	}
}

func TestUpgrade_KeepsSnapshotOfOldState(t *testing.T) {
	p := oldHome(t)
	failOnError(t, startProgram(t, p, startOptions{sets: declaredSets()}))
	checkHome(t, p, 2, 1)
	failOnError(t, startProgram(t, p, startOptions{sets: declaredSets()})) // nothing to do
	checkHome(t, p, 2, 1)
	err := startProgram(t, p, startOptions{sets: setsOf(1, nil)})
	list, lerr := snapshot.List(p.Backups())
	failOnError(t, lerr)
	if !errors.Is(err, store.ErrNewerSchema) || !strings.Contains(err.Error(), "hob restore "+list[0].Name) {
		t.Errorf("the old version reports %v; want the name of the snapshot", err)
	}
	failOnError(t, list[0].Delete())
	if err := startProgram(t, p, startOptions{sets: setsOf(1, nil)}); !errors.Is(err, store.ErrNewerSchema) || !strings.Contains(err.Error(), "no snapshot fits") {
		t.Errorf("without a snapshot the old version reports %v", err)
	}
}

// A daemon confirms the upgrade when it is ready. If it fails earlier, the previous data is
// restored.
func TestUpgrade_ConfirmsWhenDaemonIsReady(t *testing.T) {
	p := oldHome(t)
	err := startProgram(t, p, startOptions{sets: declaredSets(), serves: true, ready: errors.New("boom")})
	if err == nil || !strings.Contains(err.Error(), "as before the upgrade") {
		t.Errorf("error = %v", err)
	}
	checkHome(t, p, 1, 1)
	failOnError(t, upgrade.ForgetFailure(p))
	failOnError(t, startProgram(t, p, startOptions{sets: declaredSets(), serves: true}))
	checkHome(t, p, 2, 2)
}

func TestUpgrade_RollsBack(t *testing.T) {
	boom := errors.New("boom")
	for name, tt := range map[string]struct {
		o    startOptions
		want string
	}{
		"when the trial fails":                  {startOptions{sets: declaredSets(), trial: boom}, "self-check in a copy of the home: boom"},
		"when a migration loses rows":           {startOptions{sets: setsOf(2, nil)}, "table u has 1 rows instead of 2"},
		"when a migration fails its check":      {startOptions{sets: badCheck()}, "CHECK constraint failed in checked"},
		"when the home does not open afterward": {startOptions{sets: declaredSets(), opened: boom}, "boom"},
		"when the disk is nearly full":          {startOptions{sets: declaredSets(), free: 1 << 20}, "1 MB are free; free some space"},
	} {
		t.Run(name, func(t *testing.T) {
			p := oldHome(t)
			err := startProgram(t, p, tt.o)
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("error = %v, want %q", err, tt.want)
			}
			snapshots := 0
			if tt.o.opened != nil { // the restored snapshot is kept
				snapshots = 1
			}
			checkHome(t, p, 1, snapshots)
			if found, err := filepath.Glob(p.Database() + ".damaged-*"); err != nil || len(found) > 0 {
				t.Errorf("the intact database was moved: %q, %v", found, err)
			}
			failOnError(t, startProgram(t, p, startOptions{sets: setsOf(1, nil), version: "v1"}))       // the old version opens the restored data
			failOnError(t, startProgram(t, p, startOptions{sets: declaredSets(), version: "v2-fixed"})) // a fixed new version completes the upgrade
			checkHome(t, p, 2, snapshots+1)
			if f, found := upgrade.LastFailure(p); found {
				t.Errorf("LastFailure = %+v after a successful upgrade", f)
			}
		})
	}
}

// The space for a write-ahead log that is much larger than the data is required only once.
func TestPrepare_AcceptsLargeLog(t *testing.T) {
	const log = 100 << 20
	for _, tt := range []struct {
		free uint64
		want string
	}{{log, "not enough disk space"}, {log + 66<<20, ""}} {
		p := oldHome(t)
		f, err := os.Create(p.Database() + "-wal")
		failOnError(t, err)
		failOnError(t, errors.Join(f.Truncate(log), f.Close()))
		err = startProgram(t, p, startOptions{sets: declaredSets(), free: tt.free})
		if (err == nil) != (tt.want == "") || err != nil && !strings.Contains(err.Error(), tt.want) {
			t.Errorf("with %d bytes free: %v, want %q", tt.free, err, tt.want)
		}
	}
}

// A service manager repeats the start, and the user does not see the log of the service: each
// reason is shown once.
func TestFinish_ShowsFailureOnce(t *testing.T) {
	for name, tt := range map[string]struct {
		o          startOptions
		want, text string
		tries      int
	}{
		"rolled back":   {startOptions{sets: declaredSets(), trial: errors.New("boom")}, "same as before the upgrade", "the upgrade to v2 failed: self-check in a copy of the home: boom", 1},
		"disk full":     {startOptions{sets: declaredSets(), free: 1 << 20}, "free some space", "version v2 did not start: upgrade: not enough disk space", 0},
		"newer schema":  {startOptions{sets: setsOf(0, nil)}, "update Hob", "version v2 did not start: ", 0},
		"after a start": {startOptions{sets: declaredSets(), serves: true, ready: errors.New("boom")}, "same as before the upgrade", "the upgrade to v2 failed: boom", 1},
	} {
		t.Run(name, func(t *testing.T) {
			p := oldHome(t)
			var shown []string
			tt.o.shown = &shown
			for range 3 {
				if err := startProgram(t, p, tt.o); err == nil {
					t.Error("the start succeeded")
				}
			}
			if len(shown) != 1 || !strings.Contains(shown[0], tt.want) {
				t.Errorf("shown %q, want %q once", shown, tt.want)
			}
			f, found := upgrade.LastFailure(p)
			if text, remedy := f.Describe(); !found || f.Tries != tt.tries || !strings.HasPrefix(text, tt.text) || remedy == "" {
				t.Errorf("LastFailure = %+v, %v: %q; %q", f, found, text, remedy)
			}
			if f.Tries == 0 && f.NextTry() != f.At {
				t.Error("a start after the cause is removed has to wait")
			}
			failOnError(t, startProgram(t, p, startOptions{sets: declaredSets(), version: "v2-fixed"}))
			if f, found := upgrade.LastFailure(p); found {
				t.Errorf("LastFailure = %+v after a successful start", f)
			}
		})
	}
}

func TestPrepare_WaitsAfterFailure(t *testing.T) {
	p := oldHome(t)
	failing := startOptions{sets: declaredSets(), trial: errors.New("boom")}
	refused := func() bool {
		t.Helper()
		err := startProgram(t, p, failing)
		if err == nil || !strings.Contains(err.Error(), "boom") {
			t.Fatalf("error = %v, want boom", err)
		}
		checkHome(t, p, 1, 0)
		return strings.Contains(err.Error(), "start again after")
	}
	if refused() || !refused() || !refused() {
		t.Error("the failed upgrade is retried immediately")
	}
	f, found := upgrade.LastFailure(p)
	if !found || f.Version != "v2" || f.Tries != 1 || f.NextTry().Sub(f.At) != time.Minute {
		t.Errorf("LastFailure = %+v, %v", f, found)
	}
	for tries, want := range map[int]time.Duration{2: 2 * time.Minute, 6: 32 * time.Minute, 7: time.Hour, 1000: time.Hour} {
		if got := (upgrade.Failure{Tries: tries}).NextTry().Sub(time.Time{}); got != want {
			t.Errorf("after %d failures: %s, want %s", tries, got, want)
		}
	}
	failOnError(t, os.WriteFile(p.ConfigFile(), []byte("x = 2"), 0o600))
	if refused() {
		t.Error("a changed configuration does not lead to a retry")
	}
	failOnError(t, upgrade.ForgetFailure(p))
	if refused() {
		t.Error("no retry after ForgetFailure")
	}
}

// If the database is unreadable after a crash during the migration, the snapshot replaces the
// database, and the damaged file is kept.
func TestRecover_RestoresSnapshotWhenDatabaseIsUnreadable(t *testing.T) {
	for name, damage := range map[string]func(path string) error{
		"damaged": func(path string) error { return os.WriteFile(path, bytes.Repeat([]byte("x"), 9000), 0o600) },
		"missing": os.Remove,
	} {
		t.Run(name, func(t *testing.T) {
			p := oldHome(t)
			up := upgrade.New(upgrade.Options{Paths: p, Sets: declaredSets(), Version: "v2", Log: slog.New(slog.DiscardHandler), Trial: func(context.Context, system.Paths) error { return nil }})
			st, err := store.Open(t.Context(), p.Database(), declaredSets(), store.Options{BeforeMigration: up.Prepare})
			failOnError(t, err)
			failOnError(t, st.Close())
			failOnError(t, damage(p.Database()))
			failOnError(t, startProgram(t, p, startOptions{sets: declaredSets()}))
			checkHome(t, p, 2, 2)
			kept, err := filepath.Glob(p.Database() + ".damaged-*")
			if failOnError(t, err); len(kept) > 0 != (name == "damaged") {
				t.Errorf("kept files: %q", kept)
			}
		})
	}
}

// After a crash between the commit and the confirmation, the new version confirms the upgrade, and
// the old version restores the snapshot.
func TestRecover_AfterCrashBeforeConfirmation(t *testing.T) {
	crash := func(t *testing.T) system.Paths {
		p := oldHome(t)
		up := upgrade.New(upgrade.Options{Paths: p, Sets: declaredSets(), Version: "v2", Log: slog.New(slog.DiscardHandler), Trial: func(context.Context, system.Paths) error { return nil }})
		st, err := store.Open(t.Context(), p.Database(), declaredSets(), store.Options{BeforeMigration: up.Prepare})
		failOnError(t, err)
		failOnError(t, st.Close())
		return p
	}
	t.Run("new version", func(t *testing.T) {
		p := crash(t)
		failOnError(t, startProgram(t, p, startOptions{sets: declaredSets()}))
		checkHome(t, p, 2, 1)
	})
	t.Run("old version", func(t *testing.T) {
		p := crash(t)
		failOnError(t, startProgram(t, p, startOptions{sets: setsOf(1, nil)}))
		checkHome(t, p, 1, 1)
	})
	t.Run("old version after the new one opened the home", func(t *testing.T) {
		p := crash(t)
		failOnError(t, upgrade.New(upgrade.Options{Paths: p, Sets: declaredSets(), Version: "v2", Log: slog.New(slog.DiscardHandler)}).MarkOpened())
		failOnError(t, startProgram(t, p, startOptions{sets: setsOf(1, nil)}))
		checkHome(t, p, 1, 1)
	})
	t.Run("new version that cannot open the home", func(t *testing.T) {
		p := crash(t)
		if err := startProgram(t, p, startOptions{sets: declaredSets(), opened: errors.New("boom")}); err == nil || !strings.Contains(err.Error(), "as before the upgrade") {
			t.Errorf("error = %v", err)
		}
		checkHome(t, p, 1, 1)
	})
}
