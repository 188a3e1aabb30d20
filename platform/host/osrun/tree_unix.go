//go:build unix

package osrun

import (
	"os"
	"os/exec"
	"syscall"
)

// processGroup is a process group. Its id is the pid of its first process.
type processGroup struct{}

func (processGroup) prepareCommand(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
}

func (processGroup) attachProcess(*os.Process) error { return nil }

func (processGroup) terminateGroup(p *os.Process) { _ = syscall.Kill(-p.Pid, syscall.SIGTERM) } // the tree may already have ended

func (processGroup) killGroup(p *os.Process) { _ = syscall.Kill(-p.Pid, syscall.SIGKILL) } // the tree may already have ended

func (processGroup) close() {}
