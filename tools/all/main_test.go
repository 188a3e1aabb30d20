package all

import (
	"os"
	"testing"

	"hob/platform/command"
)

func TestMain(m *testing.M) {
	if len(os.Args) == 2 && os.Args[1] == command.Helper { // of run_command
		os.Exit(command.Serve(os.Stdin, os.Stdout, os.Stderr))
	}
	os.Exit(m.Run())
}
