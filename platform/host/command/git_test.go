package command

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// Runs real git in a repository whose attributes, hooks and submodule try to run programs. No
// listed command runs any of these programs.
func TestHostileRepositoryWithRealGit(t *testing.T) {
	b := newRepositoryHome(t)
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip(err)
	}
	repo, sub := filepath.Join(b.docs, "theirs"), filepath.Join(b.docs, "sub")
	git := func(dir string, args ...string) {
		t.Helper()
		cmd := exec.CommandContext(t.Context(), "git", append([]string{"-c", "protocol.file.allow=always", "-c", "user.name=x", "-c", "user.email=x@example.org", "-c", "init.defaultBranch=main"}, args...)...)
		cmd.Dir, cmd.Env = dir, []string{"PATH=" + os.Getenv("PATH"), "HOME=" + b.home, "GIT_CONFIG_NOSYSTEM=1"}
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Skipf("git %s: %v: %s", args, err, out)
		}
	}
	b.putFile(t, "Documents/sub/a", "a\n")
	b.putFile(t, "Documents/theirs/b", "b\n")
	b.putFile(t, "Documents/theirs/.gitattributes", "* filter=x diff=x\n")
	git(sub, "init", "-q")
	git(sub, "add", "a")
	git(sub, "commit", "-qm", "a")
	git(repo, "init", "-q")
	git(repo, "submodule", "add", "-q", sub, "sub")
	git(repo, "add", ".")
	git(repo, "commit", "-qm", "b")
	canary := filepath.Join(b.docs, "canary")
	b.putFile(t, "Documents/theirs/.git/modules/sub/config", "[core]\n\tbare = false\n\tworktree = ../../../sub\n\tfsmonitor = touch "+canary+"1\n\tpager = touch "+canary+"2\n[filter \"x\"]\n\tclean = touch "+canary+"3\n[diff \"x\"]\n\ttextconv = touch "+canary+"4\n[diff]\n\texternal = touch "+canary+"5\n")
	for _, hook := range []string{"post-index-change", "fsmonitor-watchman", "reference-transaction", "post-checkout"} {
		b.putFile(t, "Documents/theirs/.git/hooks/"+hook, "#!/bin/sh\ntouch "+canary+"-"+hook+"\n")
	}
	b.putFile(t, "Documents/theirs/sub/a", "changed\n")
	b.putFile(t, "Documents/theirs/b", "changed\n")
	r := b.newRunner(t, Off)
	for _, args := range []string{"status", "status -v", "diff", "diff HEAD", "log -p", "log --stat", "show", "blame b", "ls-files -m", "describe --all", "branch -a", "stash list", "reflog"} {
		v := b.judgeText("git -C theirs " + args)
		if !v.Listed {
			t.Errorf("git %s is not listed: %v", args, v.Why)
			continue
		}
		if _, err := r.Run(t.Context(), v.Within(r.Sandbox(t.Context())).Plan, time.Minute, func(int64) {}); err != nil {
			t.Fatal(err)
		}
		if found, err := filepath.Glob(canary + "*"); err != nil || len(found) > 0 {
			t.Fatalf("git %s ran %s (%v)", args, strings.Join(found, ", "), err)
		}
	}
}
