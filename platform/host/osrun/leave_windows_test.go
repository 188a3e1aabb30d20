package osrun_test

import "os/exec"

func leaveTree(*exec.Cmd) {} // a process cannot leave its job object
