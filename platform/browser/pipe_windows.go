package browser

import (
	"fmt"
	"os"
	"os/exec"
	"syscall"
)

// give hands the browser its ends of the pipes as handles that it inherits, and
// that it is told of by a switch (chromium, content/browser/devtools/devtools_pipe_handler.cc).
func give(cmd *exec.Cmd, commands, answers *os.File) {
	r, w := syscall.Handle(commands.Fd()), syscall.Handle(answers.Fd())
	for _, h := range []syscall.Handle{r, w} {
		_ = syscall.SetHandleInformation(h, syscall.HANDLE_FLAG_INHERIT, syscall.HANDLE_FLAG_INHERIT) // a browser without them does not start, and that is said
	}
	cmd.Args = append(cmd.Args, "--remote-debugging-pipe", fmt.Sprintf("--remote-debugging-io-pipes=%d,%d", r, w))
	cmd.SysProcAttr = &syscall.SysProcAttr{AdditionalInheritedHandles: []syscall.Handle{r, w}}
}

func root() bool { return false }
