// Package osrun runs programs and scripts of this machine: a child together with all
// its descendants, so that none is left when it ends. It applies no policy: callers
// decide whether a program may run.
package osrun

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"sync"
	"time"
)

// Tree is a running child and its descendants: a process group on Unix, a job object on
// Windows. On Unix a descendant that creates a new group or session leaves the tree;
// only a sandbox can contain it.
//
// Its methods may be called concurrently.
type Tree struct {
	cmd   *exec.Cmd
	group processGroup
	done  chan struct{}

	mu     sync.Mutex
	reaped bool // the child's id may belong to another process now
	err    error
}

// Start starts the command as the root of a new tree. Its Stdin, Stdout and Stderr must
// be *os.File or nil: copying goroutines would block Wait while a descendant holds a pipe
// open. Start sets SysProcAttr; on Windows it extends one that has handles to inherit,
// and such a child may show windows. The error names the failed operation.
func Start(cmd *exec.Cmd) (*Tree, error) {
	t := &Tree{cmd: cmd, done: make(chan struct{})}
	t.group.prepareCommand(cmd)
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("start %s: %w", cmd.Path, err)
	}
	if err := t.group.attachProcess(cmd.Process); err != nil {
		err = errors.Join(fmt.Errorf("start %s: create its process group: %w", cmd.Path, err), cmd.Process.Kill())
		_ = cmd.Wait() // the error above matters more than its exit status
		return nil, err
	}
	go t.reapTree()
	return t, nil
}

// reapTree waits for the child, then kills its remaining descendants.
func (t *Tree) reapTree() {
	err := t.cmd.Wait()
	t.mu.Lock()
	t.group.killGroup(t.cmd.Process)
	t.reaped, t.err = true, err
	t.mu.Unlock()
	t.group.close()
	close(t.done)
}

// Pid returns the child's process id.
func (t *Tree) Pid() int { return t.cmd.Process.Pid }

// Done returns a channel that is closed when the child has ended and its remaining
// descendants were signaled to end.
func (t *Tree) Done() <-chan struct{} { return t.done }

// Err returns how the child ended. It is set once Done is closed.
func (t *Tree) Err() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.err
}

// Terminate asks the tree to exit (SIGTERM; it does nothing on Windows, which has no such signal).
func (t *Tree) Terminate() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if !t.reaped {
		t.group.terminateGroup(t.cmd.Process)
	}
}

// Kill kills the tree immediately. It does not wait.
func (t *Tree) Kill() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if !t.reaped {
		t.group.killGroup(t.cmd.Process)
	}
}

// End waits up to patience for the child to exit (the caller has closed its input), then
// terminates it, then kills it, and returns when it has ended.
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

// DescribeExit describes how a child ended, for an error: "exit status 1",
// "signal: killed", or "it ended" when there was no failure.
func DescribeExit(err error) string {
	if err == nil {
		return "it ended"
	}
	if x, ok := errors.AsType[*exec.ExitError](err); ok {
		return x.String()
	}
	return err.Error()
}

// Pipe returns os.Pipe for a child's input or output, with a wrapped error.
func Pipe() (r, w *os.File, err error) {
	if r, w, err = os.Pipe(); err != nil {
		return nil, nil, fmt.Errorf("create a pipe: %w", err)
	}
	return r, w, nil
}
