package apps

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"hob/platform/host/desktop/desktoptest"
)

// newAppHome returns a home with an application that writes its environment to a file.
func newAppHome(t *testing.T, extra map[string]string) (getenv func(string) string, out string) {
	t.Helper()
	home := t.TempDir()
	out = filepath.Join(home, "out")
	data := filepath.Join(home, "share")
	entries := filepath.Join(data, "applications", "kde")
	if err := os.MkdirAll(entries, 0o700); err != nil {
		t.Fatal(err)
	}
	text := "[Desktop Entry]\nType=Application\nName=Probe\nExec=/bin/sh -c \"env > " + out + ".new; mv " + out + ".new " + out + "\" %U\n"
	if err := os.WriteFile(filepath.Join(entries, "probe.desktop"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	env := map[string]string{"HOME": home, "XDG_DATA_HOME": data, "XDG_DATA_DIRS": filepath.Join(home, "none"), "DISPLAY": ":77", "PATH": "/usr/bin:/bin", "ANTHROPIC_API_KEY": "sk-secret"}
	for k, v := range extra {
		env[k] = v
	}
	return func(k string) string { return env[k] }, out
}

func TestStart_WithoutSecrets(t *testing.T) {
	getenv, out := newAppHome(t, nil)
	f := New(Options{Getenv: getenv, Marker: "STARTED"})
	a, err := f.Find(t.Context(), "probe")
	if err != nil || a.ID != "kde-probe" || a.Shared {
		t.Fatalf("Find = %+v, %v", a, err)
	}
	if err := f.Start(t.Context(), a, ""); err != nil {
		t.Fatal(err)
	}
	var b []byte
	for end := time.Now().Add(60 * time.Second); ; time.Sleep(5 * time.Millisecond) {
		if b, err = os.ReadFile(out); err == nil {
			break
		}
		if time.Now().After(end) {
			t.Fatal("the program was not started")
		}
	}
	if s := string(b); strings.Contains(s, "secret") || !strings.Contains(s, "STARTED=app\n") || !strings.Contains(s, "DISPLAY=:77\n") {
		t.Errorf("environment of the program:\n%s", s)
	}
}

func TestStart_ThroughTheServiceManager(t *testing.T) {
	bus := desktoptest.NewBus(t)
	m := desktoptest.NewManager(t, bus)
	getenv, out := newAppHome(t, map[string]string{"DBUS_SESSION_BUS_ADDRESS": bus.Address})
	f := New(Options{Getenv: getenv, Marker: "STARTED"})
	a, err := f.Find(t.Context(), "Probe")
	if err != nil {
		t.Fatal(err)
	}
	if err := f.Start(t.Context(), a, ""); err != nil {
		t.Fatal(err)
	}
	u := m.Units()
	if len(u) != 1 || len(u[0].Command) != 3 || u[0].Environment[0] != "STARTED=app" || !strings.HasSuffix(u[0].Name, ".service") {
		t.Errorf("Units = %+v", u)
	}
	if _, err := os.Stat(out); err == nil {
		t.Error("this process started the program too")
	}
	for _, item := range []string{"/tmp/a file; $(x)", "https://example.org/?a=b&c"} {
		if err := f.Start(t.Context(), a, item); err != nil {
			t.Fatal(err)
		}
		if u := m.Units(); len(u[len(u)-1].Command) != 4 || u[len(u)-1].Command[3] != item {
			t.Errorf("%s: %+v", item, u[len(u)-1])
		}
	}
	for name, e := range map[string]struct {
		exec, item string
		want       []string
	}{
		"only files":           {"view --new %F --end", "/x", []string{"view", "--new", "/x", "--end"}},
		"files, an address":    {"view %f", "https://x.org", nil},
		"no open action":       {"view", "/x", nil},
		"where options end":    {"view @@u %U @@", "mailto:a@b.c", []string{"view", "@@u", "mailto:a@b.c", "@@"}},
		"not a program":        {"%U", "/x", nil},
		"own arguments remain": {"view --url=%u", "/x", nil},
	} {
		p, err := parseEntry("x", strings.NewReader("[Desktop Entry]\nType=Application\nName=X\nExec="+e.exec+"\n"), "")
		got, with := p.commandWithItem(e.item)
		if e.want == nil && err == nil && !errors.Is(with, ErrItem) || e.want != nil && !slices.Equal(got, e.want) {
			t.Errorf("%s: %q %v %v", name, got, err, with)
		}
	}
}

func TestStart_WithoutADesktop(t *testing.T) {
	getenv, _ := newAppHome(t, map[string]string{"DISPLAY": ""})
	f := New(Options{Getenv: getenv})
	a, err := f.Find(t.Context(), "probe")
	if err != nil {
		t.Fatal(err)
	}
	if err := f.Start(t.Context(), a, ""); !errors.Is(err, ErrSession) {
		t.Errorf("Start = %v, want ErrSession", err)
	}
	for _, name := range []string{"", "no such thing", "a\x00b", strings.Repeat("a", 300)} {
		if _, err := f.Find(t.Context(), name); err == nil {
			t.Errorf("%q is an application", name)
		}
	}
}

// A shared entry may name a program without a path. A program of the user with the same name that
// comes first in PATH is not the program that the administrator installed.
func TestEntry_ProgramOfTheUser(t *testing.T) {
	own := t.TempDir()
	if err := os.WriteFile(filepath.Join(own, "nice"), []byte("#!/bin/sh\n"), 0o700); err != nil { //nolint:gosec // the file must be executable
		t.Fatal(err)
	}
	for name, tc := range map[string]struct {
		path    string
		command []string
		want    bool
	}{
		"a program of the user comes first":       {own + ":/usr/bin:/bin", []string{"nice"}, false},
		"the administrator's program comes first": {"/usr/bin:/bin:" + own, []string{"nice"}, true},
		"by env, one of the user's own":           {own + ":/usr/bin:/bin", []string{"/usr/bin/env", "A=b", "nice"}, false},
		"by env, the administrator's":             {"/usr/bin:/bin:" + own, []string{"env", "A=b", "nice"}, true},
		"by env with another PATH":                {"/usr/bin:/bin", []string{"env", "PATH=" + own, "nice"}, false},
		"a missing program":                       {"/usr/bin:/bin", []string{"no-such-program-here"}, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Setenv("PATH", tc.path)
			a := App{Command: tc.command}
			if got := isSharedEntry(&a); got != tc.want || got && !filepath.IsAbs(a.Command[len(a.Command)-1]) {
				t.Errorf("%v: %+v", got, a)
			}
		})
	}
}
