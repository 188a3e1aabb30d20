package doctor

import (
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"hob/autonomy/config"
	"hob/platform/host/system"
)

// While the daemon's browser runs, the doctor does not start another one, because the owner's
// button presses would be refused while a program started by Hob is running.
func TestBrowser_IsNotStartedTwice(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("Windows cannot run a script as a program")
	}
	dir := t.TempDir()
	started, program := filepath.Join(dir, "started"), filepath.Join(dir, "chromium")
	if err := os.WriteFile(program, []byte("#!/bin/sh\ntouch '"+started+"'\nexit 1\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	c, err := config.Default()
	if err != nil {
		t.Fatal(err)
	}
	c.Browser.Path = program
	out := checkBrowser(t.Context(), Env{Config: c, Paths: system.Paths{}, Starts: true, Browses: func() bool { return true }})
	if _, err := os.Stat(started); err == nil {
		t.Error("the doctor started a browser")
	}
	if len(out) != 1 || os.Getuid() != 0 && !strings.HasSuffix(out[0].Cause, " runs") {
		t.Errorf("%+v", out)
	}
}
