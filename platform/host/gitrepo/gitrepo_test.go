package gitrepo

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"hob/platform/host/command"
	"hob/platform/host/denypaths"
)

func TestMain(m *testing.M) {
	if len(os.Args) == 2 && os.Args[1] == command.Helper {
		syscall.Exit(command.Serve(os.Stdin, os.Stdout, os.Stderr)) // with the race detector, os.Exit takes a second
	}
	os.Exit(m.Run())
}

// newReader returns a reader for the repositories in dir.
func newReader(t *testing.T, dir string) Reader {
	t.Helper()
	if _, err := exec.LookPath("git"); err != nil || runtime.GOOS == "windows" {
		t.Skip("needs git and a shell that Hob can analyze")
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	home := t.TempDir()
	judge, err := command.New(command.Options{Home: home, Allowed: []string{dir}, Places: denypaths.New(denypaths.Options{Home: home, Allowed: []string{dir}})})
	if err != nil {
		t.Fatal(err)
	}
	runner, err := command.NewRunner(command.RunOptions{Judge: judge, Helper: []string{self, command.Helper}})
	if err != nil {
		t.Fatal(err)
	}
	if runner.Sandbox(t.Context()).Kind() == "" {
		t.Skip("needs a sandbox: " + runner.Sandbox(t.Context()).Missing())
	}
	return Reader{Judge: judge, Runner: runner}
}

func runGit(t *testing.T, dir string, args ...string) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "git", args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GIT_AUTHOR_NAME=Ada", "GIT_AUTHOR_EMAIL=ada@example.org", "GIT_COMMITTER_NAME=Ada", "GIT_COMMITTER_EMAIL=ada@example.org", "GIT_CONFIG_GLOBAL=/dev/null")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("git %v: %v\n%s", args, err, out)
	}
}

func writeFile(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

func TestReader_ReadsBranchChangesAndCommits(t *testing.T) {
	dir := t.TempDir()
	r := newReader(t, dir)
	runGit(t, dir, "init", "-q", "-b", "main")
	if s, err := r.Status(t.Context(), dir, time.Now().AddDate(0, 0, -7)); err != nil || s.Branch != "main" || s.Last != nil || len(s.Commits) != 0 {
		t.Fatalf("a repository without commits: %+v, %v", s, err)
	}
	writeFile(t, filepath.Join(dir, "a.txt"), "one")
	runGit(t, dir, "add", ".")
	runGit(t, dir, "commit", "-qm", "old: begin", "--date", "2001-01-01T00:00:00Z")
	writeFile(t, filepath.Join(dir, "a.txt"), "two")
	runGit(t, dir, "commit", "-qam", "hull: paint it\x1b[31m red")
	writeFile(t, filepath.Join(dir, "a.txt"), "three")
	writeFile(t, filepath.Join(dir, "new file.txt"), "x")
	s, err := r.Status(t.Context(), dir, time.Now().AddDate(0, 0, -7))
	if err != nil {
		t.Fatal(err)
	}
	if s.Branch != "main" || s.Changed != 1 || s.New != 1 || s.Last == nil || !strings.HasPrefix(s.Last.Subject, "hull: paint it") || s.Last.Author != "Ada" {
		t.Errorf("Status = %+v, last %+v", s, s.Last)
	}
	if len(s.Commits) != 2 || s.Commits[1].Subject != "old: begin" || s.Commits[0].ID != s.Last.ID { // git compares the time of the commit, which is now for both
		t.Errorf("commits = %+v", s.Commits)
	}
}

func TestReader_RunsNoProgramOfTheRepository(t *testing.T) {
	dir := t.TempDir()
	r := newReader(t, dir)
	runGit(t, dir, "init", "-q", "-b", "main")
	writeFile(t, filepath.Join(dir, "evil.sh"), "#!/bin/sh\ntouch "+filepath.Join(dir, "ran")+"\n")
	if err := os.Chmod(filepath.Join(dir, "evil.sh"), 0o755); err != nil {
		t.Fatal(err)
	}
	runGit(t, dir, "config", "core.fsmonitor", filepath.Join(dir, "evil.sh"))
	_, err := r.Status(t.Context(), dir, time.Now())
	if _, serr := os.Stat(filepath.Join(dir, "ran")); serr == nil {
		t.Error("the program of the repository ran")
	}
	if err != nil && !errors.Is(err, ErrNotRead) {
		t.Errorf("err = %v, want ErrNotRead or nil", err)
	}
}

func TestReader_ReportsFoldersWithoutRepository(t *testing.T) {
	dir := t.TempDir()
	if _, err := newReader(t, dir).Status(t.Context(), dir, time.Now()); !errors.Is(err, ErrNoRepository) {
		t.Errorf("err = %v, want ErrNoRepository", err)
	}
}
