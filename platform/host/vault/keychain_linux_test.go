package vault

import (
	"bytes"
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"hob/platform/host/system"
)

// TestSecretService runs this test again in a private session bus with a real gnome-keyring:
// unlocked, locked, and without a keyring.
func TestSecretService(t *testing.T) {
	if os.Getenv("HOB_TEST_KEYRING") != "" {
		insideASession(t)
		return
	}
	for _, program := range []string{"dbus-run-session", "gnome-keyring-daemon"} {
		if _, err := exec.LookPath(program); err != nil {
			t.Skip("this needs a real Secret Service (apt-get install gnome-keyring dbus):", err)
		}
	}
	for name, script := range map[string]string{
		"unlocked": `printf 'pass\n' | gnome-keyring-daemon --unlock --components=secrets --daemonize >/dev/null 2>&1; exec "$0" -test.run=TestSecretService -test.v`,
		"locked":   `gnome-keyring-daemon --start --components=secrets --daemonize >/dev/null 2>&1 </dev/null; exec "$0" -test.run=TestSecretService -test.v`,
		"none":     `exec "$0" -test.run=TestSecretService -test.v`,
	} {
		t.Run(name, func(t *testing.T) {
			home, err := os.MkdirTemp("/tmp", "hob-keyring-") // the path of a socket must be short
			failOnError(t, err)
			exe, err := os.Executable()
			failOnError(t, err)
			ctx, cancel := context.WithTimeout(t.Context(), 60*time.Second)
			defer cancel()
			bus := filepath.Join(home, "bus.conf") // starts no services automatically
			failOnError(t, os.WriteFile(bus, []byte(`<!DOCTYPE busconfig PUBLIC "-//freedesktop//DTD D-Bus Bus Configuration 1.0//EN" "http://www.freedesktop.org/standards/dbus/1.0/busconfig.dtd">
<busconfig><type>session</type><listen>unix:tmpdir=`+home+`</listen><policy context="default"><allow send_destination="*" eavesdrop="true"/><allow eavesdrop="true"/><allow own="*"/></policy></busconfig>`), 0o600))
			cmd := exec.CommandContext(ctx, "dbus-run-session", "--config-file="+bus, "--", "sh", "-c", script, exe)
			cmd.Env = append(os.Environ(), "HOB_TEST_KEYRING="+name, "HOME="+home, "XDG_DATA_HOME="+home, "XDG_CONFIG_HOME="+home, "XDG_RUNTIME_DIR="+home)
			cmd.WaitDelay = time.Second
			cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
			var out bytes.Buffer
			cmd.Stdout, cmd.Stderr = &out, &out
			err = cmd.Run()
			stopKeyring(home)
			failOnError(t, os.RemoveAll(home))
			if strings.Contains(out.String(), "--- SKIP") {
				t.Skipf("no Secret Service can run on this machine:\n%s", out.String())
			}
			if err != nil || strings.Contains(out.String(), canary) {
				t.Errorf("%v\n%s", err, out.String())
			}
		})
	}
}

// stopKeyring ends the keyring daemon that was started with this folder.
func stopKeyring(home string) {
	dirs, _ := filepath.Glob("/proc/[0-9]*/environ")
	for _, path := range dirs {
		env, err := os.ReadFile(path)
		if err != nil || !bytes.Contains(env, []byte("XDG_RUNTIME_DIR="+home+"\x00")) {
			continue
		}
		pid := 0
		for _, c := range filepath.Base(filepath.Dir(path)) {
			pid = pid*10 + int(c-'0')
		}
		if p, err := os.FindProcess(pid); err == nil && pid != os.Getpid() {
			_ = p.Kill()
		}
	}
}

func insideASession(t *testing.T) {
	dir := t.TempDir()
	s := system.Secrets{Fallback: openVault(t, dir, nil), Index: filepath.Join(dir, "names")}
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	kind := os.Getenv("HOB_TEST_KEYRING")
	want := map[string]string{"unlocked": system.InKeychain, "none": system.InFile}[kind]
	where, err := keepSecret(ctx, s, kind)
	wants := map[string]error{"locked": system.ErrLocked, "none": system.ErrNoKeychain}[kind]
	if err := s.CheckKeychain(ctx); !errors.Is(err, wants) || wants == nil && err != nil {
		t.Errorf("CheckKeychain = %v, want %v", err, wants)
	}
	if kind == "locked" {
		if err == nil || !strings.Contains(err.Error(), "hob secret set hob-test --file") {
			t.Errorf("stored in %q: %v", where, err)
		}
		checkNoSecret(t, err)
		if where, err := s.Keep(t.Context(), "hob-test", canary, true); where != system.InFile || err != nil {
			t.Errorf("stored in the file on request: %q, %v", where, err)
		}
		return
	}
	if err != nil || where != want {
		t.Fatalf("stored in %q, want %q: %v", where, want, err)
	}
	if v, err := s.Resolve(ctx, "keychain:hob-test"); err != nil || v.Reveal() != canary {
		t.Errorf("read: %v", err)
	}
	if list, err := s.List(ctx); err != nil || len(list) != 1 || list[0] != (system.StoredSecret{Name: "hob-test", Where: want}) {
		t.Errorf("List = %v, %v", list, err)
	}
	failOnError(t, s.Forget(ctx, "hob-test"))
	if _, err := s.Resolve(ctx, "keychain:hob-test"); err == nil {
		t.Error("the removed secret still exists")
	}
}

// keepSecret retries until the keyring has registered on the bus.
func keepSecret(ctx context.Context, s system.Secrets, kind string) (where string, err error) {
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for {
		try, cancel := context.WithTimeout(ctx, 3*time.Second)
		where, err = s.Keep(try, "hob-test", canary, false)
		cancel()
		if kind == "none" || err != nil || where == system.InKeychain {
			return where, err
		}
		select {
		case <-ctx.Done():
			return where, err
		case <-tick.C:
		}
	}
}
