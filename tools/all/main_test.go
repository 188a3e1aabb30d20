package all

import (
	"os"
	"syscall"
	"testing"

	"hob/platform/host/command"
)

func TestMain(m *testing.M) {
	if len(os.Args) == 2 && os.Args[1] == command.Helper { // this process is the helper of run_command
		syscall.Exit(command.Serve(os.Stdin, os.Stdout, os.Stderr)) // with the race detector, os.Exit takes a second
	}
	os.Exit(m.Run())
}
