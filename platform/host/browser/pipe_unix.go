//go:build !windows

package browser

import (
	"os"
	"os/exec"
)

// passPipes passes the pipes to the browser, which reads commands from descriptor 3 and writes
// answers to 4.
func passPipes(cmd *exec.Cmd, commands, answers *os.File) {
	cmd.Args = append(cmd.Args, "--remote-debugging-pipe")
	cmd.ExtraFiles = []*os.File{commands, answers}
}

// runsAsRoot reports whether this process runs as root. Chromium refuses to use its sandbox
// for root.
func runsAsRoot() bool { return os.Geteuid() == 0 }
