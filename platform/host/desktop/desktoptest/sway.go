//go:build linux

package desktoptest

import (
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"
)

// nobody is the uid for sway if the tests run as root, because sway refuses to run as root.
const nobody = 65534

// Wayland is a headless session of the compositor sway.
type Wayland struct{ env map[string]string }

// NewWayland starts a private sway, or skips the test if it is not installed.
func NewWayland(t testing.TB) *Wayland {
	t.Helper()
	program, err := exec.LookPath("sway")
	if err != nil {
		t.Skip("sway is not installed")
	}
	dir, err := os.MkdirTemp("", "sway") // the path of a socket must be short
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	config := filepath.Join(dir, "config")
	if err := os.WriteFile(config, []byte("output HEADLESS-1 resolution 800x600 position 0 0\nxwayland disable\n"), 0o644); err != nil { //nolint:gosec // another user reads it
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), program, "-c", config)
	cmd.Env = []string{
		"HOME=" + dir, "PATH=/usr/bin:/bin", "XDG_RUNTIME_DIR=" + dir, "LC_ALL=C.UTF-8",
		"WLR_BACKENDS=headless", "WLR_RENDERER=pixman", "WLR_LIBINPUT_NO_DEVICES=1",
	}
	if os.Getuid() == 0 {
		if err := os.Chown(dir, nobody, nobody); err != nil {
			t.Fatal(err)
		}
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody, NoSetGroups: false}}
	}
	if err := cmd.Start(); err != nil {
		t.Skipf("sway does not start: %v", err)
	}
	ended := make(chan struct{})
	go func() {
		_ = cmd.Wait()
		close(ended)
	}()
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		<-ended
	})
	for end := time.Now().Add(60 * time.Second); ; {
		displays, _ := filepath.Glob(filepath.Join(dir, "wayland-?"))
		sockets, _ := filepath.Glob(filepath.Join(dir, "sway-ipc.*.sock"))
		if len(displays) == 1 && len(sockets) == 1 {
			return &Wayland{map[string]string{"WAYLAND_DISPLAY": filepath.Base(displays[0]), "XDG_RUNTIME_DIR": dir, "HOME": dir}}
		}
		select {
		case <-ended:
			t.Skip("sway does not start")
		case <-time.After(10 * time.Millisecond):
		}
		if time.Now().After(end) {
			t.Fatal("sway shows nothing")
		}
	}
}

// Getenv returns the environment of a process of this session.
func (w *Wayland) Getenv(key string) string { return w.env[key] }

// Run starts a program in that session.
func (w *Wayland) Run(t testing.TB, name string, args ...string) {
	t.Helper()
	program, err := exec.LookPath(name)
	if err != nil {
		t.Skipf("%s is not installed", name)
	}
	cmd := exec.CommandContext(t.Context(), program, args...)
	cmd.Env = []string{"PATH=/usr/bin:/bin", "LC_ALL=C.UTF-8", "HOME=" + t.TempDir()}
	for k, v := range w.env {
		if k != "HOME" {
			cmd.Env = append(cmd.Env, k+"="+v)
		}
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
}
