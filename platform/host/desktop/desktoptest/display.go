//go:build linux

package desktoptest

import (
	"bufio"
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"hob/platform/host/system"
)

// Display starts an X server without a screen and returns its name, such as ":7". It skips the
// test if no such server is installed.
func Display(t testing.TB) string {
	t.Helper()
	program, err := exec.LookPath("Xvfb")
	if err != nil {
		t.Skip("Xvfb is not installed")
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
		t.Skipf("Xvfb does not start: %v", err)
	}
	return ":" + strings.TrimSpace(line)
}

// Dialog starts zenity with the given arguments, on a private bus and a display on which assistive
// programs can read it. It skips the test if that is impossible. The caller must wait for cmd. out
// collects the output of zenity, and env is the environment of that desktop.
func Dialog(t testing.TB, args ...string) (cmd *exec.Cmd, env []string) {
	t.Helper()
	program, err := exec.LookPath("zenity")
	if err != nil {
		t.Skip("zenity is not installed")
	}
	const launcher = "/usr/libexec/at-spi-bus-launcher"
	if _, err := os.Stat(launcher); err != nil {
		t.Skip("at-spi2-core is not installed")
	}
	bus, display, home := NewBus(t), Display(t), t.TempDir()
	env = []string{"DISPLAY=" + display, "DBUS_SESSION_BUS_ADDRESS=" + bus.Address, "HOME=" + home, "XDG_RUNTIME_DIR=" + home, "PATH=/usr/bin:/bin", "GTK_MODULES=gail:atk-bridge", "LC_ALL=C.UTF-8", "GSETTINGS_BACKEND=memory"}
	service := "[D-BUS Service]\nName=org.a11y.Bus\nExec=/usr/bin/env " + strings.Join(env, " ") + " " + launcher + "\n"
	if err := os.WriteFile(filepath.Join(bus.Services, "a11y.service"), []byte(service), 0o600); err != nil {
		t.Fatal(err)
	}
	cmd = exec.CommandContext(t.Context(), program, args...)
	cmd.Env = env
	cmd.Stdout = &bytes.Buffer{}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	return cmd, env
}

// Home makes the bus the session bus of this process, creates a home folder for the test, and
// returns the folder and Hob's paths below it.
func (b *Bus) Home(t *testing.T) (home string, paths system.Paths) {
	t.Helper()
	home = t.TempDir()
	t.Setenv("HOME", home)
	t.Setenv("HOB_HOME", filepath.Join(home, "hob"))
	t.Setenv("DBUS_SESSION_BUS_ADDRESS", b.Address)
	paths, err := system.DefaultPaths()
	if err != nil {
		t.Fatal(err)
	}
	return home, paths
}
