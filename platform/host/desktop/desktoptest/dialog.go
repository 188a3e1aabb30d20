//go:build linux

package desktoptest

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// Dialog starts zenity with these arguments, on a private bus and display where assistive
// programs can read it. It skips the test if that is impossible. The caller waits for cmd,
// whose output is kept; env is the environment of that desktop.
func Dialog(t testing.TB, args ...string) (cmd *exec.Cmd, env []string) {
	t.Helper()
	program, err := exec.LookPath("zenity")
	if err != nil {
		t.Skip("there is no zenity here")
	}
	const launcher = "/usr/libexec/at-spi-bus-launcher"
	if _, err := os.Stat(launcher); err != nil {
		t.Skip("there is no at-spi2-core here")
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
