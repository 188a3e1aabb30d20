//go:build unix

package osrun

import (
	"os"
	"os/exec"
	"syscall"
)

// group is a process group. Its id is the pid of its first process.
type group struct{}

func (group) before(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} }

func (group) after(*os.Process) error { return nil }

func (group) terminate(p *os.Process) { _ = syscall.Kill(-p.Pid, syscall.SIGTERM) } // it may be gone

func (group) kill(p *os.Process) { _ = syscall.Kill(-p.Pid, syscall.SIGKILL) } // it may be gone

func (group) close() {}
