// Package osrun runs programs and scripts on this machine. When a child process ends, its remaining
// descendants are killed. The package applies no policy: callers decide whether a program may run.
package osrun

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"sync"
	"time"
)

// Tree is a running child process and its descendants: a process group on Unix, a job object on
// Windows. On Unix, a descendant that creates a new group or session leaves the tree; only a
// sandbox can contain it.
//
// The methods may be called concurrently.
type Tree struct {
	cmd   *exec.Cmd
	group processGroup
	done  chan struct{}

	mu     sync.Mutex
	reaped bool // the child's process id may belong to another process now
	err    error
}

// Start starts the command as the root of a new tree. Stdin, Stdout and Stderr of the command must
// be *os.File or nil, because copying goroutines would block Wait while a descendant holds a pipe
// open. Start sets SysProcAttr. On Windows it keeps a SysProcAttr that has handles to inherit, and
// such a child may show windows. The error names the failed operation.
func Start(cmd *exec.Cmd) (*Tree, error) {
	t := &Tree{cmd: cmd, done: make(chan struct{})}
	t.group.prepareCommand(cmd)
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("start %s: %w", cmd.Path, err)
	}
	if err := t.group.attachProcess(cmd.Process); err != nil {
		err = errors.Join(fmt.Errorf("start %s: create its process group: %w", cmd.Path, err), cmd.Process.Kill())
		_ = cmd.Wait() // the error above is more important than the exit status
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

// Err returns the error with which the child ended. It is set once Done is closed.
func (t *Tree) Err() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.err
}

// Terminate asks the tree to exit (SIGTERM). It does nothing on Windows, which has no such signal.
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

// End waits for the child to exit. If it has not exited after patience, End terminates the tree;
// after patience again, it kills the tree. The caller must have closed the child's input. End
// returns when the child has ended.
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

// Pipe calls os.Pipe for a child's input or output and wraps its error.
func Pipe() (r, w *os.File, err error) {
	if r, w, err = os.Pipe(); err != nil {
		return nil, nil, fmt.Errorf("create a pipe: %w", err)
	}
	return r, w, nil
}
