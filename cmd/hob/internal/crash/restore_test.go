//go:build unix

package crash

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"
)

// restorePoints lists the failpoints of a restore at which the command is killed.
var restorePoints = []string{
	"snapshot.begun", "snapshot.database", "snapshot.verified", "snapshot.done", "restore.saved", "restore.staged", "store.commit.before:1", "store.commit.after:1",
	"store.commit.before:2", "store.commit.after:2", "store.commit.after:3", "restore.prepared", "restore.committed", "restore.file", "restore.file:2", "restore.files", "replace.log", "replace.done", "restore.replaced", "restore.done",
}

// TestRestore_KilledAtAnyInstantLeavesOldOrNew checks that a restore that is killed at any instant
// leaves the old home or the new one: with the database and the configuration of the same state, an
// intact audit log, and without grants and pairings that were revoked since the backup.
// HOB_RESTORE_ROUNDS (default 5) and HOB_RESTORE_SEED choose the kills at random instants.
func TestRestore_KilledAtAnyInstantLeavesOldOrNew(t *testing.T) {
	t.Parallel()
	bin, err := program()
	failOnError(t, err)
	dir := t.TempDir()
	h := &restoredHome{t: t, bin: bin, user: filepath.Join(dir, "user"), home: filepath.Join(dir, "first")}
	failOnError(t, os.MkdirAll(h.user, 0o700))
	failOnError(t, os.MkdirAll(h.home, 0o700))
	h.writeConfig("Oldname")
	failOnError(t, os.WriteFile(filepath.Join(h.home, "SOUL.md"), []byte("You are calm.\n"), 0o600))
	h.runHob(0, "", "task", "add", "oldtask")
	h.runHob(0, "", "tool", "call", "remember", `{"text":"the gate code is Kestrel-9981"}`)
	snapshot := filepath.Base(strings.TrimSpace(h.runHob(0, "", "backup")))
	h.runHob(0, "", "memory", "forget", "--query", "Kestrel-9981", "--keep-backups", "--yes")
	h.writeConfig("Newname")
	h.runHob(0, "", "task", "add", "newtask")
	seed := envNumber("HOB_RESTORE_SEED", 1)
	rnd := rand.New(rand.NewPCG(uint64(seed), 2))
	old, restored := 0, 0
	for n, point := range restorePoints {
		w := h.copyTo(filepath.Join(dir, fmt.Sprint("point", n)))
		if out := w.runHob(-1, point, "restore", "--yes", snapshot); !w.killed {
			t.Errorf("%s: the restore was not killed: %s", point, out)
		}
		w.verifyHome(point, snapshot, &old, &restored)
	}
	for n := range envNumber("HOB_RESTORE_ROUNDS", 5) {
		w := h.copyTo(filepath.Join(dir, fmt.Sprint("random", n)))
		after := time.Duration(rnd.IntN(300)) * time.Millisecond
		w.killAfter(after, "restore", "--yes", snapshot)
		w.verifyHome(fmt.Sprintf("seed %d, killed after %s", seed, after), snapshot, &old, &restored)
	}
	t.Logf("%d old, %d new", old, restored)
	if old == 0 || restored == 0 {
		t.Errorf("%d homes are old and %d new, want both", old, restored)
	}
}

// replacementPoints lists the failpoints at which the first start with a damaged database is
// killed.
var replacementPoints = []string{
	"replacement.copied", "replacement.recorded", "replacement.aside", "replacement.done", "store.commit.before", "store.commit.after", "store.commit.before:2",
	"store.commit.after:2", "store.commit.before:3", "store.commit.after:3", "store.commit.after:4",
}

// TestReplacement_KilledAtAnyInstantIsOnHold kills a start that replaces a damaged or missing
// database. Neither the damaged file nor the hold is lost: the next start uses the backup, on hold,
// and never an empty home.
func TestReplacement_KilledAtAnyInstantIsOnHold(t *testing.T) {
	t.Parallel()
	bin, err := program()
	failOnError(t, err)
	dir := t.TempDir()
	h := &restoredHome{t: t, bin: bin, user: filepath.Join(dir, "user"), home: filepath.Join(dir, "first")}
	failOnError(t, errors.Join(os.MkdirAll(h.user, 0o700), os.MkdirAll(h.home, 0o700)))
	h.writeConfig("Oldname")
	h.runHob(0, "", "task", "add", "oldtask")
	snapshot := filepath.Base(strings.TrimSpace(h.runHob(0, "", "backup")))
	h.runHob(0, "", "task", "add", "newtask")
	last := regexp.MustCompile(`intact: (\d+)`).FindStringSubmatch(h.runHob(0, "", "audit", "verify"))
	if last == nil {
		t.Fatal("hob audit verify does not print the number of lines")
	}
	garbage := bytes.Repeat([]byte("garbage "), 2000)
	for n, point := range replacementPoints {
		w := h.copyTo(filepath.Join(dir, fmt.Sprint("replaced", n)))
		db := filepath.Join(w.home, "hob.db")
		missing := n%3 == 2
		if missing {
			failOnError(t, os.Remove(db))
		} else {
			failOnError(t, os.WriteFile(db, garbage, 0o600))
		}
		if out := w.runHob(-1, point, "task", "list"); !w.killed {
			t.Errorf("%s: the start was not killed: %s", point, out)
		}
		w.runHob(-1, "store.commit.before:1", "task", "list") // a second kill, at the first commit of the next start
		tasks := w.runHob(0, "", "task", "list")
		if !strings.Contains(tasks, "oldtask") || strings.Contains(tasks, "newtask") {
			t.Errorf("%s: tasks %q, want those of the backup", point, tasks)
		}
		if pending := w.runHob(0, "", "restore", "--pending"); !strings.Contains(pending, "Restored the newest good backup ("+snapshot+")") {
			t.Errorf("%s: the restored database is not on hold: %s", point, pending)
		}
		audit := w.runHob(0, "", "audit", "verify")
		if strings.Count(audit, "records that the newest good backup") != 1 || !strings.Contains(audit, "the replaced log ended at line "+last[1]+",") {
			t.Errorf("%s: audit %q, want one restore that replaced %s lines", point, audit, last[1])
		}
		kept, err := filepath.Glob(db + ".damaged-*")
		failOnError(t, err)
		if missing != (len(kept) == 0) {
			t.Errorf("%s: kept files %q", point, kept)
		}
		for _, name := range kept {
			if b, err := os.ReadFile(name); err != nil || !bytes.Equal(b, garbage) {
				t.Errorf("%s: %s is not the damaged file: %v", point, name, err)
			}
		}
		if left, _ := filepath.Glob(db + "[.-]re*"); len(left) > 0 {
			t.Errorf("%s: files left behind: %q", point, left)
		}
	}
}

// restoredHome is a home in which only commands run, not the daemon.
type restoredHome struct {
	t               *testing.T
	bin, user, home string
	killed          bool
}

func (h *restoredHome) writeConfig(name string) {
	failOnError(h.t, os.WriteFile(filepath.Join(h.home, "config.toml"), []byte("[agent]\nname = \""+name+"\"\nmodel = \"offline\"\n"), 0o600))
}

func (h *restoredHome) copyTo(dir string) *restoredHome {
	out, err := exec.Command("cp", "-a", h.home, dir).CombinedOutput()
	if err != nil {
		h.t.Fatalf("%v: %s", err, out)
	}
	return &restoredHome{t: h.t, bin: h.bin, user: h.user, home: dir}
}

func (h *restoredHome) newCommand(point string, args ...string) *exec.Cmd {
	cmd := exec.Command(h.bin, args...)
	cmd.Env = append(os.Environ(), "HOME="+h.user, "HOB_HOME="+h.home, "TZ=UTC")
	if point != "" {
		if !strings.Contains(point, ":") {
			point += ":1"
		}
		cmd.Env = append(cmd.Env, "HOB_FAILPOINT="+point)
	}
	return cmd
}

// runHob runs a command and checks its exit code; -1 accepts any.
func (h *restoredHome) runHob(code int, point string, args ...string) string {
	h.t.Helper()
	cmd := h.newCommand(point, args...)
	out, err := cmd.CombinedOutput()
	x, failed := errors.AsType[*exec.ExitError](err)
	if err != nil && !failed {
		h.t.Fatal(err)
	}
	h.killed = failed && !x.Exited()
	if code >= 0 && cmd.ProcessState.ExitCode() != code {
		h.t.Fatalf("hob %s: exit code %d, want %d\n%s", strings.Join(args, " "), cmd.ProcessState.ExitCode(), code, out)
	}
	return string(out)
}

func (h *restoredHome) killAfter(d time.Duration, args ...string) {
	h.t.Helper()
	cmd := h.newCommand("", args...)
	failOnError(h.t, cmd.Start())
	timer := time.AfterFunc(d, func() { _ = cmd.Process.Kill() })
	_ = cmd.Wait() // an error means that the command was killed
	timer.Stop()
}

// verifyHome uses the home after the kill and checks that it is either the old or the new one,
// completely.
func (h *restoredHome) verifyHome(how, snapshot string, old, restored *int) {
	h.t.Helper()
	tasks := h.runHob(0, "", "task", "list")
	name := h.runHob(0, "", "config", "get", "agent.name")
	audit := h.runHob(0, "", "audit", "verify")
	isNew := !strings.Contains(tasks, "newtask")
	if !strings.Contains(tasks, "oldtask") || strings.Contains(name, "Oldname") != isNew || strings.Contains(audit, "records that "+snapshot) != isNew {
		h.t.Errorf("%s: mixed state: tasks %q, name %q, audit %q", how, tasks, name, audit)
	}
	if pending := h.runHob(0, "", "restore", "--pending"); strings.Contains(pending, "Restored") != isNew {
		h.t.Errorf("%s: restored %v, but: %s", how, isNew, pending)
	}
	for _, left := range []string{"restore-staging", "restore.json"} {
		if _, err := os.Stat(filepath.Join(h.home, left)); err == nil {
			h.t.Errorf("%s: %s still exists", how, left)
		}
	}
	if *old++; isNew {
		*old--
		*restored++
	}
	err := filepath.WalkDir(h.home, func(path string, e fs.DirEntry, err error) error {
		if err != nil || !e.Type().IsRegular() || strings.Contains(path, "backups") {
			return err
		}
		b, err := os.ReadFile(path)
		if bytes.Contains(b, []byte("Kestrel-9981")) {
			h.t.Errorf("%s: the deleted text is in %s", how, path)
		}
		return err
	})
	failOnError(h.t, err)
	if found := regexp.MustCompile(`Kestrel`).FindString(h.runHob(-1, "", "memory", "search", "gate code")); found != "" {
		h.t.Errorf("%s: the deleted text is found", how)
	}
}
