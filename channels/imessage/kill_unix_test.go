//go:build unix

package imessage_test

import (
	"os/exec"
	"syscall"
)

// startInGroup starts a process in a separate process group.
func startInGroup(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} }

func killProcess(cmd *exec.Cmd, group bool) {
	pid := cmd.Process.Pid
	if group {
		pid = -pid
	}
	_ = syscall.Kill(pid, syscall.SIGKILL)
}
