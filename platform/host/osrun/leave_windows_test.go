package osrun_test

import "os/exec"

func leave(*exec.Cmd) {} // nothing leaves a job
