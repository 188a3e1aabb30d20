//go:build unix

package osrun_test

import (
	"os/exec"
	"syscall"
)

func leaveTree(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true} }
