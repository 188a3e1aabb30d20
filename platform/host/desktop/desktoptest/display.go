//go:build linux

package desktoptest

import (
	"bufio"
	"os"
	"os/exec"
	"strings"
	"testing"
)

// Display starts an X server without a screen and returns its name, such as ":7". It skips the
// test if no such server is installed.
func Display(t testing.TB) string {
	t.Helper()
	program, err := exec.LookPath("Xvfb")
	if err != nil {
		t.Skip("there is no Xvfb here")
	}
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), program, "-displayfd", "3", "-screen", "0", "800x600x24", "-nolisten", "tcp", "-noreset")
	cmd.ExtraFiles = []*os.File{w}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	_ = w.Close()
	line, err := bufio.NewReader(r).ReadString('\n')
	_ = r.Close()
	if err != nil {
		t.Skipf("Xvfb does not start here: %v", err)
	}
	return ":" + strings.TrimSpace(line)
}
