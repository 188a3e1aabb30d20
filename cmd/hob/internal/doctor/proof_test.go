package doctor

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"hob/platform/host/system"
	"hob/platform/net/release"
	"hob/platform/store"
)

// stateOf runs one check and returns its finding.
func stateOf(t *testing.T, e Env, name string) Check {
	t.Helper()
	list, err := Run(t.Context(), e, Options{Names: []string{name}})
	if err != nil || len(list) != 1 {
		t.Fatalf("%s: %+v, %v", name, list, err)
	}
	return list[0]
}

func TestProofs_WorkInAHome(t *testing.T) {
	e := conf(t, healthy(t), "")
	e.Tables = []store.MigrationSet{{Owner: "test", Steps: []string{`CREATE TABLE things (id INTEGER PRIMARY KEY); INSERT INTO things VALUES (1), (2), (3)`}}}
	if err := os.MkdirAll(e.Paths.Data, 0o700); err != nil {
		t.Fatal(err)
	}
	_ = os.Remove(e.Paths.Database())
	db, err := store.Open(t.Context(), e.Paths.Database(), e.Tables, store.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = db.Close() }()
	for name, want := range map[string]string{
		"restore": "verified and restored", "every file": "files and folders are yours", "key storage": "encrypted, read and deleted",
		"time source": "monotonic clock agree", "unproven": "hob selftest",
	} {
		if c := stateOf(t, e, name); c.State != OK || !strings.Contains(c.Cause, want) {
			t.Errorf("%s: %+v, want %q", name, c, want)
		}
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

func TestRestore_FailsForADamagedDatabase(t *testing.T) {
	e := conf(t, healthy(t), "")
	if err := os.MkdirAll(e.Paths.Data, 0o700); err != nil {
		t.Fatal(err)
	}
	write(t, e.Paths.Database(), strings.Repeat("no database", 1000), 0o600)
	if c := stateOf(t, e, "restore"); c.State != Fail || c.Remedy == "" {
		t.Errorf("%+v", c)
	}
}
