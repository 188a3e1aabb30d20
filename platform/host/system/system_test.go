package system

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestResolvePaths(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("the expectations use slashes")
	}
	tests := []struct {
		name, goos, home string
		env              map[string]string
		want             Paths
		err              string
	}{
		{"one folder", "linux", "/home/a", map[string]string{"HOB_HOME": "/x/hob"}, Paths{"/x/hob", "/x/hob", "/x/hob/logs", "/x/hob/run", "/home/a/.config/hob"}, ""},
		{"tilde", "linux", "/home/a", map[string]string{"HOB_HOME": "~/h"}, Paths{"/home/a/h", "/home/a/h", "/home/a/h/logs", "/home/a/h/run", "/home/a/.config/hob"}, ""},
		{"xdg defaults", "linux", "/home/a", nil, Paths{"/home/a/.config/hob", "/home/a/.local/share/hob", "/home/a/.local/state/hob", "/home/a/.local/share/hob/run", ""}, ""},
		{
			"xdg set", "linux", "/home/a",
			map[string]string{"XDG_CONFIG_HOME": "/c", "XDG_DATA_HOME": "relative", "XDG_STATE_HOME": "/s", "XDG_RUNTIME_DIR": "/run/user/1"},
			Paths{"/c/hob", "/home/a/.local/share/hob", "/s/hob", "/run/user/1/hob", ""},
			"",
		},
		{
			"macos", "darwin", "/Users/a", nil,
			Paths{"/Users/a/Library/Application Support/Hob", "/Users/a/Library/Application Support/Hob", "/Users/a/Library/Logs/Hob", "/Users/a/Library/Application Support/Hob/run", ""},
			"",
		},
		{"windows", "windows", "/u", map[string]string{"APPDATA": "/r", "LOCALAPPDATA": "/l"}, Paths{"/r/Hob", "/l/Hob", "/l/Hob/logs", "/l/Hob/run", ""}, ""},
		{"no home", "linux", "", nil, Paths{}, "set HOB_HOME"},
		{"another user's home", "linux", "/home/a", map[string]string{"HOB_HOME": "~root/h"}, Paths{}, "another user's folder"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := ResolvePaths(tt.goos, tt.home, func(k string) string { return tt.env[k] })
			wantErr(t, err, tt.err)
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func wantErr(t *testing.T, err error, want string) {
	t.Helper()
	if (want == "") != (err == nil) || (err != nil && !strings.Contains(err.Error(), want)) {
		t.Fatalf("error %v, want one with %q", err, want)
	}
}

func TestEnsure(t *testing.T) {
	dir := t.TempDir()
	p := Paths{Home: filepath.Join(dir, "a/b"), Data: filepath.Join(dir, "d"), Logs: filepath.Join(dir, "l"), Runtime: filepath.Join(dir, "r")}
	if err := p.Ensure(); err != nil {
		t.Fatal(err)
	}
	fi, err := os.Stat(p.Home)
	if err != nil {
		t.Fatal(err)
	}
	if runtime.GOOS != "windows" && fi.Mode().Perm() != 0o700 {
		t.Errorf("mode %v", fi.Mode())
	}
	left, err := os.ReadDir(p.Home)
	if err != nil || len(left) != 0 {
		t.Errorf("files left behind: %v %v", left, err)
	}
	blocked := filepath.Join(dir, "file")
	if err := os.WriteFile(blocked, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	wantErr(t, Paths{Home: filepath.Join(blocked, "x"), Data: dir, Logs: dir, Runtime: dir}.Ensure(), "set HOB_HOME")
}

func TestReadOnlyHome(t *testing.T) {
	if os.Geteuid() == 0 || runtime.GOOS == "windows" {
		t.Skip("the superuser may write everywhere")
	}
	dir := t.TempDir()
	if err := os.Chmod(dir, 0o500); err != nil {
		t.Fatal(err)
	}
	wantErr(t, Paths{Home: dir, Data: dir, Logs: dir, Runtime: dir}.Ensure(), "make it writable")
}

func TestWriteFile(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "sub", "config.toml")
	for _, content := range []string{"one", "two, longer", ""} {
		if err := WriteFile(path, []byte(content)); err != nil {
			t.Fatal(err)
		}
		b, err := os.ReadFile(path)
		if err != nil || string(b) != content {
			t.Fatalf("ReadFile = %q %v", b, err)
		}
	}
	if fi, _ := os.Stat(path); runtime.GOOS != "windows" && fi.Mode().Perm() != 0o600 {
		t.Errorf("mode %v", fi.Mode())
	}
	link := filepath.Join(dir, "link")
	if err := os.Symlink(path, link); err != nil {
		t.Skip(err)
	}
	if err := WriteFile(link, []byte("through the link")); err != nil {
		t.Fatal(err)
	}
	if fi, _ := os.Lstat(link); fi.Mode()&fs.ModeSymlink == 0 {
		t.Error("the link was replaced")
	}
	if b, _ := os.ReadFile(path); string(b) != "through the link" {
		t.Errorf("ReadFile = %q", b)
	}
}

func TestEnsureToken(t *testing.T) {
	path := filepath.Join(t.TempDir(), "token")
	if _, err := ReadToken(path); !errors.Is(err, fs.ErrNotExist) {
		t.Fatal(err)
	}
	a, err := EnsureToken(path)
	if err != nil || len(a.Reveal()) != 64 {
		t.Fatal(a.Reveal(), err)
	}
	if err := os.Chmod(path, 0o644); err != nil {
		t.Fatal(err)
	}
	b, err := EnsureToken(path)
	if err != nil || a != b {
		t.Fatal("the token changed", err)
	}
	if fi, _ := os.Stat(path); runtime.GOOS != "windows" && fi.Mode().Perm() != 0o600 {
		t.Errorf("mode %v", fi.Mode())
	}
	if err := os.WriteFile(path, []byte("cut o"), 0o600); err != nil {
		t.Fatal(err)
	}
	if c, err := EnsureToken(path); err != nil || c == a || len(c.Reveal()) != 64 {
		t.Fatal("a damaged token was not replaced", err)
	}
}

func TestEnsureToken_KeepsOtherFiles(t *testing.T) {
	dir := t.TempDir()
	other, path := filepath.Join(dir, "precious"), filepath.Join(dir, "token")
	if err := os.WriteFile(other, []byte("mine"), 0o644); err != nil { //nolint:gosec // the mode must not change either
		t.Fatal(err)
	}
	if err := os.Symlink(other, path); err != nil {
		t.Skip(err)
	}
	_, err := EnsureToken(path)
	wantErr(t, err, "remove the link")
	if b, err := os.ReadFile(other); string(b) != "mine" || err != nil {
		t.Errorf("the target of the link is now %q (%v)", b, err)
	}
	if err := errors.Join(os.Remove(path), os.Mkdir(path, 0o700)); err != nil {
		t.Fatal(err)
	}
	_, err = EnsureToken(path)
	wantErr(t, err, "move the file elsewhere")
}

func TestLock(t *testing.T) {
	path := filepath.Join(t.TempDir(), "hob.lock")
	ctx := t.Context()
	if _, held, err := Probe(path); held || err != nil {
		t.Fatal(held, err)
	}
	l, err := Acquire(ctx, path, RoleDaemon)
	if err != nil {
		t.Fatal(err)
	}
	if h, held, err := Probe(path); !held || err != nil || h.PID != os.Getpid() || h.Role != RoleDaemon {
		t.Fatal(h, held, err)
	}
	if _, err := Acquire(ctx, path, RoleCLI); !errors.Is(err, ErrRunning) {
		t.Fatal(err)
	}
	if err := l.Release(); err != nil {
		t.Fatal(err)
	}
	cli, err := Acquire(ctx, path, RoleCLI)
	if err != nil {
		t.Fatal(err)
	}
	short, cancel := context.WithTimeout(ctx, 30*time.Millisecond)
	defer cancel()
	if _, err := Acquire(short, path, RoleDaemon); !errors.Is(err, ErrBusy) {
		t.Fatal(err)
	}
	got := make(chan error, 1)
	go func() {
		l, err := Acquire(ctx, path, RoleDaemon)
		if err == nil {
			err = l.Release()
		}
		got <- err
	}()
	if err := cli.Release(); err != nil {
		t.Fatal(err)
	}
	if err := <-got; err != nil {
		t.Fatal("the waiting daemon did not get the lock", err)
	}
}

// TestLock_StaleHolder checks that a dead daemon's name in the file does not block the lock.
func TestLock_StaleHolder(t *testing.T) {
	path := filepath.Join(t.TempDir(), "hob.lock")
	if err := os.WriteFile(path, fmt.Appendf(nil, `{"pid":%d,"role":"daemon"}`, os.Getpid()), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, held, err := Probe(path); held || err != nil {
		t.Fatal(held, err)
	}
	l, err := Acquire(t.Context(), path, RoleCLI)
	if err != nil {
		t.Fatal(err)
	}
	if err := l.Release(); err != nil {
		t.Fatal(err)
	}
}

func TestLock_RestartingDaemonIsRunning(t *testing.T) {
	path := filepath.Join(t.TempDir(), "hob.lock")
	l, err := Acquire(t.Context(), path, RoleDaemon)
	if err != nil {
		t.Fatal(err)
	}
	if err := l.ReleaseToRestart(); err != nil {
		t.Fatal(err)
	}
	if h, held, err := Probe(path); !held || err != nil || !h.Restarting || h.Role != RoleDaemon {
		t.Errorf("between two runs of the daemon: %+v, held %v, %v", h, held, err)
	}
	if h, crashed, err := Abandoned(path); crashed || err != nil {
		t.Errorf("a daemon that starts again counts as crashed: %+v, %v", h, err)
	}
	if l, err = Acquire(t.Context(), path, RoleDaemon); err != nil {
		t.Fatal(err)
	}
	if err := l.Release(); err != nil {
		t.Fatal(err)
	}
	if h, held, err := Probe(path); held || err != nil {
		t.Errorf("after the daemon's end: %+v, held %v, %v", h, held, err)
	}
	gone := fmt.Appendf(nil, `{"pid":%d,"role":"daemon","since":%q,"restarting":true}`, os.Getpid(), time.Now().Add(-time.Minute).Format(time.RFC3339))
	if err := os.WriteFile(path, gone, 0o600); err != nil {
		t.Fatal(err)
	}
	if h, held, err := Probe(path); held || err != nil {
		t.Errorf("a restart that never ended: %+v, held %v, %v", h, held, err)
	}
}

// TestMain lets the test binary act as the detached program.
func TestMain(m *testing.M) {
	switch os.Getenv("HOB_TEST_DETACHED") {
	case "ready":
		fmt.Println("up")
		if err := os.WriteFile(os.Args[len(os.Args)-1], nil, 0o600); err != nil {
			os.Exit(1)
		}
		time.Sleep(time.Minute) // the test kills this process earlier
		os.Exit(0)
	case "fail":
		fmt.Println("config.toml:3: bad")
		os.Exit(1)
	case "connect": // connects and reports the connection
		c, err := net.Dial("tcp", os.Getenv("CONNECT_TO"))
		if err != nil {
			os.Exit(1)
		}
		fmt.Println("connected")
		_, _ = c.Read(make([]byte, 1)) // until the other end closes
		os.Exit(0)
	}
	os.Exit(m.Run())
}

func TestDetach(t *testing.T) {
	dir := t.TempDir()
	flag := filepath.Join(dir, "ready")
	d := Detached{Path: os.Args[0], Args: []string{flag}, Log: filepath.Join(dir, "logs", "hob.log"), Dir: dir}
	ready := func(context.Context) error { _, err := os.Stat(flag); return err }
	t.Run("ready", func(t *testing.T) {
		d.Env = append(os.Environ(), "HOB_TEST_DETACHED=ready")
		pid, err := Detach(t.Context(), d, ready)
		if err != nil {
			t.Fatal(err)
		}
		if !ProcessExists(pid) {
			t.Error("a running process was not found")
		}
		p, _ := os.FindProcess(pid)
		if err := p.Kill(); err != nil {
			t.Fatal(err)
		}
		_, _ = p.Wait()
		if ProcessExists(pid) {
			t.Error("an ended process was found")
		}
	})
	t.Run("ends while starting", func(t *testing.T) {
		_ = os.Remove(flag)
		d.Env = append(os.Environ(), "HOB_TEST_DETACHED=fail")
		_, err := Detach(t.Context(), d, ready)
		wantErr(t, err, "config.toml:3: bad")
	})
	t.Run("never ready", func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
		defer cancel()
		d.Env = append(os.Environ(), "HOB_TEST_DETACHED=ready")
		_, err := Detach(ctx, d, func(context.Context) error { return errors.New("no answer") })
		wantErr(t, err, "did not become ready")
	})
	t.Run("no program", func(t *testing.T) {
		_, err := Detach(t.Context(), Detached{Path: filepath.Join(dir, "absent"), Log: d.Log}, ready)
		if !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, exec.ErrNotFound) {
			t.Fatal(err)
		}
	})
}

func TestSecret_PrintsNothing(t *testing.T) {
	s := Secret("hunter2")
	b, err := json.Marshal(map[string]any{"s": s})
	if err != nil {
		t.Fatal(err)
	}
	var log strings.Builder
	slog.New(slog.NewTextHandler(&log, nil)).Info("x", "key", s)
	all := fmt.Sprintf("%v %s %q %x %#v %+v %d", s, s, s, s, s, struct{ S Secret }{s}, s) + string(b) + log.String()
	if strings.Contains(all, "hunter2") || strings.Contains(all, "68756e746572") {
		t.Error(all)
	}
	if s.Reveal() != "hunter2" {
		t.Error(s.Reveal())
	}
}

func TestResolveSecret(t *testing.T) {
	dir := t.TempDir()
	file := func(name, content string, mode fs.FileMode) string {
		p := filepath.Join(dir, name)
		if err := os.WriteFile(p, []byte(content), mode); err != nil {
			t.Fatal(err)
		}
		return p
	}
	s := Secrets{Getenv: func(k string) string { return map[string]string{"KEY": "v1"}[k] }}
	tests := []struct{ name, ref, want, err string }{
		{"plain", "sk-abc", "sk-abc", ""},
		{"plain with a colon", "user:password", "user:password", ""},
		{"empty", "", "", ""},
		{"environment", "env:KEY", "v1", ""},
		{"unset", "env:OTHER", "", "OTHER is not set"},
		{"no variable set", "env:", "", "has no name"},
		{"file", "file:" + file("good", "v2\n", 0o600), "v2", ""},
		{"missing file", "file:" + dir + "/absent", "", "create it"},
		{"empty file", "file:" + file("empty", "\n", 0o600), "", "is empty"},
		{"folder", "file:" + dir, "", "regular file"},
	}
	if runtime.GOOS != "windows" {
		tests = append(tests, struct{ name, ref, want, err string }{"open to others", "file:" + file("open", "v", 0o644), "", "chmod 600"})
	}
	if runtime.GOOS == "linux" {
		tests = append(tests, struct{ name, ref, want, err string }{"no secret service", "keychain:mail", "", "use file:PATH or env:NAME"})
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := s.Resolve(t.Context(), tt.ref)
			wantErr(t, err, tt.err)
			if got.Reveal() != tt.want {
				t.Errorf("got %q", got.Reveal())
			}
		})
	}
}

func TestZone(t *testing.T) {
	for _, name := range []string{"Europe/Vilnius", "UTC", "Local", ""} {
		if loc, err := Zone(name); err != nil || loc == nil {
			t.Errorf("%q: %v", name, err)
		}
	}
	for _, name := range []string{"Europe/Atlantis", "CEST+1", "../../etc/passwd"} {
		_, err := Zone(name)
		wantErr(t, err, "IANA name")
	}
	for line := range strings.Lines(windowsZones) {
		w, _, _ := strings.Cut(line, "=")
		iana, err := windowsZone(w)
		if err != nil {
			t.Error(err)
		}
		if _, err := time.LoadLocation(iana); err != nil {
			t.Error(w, err)
		}
	}
	if _, err := windowsZone("Moon Standard Time"); err == nil {
		t.Error("an unknown Windows zone was accepted")
	}
}

func TestDiskFree(t *testing.T) {
	if n, err := DiskFree(t.TempDir()); err != nil || n == 0 {
		t.Error(n, err)
	}
}

func TestEndpoint(t *testing.T) {
	path := filepath.Join(t.TempDir(), "endpoint.json")
	if _, ok, err := ReadEndpoint(path, 1); ok || err != nil {
		t.Fatal(ok, err)
	}
	want := Endpoint{PID: 42, Address: "127.0.0.1:7717", Version: "v1"}
	if err := WriteEndpoint(path, want); err != nil {
		t.Fatal(err)
	}
	if got, ok, err := ReadEndpoint(path, 42); !ok || err != nil || got != want {
		t.Fatal(got, ok, err)
	}
	if _, ok, err := ReadEndpoint(path, 43); ok || err != nil {
		t.Fatal("another daemon's address was accepted", err)
	}
}

func TestEscapeGlob(t *testing.T) {
	name := `odd [x]`
	if runtime.GOOS != "windows" {
		name = `odd [x] *?\ y`
	}
	dir := filepath.Join(t.TempDir(), name)
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, "a.db")
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if got, err := filepath.Glob(filepath.Join(EscapeGlob(dir), "*.db")); err != nil || len(got) != 1 || got[0] != path {
		t.Errorf("got %q, %v", got, err)
	}
}

// A command that a message suggests also works for the home on macOS, whose path contains a space.
func TestQuoteForShell(t *testing.T) {
	for path, want := range map[string]string{
		"/home/ada/.config/hob":                      "/home/ada/.config/hob",
		"/Users/ada/Library/Application Support/Hob": "'/Users/ada/Library/Application Support/Hob'",
		"/home/zoë/it's":                             `'/home/zoë/it'\''s'`,
		"/tmp/$(id)":                                 "'/tmp/$(id)'",
		"":                                           "''",
	} {
		if got := QuoteForShell(path); got != want {
			t.Errorf("QuoteForShell(%q) = %s, want %s", path, got, want)
		}
	}
	if got := QuoteForShell("/a", "/b c"); got != "/a '/b c'" {
		t.Errorf("QuoteForShell of two paths = %s", got)
	}
}
