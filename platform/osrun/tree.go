// Package osrun runs programs of this machine: a child together with all that
// it starts, so that nothing is left when it is ended. It holds no policy:
// whether a program may run is decided by its callers.
package osrun

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"sync"
	"time"
)

// Tree is a running child and its descendants: a process group on Unix, a job
// object on Windows. A descendant that makes a group (or session) of its own
// leaves the tree on Unix; only a sandbox holds such a one.
//
// Its methods may be called concurrently.
type Tree struct {
	cmd   *exec.Cmd
	group group
	done  chan struct{}

	mu     sync.Mutex
	reaped bool // the child's id may belong to somebody else by now
	err    error
}

// Start starts the command at the head of a tree of its own. Its Stdin, Stdout
// and Stderr must be *os.File or nil: copying goroutines would keep Wait from
// returning for as long as a descendant holds a pipe open. SysProcAttr is set
// here, except that on Windows one with handles to inherit is added to: such a
// child may show windows. The error says what was tried.
func Start(cmd *exec.Cmd) (*Tree, error) {
	t := &Tree{cmd: cmd, done: make(chan struct{})}
	t.group.before(cmd)
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("start %s: %w", cmd.Path, err)
	}
	if err := t.group.after(cmd.Process); err != nil {
		err = errors.Join(fmt.Errorf("start %s: hold its children together: %w", cmd.Path, err), cmd.Process.Kill())
		_ = cmd.Wait() // its exit status is no news
		return nil, err
	}
	go t.reap()
	return t, nil
}

// reap waits for the child, then ends what it left behind.
func (t *Tree) reap() {
	err := t.cmd.Wait()
	t.mu.Lock()
	t.group.kill(t.cmd.Process)
	t.reaped, t.err = true, err
	t.mu.Unlock()
	t.group.close()
	close(t.done)
}

// Pid is the child's process id.
func (t *Tree) Pid() int { return t.cmd.Process.Pid }

// Done is closed when the child has ended, has been waited for, and what it
// left behind has been told to end.
func (t *Tree) Done() <-chan struct{} { return t.done }

// Err is how the child ended; it is set once Done is closed.
func (t *Tree) Err() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.err
}

// Terminate asks the tree to end in its own time (SIGTERM; on Windows, which
// has none, it does nothing).
func (t *Tree) Terminate() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if !t.reaped {
		t.group.terminate(t.cmd.Process)
	}
}

// Kill ends the tree at once. It does not wait.
func (t *Tree) Kill() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if !t.reaped {
		t.group.kill(t.cmd.Process)
	}
}

// End lets the child end by itself for a while (its caller has closed its
// input), then asks it to, then kills it, and returns when it is gone.
func (t *Tree) End(patience time.Duration) {
	for _, next := range []func(){t.Terminate, t.Kill} {
		timer := time.NewTimer(patience)
		select {
		case <-t.done:
			timer.Stop()
			return
		case <-timer.C:
			next()
		}
	}
	<-t.done
}

// Signalled describes how a child ended, for an error: "exit status 1",
// "signal: killed", or "it ended" when there was no failure.
func Signalled(err error) string {
	if err == nil {
		return "it ended"
	}
	if x, ok := errors.AsType[*exec.ExitError](err); ok {
		return x.String()
	}
	return err.Error()
}

// Pipe is os.Pipe for a child's input or output; the error names the reason.
func Pipe() (r, w *os.File, err error) {
	if r, w, err = os.Pipe(); err != nil {
		return nil, nil, fmt.Errorf("make a pipe: %w", err)
	}
	return r, w, nil
}
