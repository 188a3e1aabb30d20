package doctor

import (
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"hob/autonomy/bus"
	"hob/platform/host/system"
	"hob/platform/net/release"
	"hob/platform/provenance"
	"hob/platform/store"
)

// stateOf runs one check and returns its finding.
func stateOf(t *testing.T, e Env, name string) Check {
	t.Helper()
	list, err := Run(t.Context(), e, Options{Names: []string{name}})
	if err != nil || len(list) != 1 {
		t.Fatalf("%s: Run = %+v, %v", name, list, err)
	}
	return list[0]
}

func TestProofs_WorkInAHome(t *testing.T) {
	e := withConfig(t, healthyEnv(t), "")
	e.Tables = append(e.Tables, store.MigrationSet{Owner: "things", Steps: []string{`CREATE TABLE things (id INTEGER PRIMARY KEY); INSERT INTO things VALUES (1), (2), (3)`}})
	db, err := store.Open(t.Context(), e.Paths.Database(), e.Tables, store.Options{BackupDir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = db.Close() }()
	inbox := bus.New(db, bus.Options{}).Inbox
	if _, err := inbox.Put(t.Context(), bus.Event{Kind: bus.Watcher, Source: "w1", Session: "watcher:w1", Text: "a file appeared", Provenance: provenance.Outside}); err != nil {
		t.Fatal(err)
	}
	writeFile(t, e.Paths.SoulFile(), "soul", 0o600)
	for name, want := range map[string]string{
		"restore": "restored into a temporary home: ", "every file": "files and folders are yours", "key storage": "encrypted, read and deleted",
		"time source": "monotonic clock agree", "unproven": "hob selftest",
	} {
		if c := stateOf(t, e, name); c.State != OK || !strings.Contains(c.Cause, want) {
			t.Errorf("%s: %+v, want %q", name, c, want)
		}
	}
	if c := stateOf(t, e, "restore"); !strings.HasSuffix(c.Cause, "rows and 1 file match, 1 item is on hold, and the audit log is intact") {
		t.Errorf("restore: %+v", c)
	}
	if left, _ := filepath.Glob(filepath.Join(system.EscapeGlob(e.Paths.Backups()), "*")); len(left) > 0 {
		t.Errorf("the proof leaves %v", left)
	}
	if c := stateOf(t, e, "updates"); c.State != Skip || c.Remedy == "" {
		t.Errorf("updates without a key: %+v", c)
	}
	e.Release = release.Source{URL: "https://example.org/latest.json", Key: "no key"}
	if c := stateOf(t, e, "updates"); c.State != Fail {
		t.Errorf("updates with a broken key: %+v", c)
	}
}

// A backup that cannot be restored is reported.
func TestRestore_FailsWhenRestoreFails(t *testing.T) {
	e := withConfig(t, healthyEnv(t), "")
	if c := stateOf(t, e, "restore"); c.State != OK {
		t.Fatalf("stateOf = %+v", c)
	}
	writeFile(t, e.Paths.AuditKeyFile(), "no key", 0o600)
	if c := stateOf(t, e, "restore"); c.State != Fail || !strings.Contains(c.Cause, "does not contain a key") {
		t.Errorf("stateOf = %+v", c)
	}
}

func TestEveryFile_FixClosesFiles(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("Windows has no file modes")
	}
	e := withConfig(t, healthyEnv(t), "")
	script := filepath.Join(e.Paths.Home, "skills", "s", "run.sh")
	if err := os.MkdirAll(filepath.Dir(script), 0o755); err != nil {
		t.Fatal(err)
	}
	writeFile(t, script, "#!/bin/sh", 0o755)
	if err := os.Chmod(e.Paths.Home, 0o755); err != nil {
		t.Fatal(err)
	}
	list, err := Run(t.Context(), e, Options{Names: []string{"every file"}, Fix: true})
	if err != nil || len(list) != 1 || list[0].Fixed == "" {
		t.Fatalf("Run = %+v, %v", list, err)
	}
	if c := stateOf(t, e, "every file"); c.State != OK {
		t.Errorf("after the fix: %+v", c)
	}
	if fi, err := os.Stat(script); err != nil || fi.Mode().Perm() != 0o700 {
		t.Errorf("mode of the script = %v, %v, want 0700", fi.Mode(), err)
	}
}

func TestRestore_FailsForADamagedDatabase(t *testing.T) {
	e := withConfig(t, healthyEnv(t), "")
	if err := os.MkdirAll(e.Paths.Data, 0o700); err != nil {
		t.Fatal(err)
	}
	writeFile(t, e.Paths.Database(), strings.Repeat("no database", 1000), 0o600)
	if c := stateOf(t, e, "restore"); c.State != Fail || c.Remedy == "" {
		t.Errorf("stateOf = %+v", c)
	}
}

// The file that is left from before the data moved to a server is not what has to be backed up.
func TestBackups_OfAServerAreNotChecked(t *testing.T) {
	e := withConfig(t, healthyEnv(t), "[store]\nurl = \"postgres://db.example.org/hob\"\n")
	for _, name := range []string{"backup", "restore"} {
		if got := stateOf(t, e, name); got.State != OK || !strings.Contains(got.Cause, "PostgreSQL") {
			t.Errorf("%+v", got)
		}
	}
}
