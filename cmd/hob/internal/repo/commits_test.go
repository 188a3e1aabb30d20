package repo

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// commitRepo is a repository with the script .ci/commits, whose .ci/base is its first commit.
type commitRepo struct {
	t   *testing.T
	dir string
	n   int
}

func newCommitRepo(t *testing.T) *commitRepo {
	for _, program := range []string{"git", "sh", "awk"} {
		if _, err := exec.LookPath(program); err != nil {
			t.Skip(err)
		}
	}
	script, err := os.ReadFile(root + "/.ci/commits")
	if err != nil {
		t.Fatal(err)
	}
	r := &commitRepo{t: t, dir: t.TempDir()}
	r.runGit("init", "-q")
	r.writeFile(".ci/commits", string(script))
	r.addCommit("Everything before the rules, with a long subject that has no area and ends in a full stop.", "", 3000)
	r.writeFile(".ci/base", r.runGit("rev-parse", "HEAD"))
	return r
}

func (r *commitRepo) writeFile(name, text string) {
	r.t.Helper()
	path := filepath.Join(r.dir, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		r.t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		r.t.Fatal(err)
	}
}

func (r *commitRepo) runGit(args ...string) string {
	r.t.Helper()
	cmd := exec.CommandContext(r.t.Context(), "git", append([]string{"-C", r.dir, "-c", "user.name=Ada", "-c", "user.email=ada@example.org"}, args...)...)
	cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL="+os.DevNull, "GIT_CONFIG_NOSYSTEM=1")
	out, err := cmd.CombinedOutput()
	if err != nil {
		r.t.Fatalf("git %s: %v: %s", strings.Join(args, " "), err, out)
	}
	return string(out)
}

// addCommit adds a file with the given number of lines.
func (r *commitRepo) addCommit(subject, body string, lines int) {
	r.t.Helper()
	r.n++
	r.writeFile(fmt.Sprintf("file%d", r.n), strings.Repeat("x\n", lines))
	r.runGit("add", "-A")
	r.runGit("commit", "-q", "-m", subject+"\n\n"+body)
}

// checkCommits runs the script in a folder and returns its output, and whether it accepts the commits.
func (r *commitRepo) checkCommits(dir string) (string, bool) {
	out, err := exec.CommandContext(r.t.Context(), "sh", filepath.Join(dir, ".ci", "commits")).CombinedOutput()
	return string(out), err == nil
}

func TestCommitRules(t *testing.T) {
	for _, c := range []struct {
		name, subject, body string
		lines               int
		want                string // part of the complaint; "" if the script accepts the commit
	}{
		{"a change with a body", "channels/slack: retry on rate limit", "Slack answers 429 with a time.", 400, ""},
		{"a trivial change", "docs: fix a typo", "", 5, ""},
		{"a mechanical change", "all: rename Foo", "Mechanical: gopls renamed it.", 2000, ""},
		{"no area", "Retry on rate limit", "Slack answers 429.", 5, "area: do X"},
		{"a full stop", "docs: fix a typo.", "", 5, "area: do X"},
		{"a long subject", "channels/slack: retry on rate limit, and log how long the server wants us to wait", "", 5, "72"},
		{"no body", "channels/slack: retry on rate limit", "", 21, "without a body"},
		{"too many lines", "channels/slack: retry on rate limit", "Slack answers 429.", 1501, "split it"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			r := newCommitRepo(t)
			r.addCommit(c.subject, c.body, c.lines)
			if out, ok := r.checkCommits(r.dir); ok != (c.want == "") || !strings.Contains(out, c.want) {
				t.Errorf("accepted = %v, %q; want %q", ok, out, c.want)
			}
		})
	}
}

// TestCommitRules_AcceptClonesWithoutBase tests clones that cannot be checked: a shallow clone
// lacks the base, and its oldest commit seems to add every file; an unrelated history does not
// contain the base.
func TestCommitRules_AcceptClonesWithoutBase(t *testing.T) {
	r := newCommitRepo(t)
	r.addCommit("docs: fix a typo", "", 5)
	r.addCommit("docs: fix another typo", "", 5)
	for _, depth := range []string{"1", "2", "9"} {
		dir := filepath.Join(t.TempDir(), "clone")
		r.runGit("clone", "-q", "--depth", depth, "file://"+r.dir, dir)
		if out, ok := r.checkCommits(dir); !ok {
			t.Errorf("check in a clone of depth %s: %s", depth, out)
		}
	}
	r.writeFile(".ci/base", strings.Repeat("0123", 10)+"\n")
	if out, ok := r.checkCommits(r.dir); !ok || !strings.Contains(out, "not checked") {
		t.Errorf("check without the base: %v, %q", ok, out)
	}
	dir := t.TempDir() // an unpacked source archive
	if err := os.CopyFS(filepath.Join(dir, ".ci"), os.DirFS(filepath.Join(r.dir, ".ci"))); err != nil {
		t.Fatal(err)
	}
	if out, ok := r.checkCommits(dir); !ok {
		t.Errorf("check without a repository: %s", out)
	}
}
