//go:build unix

package badinput

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// A home that cannot be written stays unchanged, and the error names the remedy.
func TestReadOnlyHome(t *testing.T) {
	t.Parallel()
	h := newFixture(t, offline)
	h.runHob("ask", "remember that the code is 9911").checkSuccess("Noted")
	before := h.listFiles()
	h.changeMode(".", 0o500)
	const want = `cannot write to the folder .*: permission denied.*make it writable or set HOB_HOME`
	for _, args := range [][]string{{"ask", "hello"}, {"start"}, {"start", "--foreground"}, {"tool", "list"}, {"backup"}} {
		h.runHob(args...).checkFailure(1, want)
	}
	h.runHob("config", "set", "agent.name", "Robin").checkFailure(1, `nothing was changed.*config.toml.*permission denied.*make its folder writable`)
	h.runHob("doctor").checkExit(1, `fail +home +cannot write.*-> make it writable.*fail +database.*-> check the permissions`)
	h.changeMode(".", 0o700)
	if after := h.listFiles(); !slices.Equal(before, after) {
		t.Errorf("files before %v and after %v", before, after)
	}
	h.runHob("ask", "what did I ask you to remember?").checkSuccess("9911")

	h.env[1] = "HOB_HOME="
	failOnError(t, os.Chmod(h.user, 0o500)) //nolint:gosec // a folder
	for _, args := range [][]string{{"ask", "hello"}, {"init"}, {"start"}} {
		h.runHob(args...).checkFailure(1, `cannot create the folder .*set HOB_HOME`)
	}
	h.runHob("doctor").checkExit(1, `fail +home`)
	h.env[0] = "HOME="
	h.runHob("ask", "hello").checkFailure(1, `HOME is not set.*set HOB_HOME`)
}

// checkExit checks the exit code and the output.
func (r result) checkExit(code int, pattern string) {
	r.t.Helper()
	if r.code != code {
		r.t.Errorf("%s: exit code %d, want %d", r.what, r.code, code)
	}
	r.code = 0
	r.checkSuccess(pattern)
}

// If a home becomes read-only while the daemon runs, no data is lost.
func TestHomeBecomesReadOnly(t *testing.T) {
	t.Parallel()
	h := newFixture(t, offline)
	h.startDaemon()
	h.changeMode(".", 0o500)
	h.sendMessage("remember that the code is 9911")
	h.runHob("backup").checkFailure(1, "permission denied.*check the permissions")
	h.changeMode(".", 0o700)
	if got := h.sendMessage("what did I ask you to remember?"); !strings.Contains(got, "9911") {
		t.Error(got)
	}
	h.runHob("backup").checkSuccess(`snapshot-.*-manual`)
	h.stopDaemon()
}

// A home can have only one daemon, and a port only one listener.
func TestSecondDaemon(t *testing.T) {
	t.Parallel()
	h := newFixture(t, offline)
	h.startDaemon()
	h.runHob("start").checkSuccess("was already running")
	h.runHob("start", "--foreground").checkFailure(1, `a daemon is already running in this home \(pid \d+\).*hob stop`)
	h.runHob("ask", "hello").checkSuccess("Hello")
	other := newFixture(t, strings.ReplaceAll(offline, "127.0.0.1:0", strings.TrimPrefix(h.base, "http://")))
	other.startDaemon()
	if other.base == h.base {
		t.Errorf("both listen on %s", h.base)
	}
	other.runHob("status").checkSuccess("Problem since .*: another program uses " + strings.TrimPrefix(h.base, "http://") + ", so Hob listens on " + strings.TrimPrefix(other.base, "http://"))
	other.runHob("ask", "hello").checkSuccess("Hello")
	other.runHob("open", "--print").checkSuccess(other.base + `/login\?code=`)
	other.stopDaemon()
	h.stopDaemon()
}

// A clock that was set back is reported, and Hob keeps working.
func TestClockSetBack(t *testing.T) {
	t.Parallel()
	h := newFixture(t, offline)
	h.runHob("ask", "remember that the code is 9911").checkSuccess("Noted")
	h.runHob("schedule", "add", "brief me", "--every", "0 8 * * *").checkSuccess("Scheduled")
	later := time.Now().Add(48 * time.Hour) // the clock was two days ahead when the file was written
	failOnError(t, os.Chtimes(filepath.Join(h.home, "hob.db"), later, later))
	h.runHob("doctor").checkSuccess("warn +clock.*in the future: the clock was set back.*-> set this machine's clock")
	h.startDaemon()
	if got := h.sendMessage("what did I ask you to remember?"); !strings.Contains(got, "9911") {
		t.Error(got)
	}
	h.stopDaemon()
}
