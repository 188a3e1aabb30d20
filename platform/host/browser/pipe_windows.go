package browser

import (
	"fmt"
	"os"
	"os/exec"
	"syscall"
)

// passPipes passes the pipes to the browser as inherited handles and names them in a switch
// (chromium, content/browser/devtools/devtools_pipe_handler.cc).
func passPipes(cmd *exec.Cmd, commands, answers *os.File) {
	r, w := syscall.Handle(commands.Fd()), syscall.Handle(answers.Fd())
	for _, h := range []syscall.Handle{r, w} {
		_ = syscall.SetHandleInformation(h, syscall.HANDLE_FLAG_INHERIT, syscall.HANDLE_FLAG_INHERIT) // if this fails, the browser does not start, and startBrowser reports the error
	}
	cmd.Args = append(cmd.Args, "--remote-debugging-pipe", fmt.Sprintf("--remote-debugging-io-pipes=%d,%d", r, w))
	cmd.SysProcAttr = &syscall.SysProcAttr{AdditionalInheritedHandles: []syscall.Handle{r, w}}
}

func runsAsRoot() bool { return false }
