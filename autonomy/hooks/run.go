package hooks

import (
	"cmp"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"time"

	"hob/platform/host/osrun"
	"hob/platform/host/system"
)

// markEnv is the environment variable that marks the processes of one run, so that processes that
// left their process group are found.
const markEnv = "HOB_HOOK_RUN"

// runMark returns the beginning of the mark of all runs with this home's pins.
func (h *Hooks) runMark() string {
	sum := sha256.Sum256([]byte(h.o.Pins))
	return markEnv + "=" + hex.EncodeToString(sum[:8]) + "."
}

// runFolder returns the folder for the records of running hooks.
func (h *Hooks) runFolder() string { return h.o.Pins + ".runs" }

// passedEnv lists the environment variables that hooks get. They contain none of Hob's keys.
var passedEnv = []string{"PATH", "HOME", "USER", "LOGNAME", "TMPDIR", "TEMP", "SystemRoot"}

// expandArgs expands "~" in the arguments. An argument that cannot be expanded stays unchanged; the
// check of the program then names it.
func expandArgs(command []string) []string {
	out := slices.Clone(command)
	for i, a := range out {
		if path, err := system.Expand(a); err == nil && len(a) > 0 && a[0] == '~' {
			out[i] = path
		}
	}
	return out
}

// runHook checks the program and runs it. Any problem is a refusal.
func (h *Hooks) runHook(ctx context.Context, x hook, e Event) (r result) {
	began := time.Now()
	fail := func(err error) result {
		return result{refuse: cleanReason(err.Error(), "failed"), failed: true, took: time.Since(began)}
	}
	if err := h.checkProgram(x); err != nil {
		return fail(err)
	}
	in, err := json.Marshal(e)
	if err != nil {
		return fail(fmt.Errorf("encode the event: %w", err))
	}
	out, err := runProgram(ctx, x, h.runMark()+rand.Text(), h.runFolder(), append(in, '\n'))
	if said, ok := errors.AsType[exitError](err); ok { // the program exited by itself with a non-zero status: a refusal
		return result{refuse: cleanReason(said.Error(), "no reason given"), took: time.Since(began)}
	}
	if err != nil {
		return fail(err)
	}
	if r, err = parseReply(out); err != nil {
		return fail(err)
	}
	r.took = time.Since(began)
	return r
}

// runProgram runs the program without a shell and returns its output. When it returns, the program
// and its descendants have ended. mark is the variable that marks them, and runs the folder for the
// record of their process group.
func runProgram(ctx context.Context, x hook, mark, runs string, in []byte) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, x.Timeout.Duration)
	defer cancel()
	cmd := exec.Command(x.args[0], x.args[1:]...) //nolint:gosec,noctx // the user configured the program; Output ends the whole process tree
	cmd.Dir = filepath.Dir(x.args[0])
	cmd.Env = append(osrun.Programs{Getenv: minimalEnv}.Env(), "HOB_HOOK="+x.On, system.Marker+"=hook", mark)
	forget := func() {}
	out, err := osrun.OutputOf(ctx, cmd, in, func(pid int) { forget = recordGroup(runs, pid, x.Timeout.Duration) })
	killMarked(mark)
	forget()
	if errors.Is(err, context.DeadlineExceeded) {
		return nil, fmt.Errorf("the hook did not end within %s; raise its timeout or make its program faster", x.Timeout.Duration)
	}
	failure, failed := errors.AsType[*osrun.Failure](err)
	if !failed {
		return out, err
	}
	said := cmp.Or(failure.Said, osrun.DescribeExit(failure.Err))
	if exit, ok := errors.AsType[*exec.ExitError](failure.Err); ok && exit.Exited() {
		return nil, exitError(said)
	}
	return nil, errors.New(said)
}

// exitError is the error of a program that ended with a non-zero status. Its text is the program's
// stderr output or, if that is empty, the status.
type exitError string

// Error implements error.
func (e exitError) Error() string { return string(e) }

func minimalEnv(key string) string {
	if !slices.Contains(passedEnv, key) {
		return ""
	}
	return os.Getenv(key)
}
