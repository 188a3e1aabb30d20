package system

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

// maxLog is the size in bytes at which an old log is renamed before a new start.
const maxLog = 10 << 20

// Detached describes a program that keeps running when its parent ends.
type Detached struct {
	Path string   // path of the program, usually os.Executable()
	Args []string // arguments without the program's name
	Env  []string // nil means the environment of this process
	Dir  string   // "" means the current folder
	Log  string   // file to which the output is appended; if it is larger than 10 MB, it is first renamed to Log.1
}

// Detach starts the program in a new session without a terminal, waits until ready returns nil, and
// returns the process id. If the program or ctx ends first, the error contains the end of the log.
// If ctx ends first, Detach also kills the program.
func Detach(ctx context.Context, d Detached, ready func(context.Context) error) (int, error) {
	log, from, err := openLog(d.Log)
	if err != nil {
		return 0, err
	}
	defer log.Close()
	cmd := exec.Command(d.Path, d.Args...) //nolint:noctx // the program outlives ctx on purpose
	cmd.Env, cmd.Dir, cmd.Stdout, cmd.Stderr = d.Env, d.Dir, log, log
	ownSession(cmd)
	if err := cmd.Start(); err != nil {
		return 0, fmt.Errorf("start %s: %w", d.Path, err)
	}
	t := time.NewTicker(5 * time.Millisecond)
	defer t.Stop()
	var last error
	for {
		if code, done := hasEnded(cmd.Process); done {
			return 0, fmt.Errorf("the daemon ended while starting (exit code %d): %s", code, readLogTail(d.Log, from))
		}
		if last = ready(ctx); last == nil {
			pid := cmd.Process.Pid
			return pid, cmd.Process.Release()
		}
		select {
		case <-ctx.Done():
			err := fmt.Errorf("the daemon did not become ready in time (%w): %s", last, readLogTail(d.Log, from))
			return 0, errors.Join(err, cmd.Process.Kill(), waitKilled(cmd))
		case <-t.C:
		}
	}
}

// waitKilled waits for a killed child and ignores its exit status.
func waitKilled(cmd *exec.Cmd) error {
	if err := cmd.Wait(); err != nil {
		if _, ok := errors.AsType[*exec.ExitError](err); !ok {
			return err
		}
	}
	return nil
}

// openLog opens the log for appending and returns its current size.
func openLog(path string) (*os.File, int64, error) {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return nil, 0, fmt.Errorf("log %s: %w", path, innermostError(err))
	}
	if fi, err := os.Stat(path); err == nil && fi.Size() > maxLog {
		_ = Rename(path, path+".1") // the log grows further if a process on Windows has it open
	}
	f, err := os.OpenFile(path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, 0, fmt.Errorf("log %s: %w", path, innermostError(err))
	}
	at, err := f.Seek(0, io.SeekEnd)
	if err != nil {
		return nil, 0, errors.Join(fmt.Errorf("log %s: %w", path, innermostError(err)), f.Close())
	}
	return f, at, nil
}

// readLogTail returns the last lines logged since offset from.
func readLogTail(path string, from int64) string {
	f, err := os.Open(path)
	if err != nil {
		return "no log file exists"
	}
	defer f.Close()
	b, err := io.ReadAll(io.NewSectionReader(f, from, 64<<10))
	b = bytes.TrimSpace(b)
	if err != nil || len(b) == 0 {
		return "the daemon wrote no log; see " + path
	}
	lines := strings.Split(string(b), "\n")
	lines = lines[max(0, len(lines)-5):]
	for i, line := range lines {
		if cause, ok := strings.CutPrefix(line, "hob: "); ok { // the error with which the daemon ended
			return strings.Join(append([]string{cause}, lines[i+1:]...), "\n")
		}
	}
	return strings.Join(lines, "\n")
}
