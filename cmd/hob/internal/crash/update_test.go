//go:build unix

package crash

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"hob/platform/host/system"
)

// The programs of the update tests: the running one and the one that replaces it.
const (
	oldVersion, newVersion = "v1.0.0", "v1.1.0"
)

// releases builds both programs with their failpoints.
var releases = sync.OnceValues(func() (map[string][]byte, error) {
	out := map[string][]byte{}
	for _, v := range []string{oldVersion, newVersion} {
		bin := filepath.Join(workshop, "hob-"+v)
		cmd := exec.Command("go", "build", "-ldflags", "-s -w -X hob/platform/failpoint.enabled=yes -X main.version="+v, "-o", bin, "hob/cmd/hob")
		cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
		if text, err := cmd.CombinedOutput(); err != nil {
			return nil, fmt.Errorf("build: %w\n%s", err, text)
		}
		b, err := os.ReadFile(bin)
		if err != nil {
			return nil, err
		}
		out[v] = b
	}
	return out, nil
})

// updatedHome is a home whose daemon is replaced by another version.
type updatedHome struct {
	t         *testing.T
	bin, home string
	builds    map[string][]byte
	fail      string // names for HOB_FAILPOINT_FAIL: "windows" runs the code for Windows
}

func newUpdatedHome(t *testing.T) *updatedHome {
	t.Helper()
	builds, err := releases()
	failOnError(t, err)
	dir := t.TempDir()
	h := &updatedHome{t: t, bin: filepath.Join(dir, "bin", "hob"), home: filepath.Join(dir, "home"), builds: builds}
	failOnError(t, os.MkdirAll(filepath.Dir(h.bin), 0o700))
	failOnError(t, os.MkdirAll(h.home, 0o700))
	failOnError(t, os.WriteFile(h.bin, builds[oldVersion], 0o755))
	failOnError(t, os.WriteFile(h.bin+".previous", builds[newVersion], 0o755))
	failOnError(t, os.WriteFile(filepath.Join(h.home, "config.toml"), []byte("[agent]\nmodel = \"offline\"\n[web]\nlisten = \"127.0.0.1:0\"\n"), 0o600))
	t.Cleanup(func() { _, _ = h.newCommand("", "stop").CombinedOutput() })
	return h
}

// newCommand returns a command. env is an additional variable, or "".
func (h *updatedHome) newCommand(env string, args ...string) *exec.Cmd {
	ctx, cancel := context.WithTimeout(context.Background(), 4*time.Minute)
	h.t.Cleanup(cancel)
	cmd := exec.CommandContext(ctx, h.bin, args...)
	cmd.Env = append(os.Environ(), "HOB_HOME="+h.home, "HOME="+filepath.Dir(h.home), "HOB_FAILPOINT_FAIL="+h.fail, env)
	return cmd
}

func (h *updatedHome) startDaemon(env string) {
	h.t.Helper()
	if out, err := h.newCommand(env, "start").CombinedOutput(); err != nil {
		h.t.Fatalf("hob start: %v\n%s", err, out)
	}
}

// awaitVersion waits until a daemon with the version of the program is ready, and returns the version.
func (h *updatedHome) awaitVersion() string {
	h.t.Helper()
	p := system.Paths{Home: h.home, Data: h.home, Logs: filepath.Join(h.home, "logs"), Runtime: filepath.Join(h.home, "run")}
	for end := time.Now().Add(2 * time.Minute); time.Now().Before(end); time.Sleep(50 * time.Millisecond) {
		holder, held, err := system.Probe(p.LockFile())
		failOnError(h.t, err)
		if !held || holder.Role != system.RoleDaemon {
			continue
		}
		e, ok, err := system.ReadEndpoint(p.EndpointFile(), holder.PID)
		if err != nil || !ok {
			continue
		}
		b, err := os.ReadFile(h.bin)
		failOnError(h.t, err)
		if bytes.Equal(b, h.builds[e.Version]) {
			if out, err := h.newCommand("", "status").CombinedOutput(); err == nil && strings.Contains(string(out), e.Version) {
				return e.Version
			}
		}
	}
	log, _ := os.ReadFile(p.LogFile())
	h.t.Fatalf("Hob is not running, or runs another program than the installed one; log:\n%s", log[max(0, len(log)-4000):])
	return ""
}

// An update whose command or daemon is killed at any step ends with a running daemon of the old or the new
// version. A version that does not start is replaced by the old one, even without the command.
func TestUpdate_KilledAtAnyInstantLeavesOldOrNewRunning(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		daemon, command string // failpoints at which the daemon and the command are killed
		fails           bool   // the new version does not become ready
		windows         bool
		want            string // "" for either
	}{
		{want: newVersion},
		{command: "update.marked", want: oldVersion},
		{command: "update.requested", want: newVersion},
		{daemon: "update.stopped", want: newVersion},
		{daemon: "update.kept", want: newVersion},
		{daemon: "update.replaced", want: newVersion},
		{daemon: "update.done", want: newVersion},
		{daemon: "update.restarting", want: newVersion},
		{daemon: "update.ready", want: newVersion},
		{daemon: "update.confirmed", want: newVersion},
		{fails: true, want: oldVersion},
		{fails: true, command: "update.requested", want: oldVersion},
		{fails: true, daemon: "update.failed", want: newVersion}, // the command restarts the daemon without the simulated failure
		{windows: true, want: newVersion},
		{windows: true, command: "update.requested", want: newVersion},
		{windows: true, daemon: "update.stopped", want: newVersion},
		{windows: true, daemon: "update.kept", want: newVersion}, // between the renames: the program does not exist
		{windows: true, daemon: "update.replaced", want: newVersion},
		{windows: true, daemon: "update.restarting", want: newVersion},
		{windows: true, daemon: "update.ready", want: newVersion},
		{windows: true, fails: true, want: oldVersion},
		{windows: true, fails: true, command: "update.requested", want: oldVersion},
	} {
		t.Run(fmt.Sprintf("daemon %s command %s fails %v windows %v", tc.daemon, tc.command, tc.fails, tc.windows), func(t *testing.T) {
			h := newUpdatedHome(t)
			if tc.windows {
				h.fail = "windows"
			}
			var env []string
			if tc.daemon != "" {
				env = append(env, "HOB_FAILPOINT="+tc.daemon+":1")
			}
			if tc.fails {
				env = append(env, "HOB_FAILPOINT_FAIL="+h.fail+",start.ready."+newVersion)
			}
			start := h.newCommand("", "start")
			start.Env = append(start.Env, env...)
			if out, err := start.CombinedOutput(); err != nil {
				t.Fatalf("hob start: %v\n%s", err, out)
			}
			point := ""
			if tc.command != "" {
				point = "HOB_FAILPOINT=" + tc.command + ":1"
			}
			out, err := h.newCommand(point, "update", "--rollback").CombinedOutput()
			if killed := isKilled(err); killed != (tc.command != "") {
				t.Errorf("the command was killed = %v: %v\n%s", killed, err, out)
			}
			if tc.fails && tc.command == "" && tc.daemon == "" && !strings.Contains(string(out), "did not start, so the current version was restored and runs again: failpoint start.ready") {
				t.Errorf("hob update: %s", out)
			}
			if got := h.awaitVersion(); tc.want != "" && got != tc.want {
				t.Errorf("version %s runs, want %s; the command printed:\n%s", got, tc.want, out)
			}
			h.checkRollback()
		})
	}
}

// checkRollback checks that a rollback works after a kill, and that a stopped daemon stays stopped.
func (h *updatedHome) checkRollback() {
	h.t.Helper()
	if out, err := h.newCommand("", "stop").CombinedOutput(); err != nil {
		h.t.Fatalf("hob stop: %v\n%s", err, out)
	}
	h.startDaemon("")
	before := h.awaitVersion()
	out, err := h.newCommand("", "update", "--rollback").CombinedOutput()
	if after := h.awaitVersion(); err != nil || after == before {
		h.t.Errorf("the next exchange: version %s after %s: %v\n%s", after, before, err, out)
	}
}

// TestUpdate_CommandKilledAtRandomInstants kills the command at random instants. HOB_UPDATE_ROUNDS
// (default 2) and HOB_UPDATE_SEED choose the kills.
func TestUpdate_CommandKilledAtRandomInstants(t *testing.T) {
	t.Parallel()
	rnd := rand.New(rand.NewPCG(uint64(envNumber("HOB_UPDATE_SEED", 1)), 3))
	for _, fail := range []string{"", "windows"} {
		h := newUpdatedHome(t)
		h.fail = fail
		h.startDaemon("")
		for range envNumber("HOB_UPDATE_ROUNDS", 2) {
			after := time.Duration(rnd.IntN(1500)) * time.Millisecond
			cmd := h.newCommand("", "update", "--rollback")
			failOnError(t, cmd.Start())
			time.Sleep(after)
			_ = cmd.Process.Kill()
			_ = cmd.Wait()
			t.Logf("%s killed after %s: %s", fail, after, h.awaitVersion())
		}
	}
}

// isKilled reports whether a process ended by SIGKILL.
func isKilled(err error) bool {
	e, ok := errors.AsType[*exec.ExitError](err)
	if !ok {
		return false
	}
	ws, ok := e.Sys().(syscall.WaitStatus)
	return ok && ws.Signaled() && ws.Signal() == syscall.SIGKILL
}
