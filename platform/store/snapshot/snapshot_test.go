package snapshot_test

import (
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"hob/platform/host/system"
	"hob/platform/store"
	"hob/platform/store/snapshot"
)

func testSets() []store.MigrationSet {
	return []store.MigrationSet{{Owner: "t", Steps: []string{`CREATE TABLE t (k INTEGER PRIMARY KEY, v TEXT)`}}, {Owner: "k", Steps: []string{`CREATE TABLE derived (name TEXT, seq INTEGER)`}}}
}

func failOnError(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// newHome returns a home with an open database, texts, rules, a script, and files that must not be
// in a snapshot.
func newHome(t *testing.T) (system.Paths, *store.Store) {
	t.Helper()
	dir := t.TempDir()
	p := system.Paths{Home: filepath.Join(dir, "conf"), Data: filepath.Join(dir, "data"), Logs: filepath.Join(dir, "logs"), Runtime: filepath.Join(dir, "run")}
	failOnError(t, p.Ensure())
	for name, text := range map[string]string{
		"config.toml": "[agent]\n", "SOUL.md": "soul", "MEMORY.md": "memory", "policy/a.cel": "rule", "agents/x/SOUL.md": "x", "agents/x/workspace/big": "no",
		"skills/s/run.sh": "#!/bin/sh\n", "token": "secret", "secrets.age": "secret", "audit.key": "secret",
	} {
		failOnError(t, system.WriteFile(filepath.Join(p.Home, filepath.FromSlash(name)), []byte(text)))
	}
	failOnError(t, os.Chmod(filepath.Join(p.Home, "skills", "s", "run.sh"), 0o700))
	st, err := store.Open(t.Context(), p.Database(), testSets(), store.Options{})
	failOnError(t, err)
	t.Cleanup(func() { _ = st.Close() })
	failOnError(t, st.Write(t.Context(), func(tx *store.Tx) error {
		_, err := tx.Exec(`INSERT INTO t VALUES (1, 'a'), (2, 'b'); INSERT INTO derived VALUES ('index', 7)`)
		return err
	}))
	return p, st
}

func TestCreate_CopiesHomeWithoutSecrets(t *testing.T) {
	p, _ := newHome(t)
	s, err := snapshot.Create(t.Context(), snapshot.Options{Paths: p, Version: "v1", Reason: snapshot.Upgrade})
	failOnError(t, err)
	var names []string
	for _, f := range s.Manifest.Files {
		names = append(names, f.Name)
		if f.Executable != (f.Name == "skills/s/run.sh") {
			t.Errorf("%s: executable = %v", f.Name, f.Executable)
		}
	}
	want := []string{"hob.db", "MEMORY.md", "SOUL.md", "agents/x/SOUL.md", "config.toml", "policy/a.cel", "skills/s/run.sh"}
	if diff := cmp.Diff(want, names); diff != "" {
		t.Error(diff)
	}
	m := s.Manifest
	if m.Schema["t"] != 1 || m.Rows["t"] != 2 || m.Index["index"] != 7 || m.Version != "v1" || m.Reason != snapshot.Upgrade {
		t.Errorf("manifest = %+v", m)
	}
	found, err := snapshot.Find(p.Backups(), s.Name)
	failOnError(t, err)
	if diff := cmp.Diff(s, found); diff != "" {
		t.Error(diff)
	}
	failOnError(t, found.Verify(t.Context()))
	if b, err := os.ReadFile(found.File("SOUL.md")); err != nil || string(b) != "soul" {
		t.Errorf("SOUL.md = %q, %v", b, err)
	}
	entries, err := os.ReadDir(found.Path)
	failOnError(t, err)
	if len(entries) != 3 {
		t.Errorf("the folder contains %v", entries)
	}
}

func TestVerify_DetectsEveryChange(t *testing.T) {
	for name, change := range map[string]func(s snapshot.Snapshot) error{
		"changed text":    func(s snapshot.Snapshot) error { return os.WriteFile(s.File("SOUL.md"), []byte("soUl"), 0o600) },
		"missing file":    func(s snapshot.Snapshot) error { return os.Remove(s.File("policy/a.cel")) },
		"additional file": func(s snapshot.Snapshot) error { return os.WriteFile(s.File("USER.md"), nil, 0o600) },
		"cut database":    func(s snapshot.Snapshot) error { return os.Truncate(s.Database(), 4096) },
		"a link": func(s snapshot.Snapshot) error {
			name := s.File("SOUL.md")
			return errors.Join(os.Rename(name, s.Path+".soul"), os.Symlink(s.Path+".soul", name))
		},
		"another file of the home": listFile("token"),
		"a path to another file":   listFile("skills/../audit.key"),
		"a file below a file":      listFile("SOUL.md/x"),
		"other manifest": func(s snapshot.Snapshot) error {
			name := filepath.Join(s.Path, "manifest.json")
			b, err := os.ReadFile(name)
			if err != nil {
				return err
			}
			return os.WriteFile(name, []byte(strings.Replace(string(b), `"t": 2`, `"t": 3`, 1)), 0o600)
		},
	} {
		t.Run(name, func(t *testing.T) {
			p, _ := newHome(t)
			s, err := snapshot.Create(t.Context(), snapshot.Options{Paths: p, Reason: snapshot.Manual})
			failOnError(t, err)
			failOnError(t, change(s))
			s, err = snapshot.Find(p.Backups(), s.Name)
			failOnError(t, err)
			if err := s.Verify(t.Context()); !errors.Is(err, snapshot.ErrDamaged) {
				t.Errorf("Verify = %v, want ErrDamaged", err)
			}
		})
	}
}

// listFile adds a file to the snapshot and, with its digest, to the manifest.
func listFile(as string) func(snapshot.Snapshot) error {
	return func(s snapshot.Snapshot) error {
		text := []byte("planted")
		name := filepath.Join(s.Path, "files", filepath.FromSlash(as))
		if err := errors.Join(os.RemoveAll(filepath.Join(s.Path, "files", strings.Split(as, "/")[0])), os.MkdirAll(filepath.Dir(name), 0o700), os.WriteFile(name, text, 0o600)); err != nil {
			return err
		}
		m := s.Manifest
		m.Files = slices.DeleteFunc(slices.Clone(m.Files), func(f snapshot.File) bool {
			return f.Name == as || strings.HasPrefix(f.Name, as+"/") || strings.HasPrefix(as, f.Name+"/")
		})
		m.Files = append(m.Files, snapshot.File{Name: as, SHA256: fmt.Sprintf("%x", sha256.Sum256(text)), Size: int64(len(text))})
		b, err := json.Marshal(m)
		return errors.Join(err, os.WriteFile(filepath.Join(s.Path, "manifest.json"), b, 0o600))
	}
}

// A folder of the home that is a link, for example into a dotfiles repository, is copied and
// restored.
func TestCreate_FollowsLinkedFolder(t *testing.T) {
	p, _ := newHome(t)
	elsewhere := filepath.Join(t.TempDir(), "skills")
	skills := filepath.Join(p.Home, "skills")
	failOnError(t, os.Rename(skills, elsewhere))
	if err := os.Symlink(elsewhere, skills); err != nil {
		t.Skip(err)
	}
	s, err := snapshot.Create(t.Context(), snapshot.Options{Paths: p, Reason: snapshot.Manual})
	failOnError(t, err)
	if b, err := os.ReadFile(s.File("skills/s/run.sh")); err != nil || !strings.Contains(string(b), "/bin/sh") {
		t.Errorf("run.sh = %q, %v", b, err)
	}
}

func TestSaveFiles_CopiesWithoutDatabase(t *testing.T) {
	p, st := newHome(t)
	var dirs []string
	for range 3 {
		dir, err := snapshot.SaveFiles(p)
		failOnError(t, err)
		dirs = append(dirs, dir)
	}
	if b, err := os.ReadFile(filepath.Join(dirs[0], "skills", "s", "run.sh")); err != nil || len(b) == 0 {
		t.Errorf("run.sh = %q, %v", b, err)
	}
	for _, name := range []string{"token", "secrets.age", "audit.key", "hob.db"} {
		if _, err := os.Stat(filepath.Join(dirs[0], name)); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s was copied", name)
		}
	}
	if list, err := snapshot.List(p.Backups()); err != nil || len(list) != 0 {
		t.Errorf("List = %+v, %v", list, err)
	}
	failOnError(t, snapshot.Prune(p.Backups(), 2))
	if _, err := os.Stat(dirs[0]); !errors.Is(err, fs.ErrNotExist) {
		t.Error("the oldest folder still exists")
	}
	if n, err := st.RenewBackups(t.Context()); err != nil || n != 2 {
		t.Errorf("RenewBackups = %d, %v; want 2", n, err)
	}
	if dir, err := snapshot.SaveFiles(system.Paths{Home: t.TempDir(), Data: t.TempDir()}); dir != "" || err != nil {
		t.Errorf("SaveFiles of an empty home = %q, %v", dir, err)
	}
}

func TestListAndPrune(t *testing.T) {
	p, st := newHome(t)
	dated, err := st.BackupNow(t.Context())
	failOnError(t, err)
	var last snapshot.Snapshot
	for _, reason := range []string{snapshot.Manual, snapshot.Upgrade, snapshot.Manual, snapshot.Manual} {
		last, err = snapshot.Create(t.Context(), snapshot.Options{Paths: p, Reason: reason})
		failOnError(t, err)
	}
	left := filepath.Join(p.Backups(), "snapshot-20200101T000000.000-manual.part")
	failOnError(t, os.Mkdir(left, 0o700))
	list, err := snapshot.List(p.Backups())
	failOnError(t, err)
	if len(list) != 5 || list[0].Name != last.Name || !list[4].Dated || list[4].Path != dated {
		t.Errorf("List = %+v", list)
	}
	failOnError(t, list[4].Verify(t.Context()))
	if have, err := list[4].Schema(t.Context()); err != nil || have["t"] != 1 {
		t.Errorf("Schema = %v, %v", have, err)
	}
	failOnError(t, snapshot.Prune(p.Backups(), 1))
	list, err = snapshot.List(p.Backups())
	failOnError(t, err)
	if len(list) != 3 || list[0].Name != last.Name || list[1].Manifest.Reason != snapshot.Upgrade || !list[2].Dated {
		t.Errorf("after Prune: %+v", list)
	}
	if _, err := os.Stat(left); !errors.Is(err, fs.ErrNotExist) {
		t.Error("the incomplete snapshot still exists")
	}
	if n, err := st.RenewBackups(t.Context()); err != nil || n != 3 {
		t.Errorf("RenewBackups = %d, %v; want 3: it deletes snapshots too", n, err)
	}
	if list, err = snapshot.List(p.Backups()); err != nil || len(list) != 1 || !list[0].Dated {
		t.Errorf("after RenewBackups: %+v, %v", list, err)
	}
}

func TestOpen_ReplacesDamagedDatabaseBySnapshot(t *testing.T) {
	p, st := newHome(t)
	_, err := snapshot.Create(t.Context(), snapshot.Options{Paths: p, Reason: snapshot.Manual})
	failOnError(t, err)
	failOnError(t, st.Close())
	failOnError(t, os.WriteFile(p.Database(), []byte("no database"), 0o600))
	st, err = store.Open(t.Context(), p.Database(), testSets(), store.Options{BackupDir: p.Backups()})
	failOnError(t, err)
	defer st.Close()
	var n int
	failOnError(t, st.Read().QueryRow(`SELECT count(*) FROM t`).Scan(&n))
	if n != 2 || st.QuarantinedPath() == "" {
		t.Errorf("%d rows, set aside %q", n, st.QuarantinedPath())
	}
}
