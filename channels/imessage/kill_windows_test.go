package imessage_test

import "os/exec"

func alone(*exec.Cmd) {}

func kill(*exec.Cmd, bool) {}
