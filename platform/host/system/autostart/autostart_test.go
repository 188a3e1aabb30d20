package autostart

import (
	"context"
	"encoding/xml"
	"errors"
	"flag"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "write the golden files")

func unusualEntry() Entry {
	return Entry{Program: `/home/ann o'x/50% "new" $HOME/b\c/hob`, Home: `/home/ann o'x/.h & <b>`, Path: "/usr/local/bin:/usr/bin", Log: "/home/ann/Library/Logs/hob.log"}
}

func plainEntry() Entry { return Entry{Program: "/usr/local/bin/hob"} }

func TestText(t *testing.T) {
	for _, k := range []Kind{Systemd, XDG, Launchd} {
		for name, e := range map[string]Entry{"plain": plainEntry(), "odd": unusualEntry()} {
			m, err := New(t.Context(), Options{Kind: k, UserDir: "/home/ann", Getenv: func(string) string { return "" }})
			if err != nil {
				t.Fatal(err)
			}
			_, text, err := m.Text(e)
			if err != nil {
				t.Fatal(err)
			}
			if got := programOf(k, text); got != e.Program {
				t.Errorf("%s %s starts %q", k, name, got)
			}
			path := filepath.Join("testdata", string(k)+"-"+name+".txt")
			if *update {
				if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(path)
			if err != nil || string(want) != text {
				t.Errorf("%s: %v %s", path, err, cmp.Diff(string(want), text))
			}
			if k == Launchd {
				wellFormed(t, text)
			}
		}
	}
	v, err := runValue(Entry{Program: `C:\Program Files\Hob\hob.exe`})
	if err != nil || v != `"C:\Program Files\Hob\hob.exe" start` || programOf(RunKey, v) != `C:\Program Files\Hob\hob.exe` {
		t.Error(v, err)
	}
	if _, err := runValue(unusualEntry()); err == nil {
		t.Error("a home that the Run key cannot set was silently dropped")
	}
	if m, err := New(t.Context(), Options{Kind: Systemd}); err != nil {
		t.Error(err)
	} else if _, _, err := m.Text(Entry{Program: `/a="b"/hob`}); err == nil {
		t.Error("Text accepts a program that systemd cannot start")
	}
	for _, p := range []string{"hob", "./hob", "/bin/h\nob", "/bin/\xff"} {
		if (Entry{Program: p}).validateEntry() == nil {
			t.Errorf("%q is written", p)
		}
	}
}

func wellFormed(t *testing.T, text string) {
	t.Helper()
	for d := xml.NewDecoder(strings.NewReader(text)); ; {
		if _, err := d.Token(); errors.Is(err, io.EOF) {
			return
		} else if err != nil {
			t.Fatal(err)
		}
	}
}

// TestVerify checks with systemd-analyze that systemd accepts the unit of a program whose path
// contains special characters.
func TestVerify(t *testing.T) {
	analyze, err := exec.LookPath("systemd-analyze")
	if err != nil {
		t.Skip("systemd-analyze is not installed")
	}
	dir := filepath.Join(t.TempDir(), `50% "new" $HOME b\c`)
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	program := filepath.Join(dir, "hob")
	if err := os.WriteFile(program, []byte("#!/bin/sh\n"), 0o700); err != nil { //nolint:gosec // it must be executable
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), unitName)
	verify := func(text string) string {
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
		defer cancel()
		cmd := exec.CommandContext(ctx, analyze, "verify", "--user", "--man=no", file)
		cmd.Env = append(os.Environ(), "XDG_RUNTIME_DIR="+t.TempDir(), "SYSTEMD_LOG_LEVEL=warning")
		out, _ := cmd.CombinedOutput()
		return string(out)
	}
	text := unitText(Entry{Program: program, Home: `/h "x" 5%`, Path: "/usr/bin"})
	for _, text := range []string{text, unitText(Entry{Program: "/bin/sh"})} {
		if out := verify(text); strings.Contains(out, unitName) {
			t.Error(out)
		}
	}
	if out := verify(strings.Replace(text, "Type=exec", "Type=nonsense", 1)); !strings.Contains(out, unitName) {
		t.Errorf("a broken unit was accepted: %q", out)
	}
}

// system simulates the system's programs: it returns the answers of the test and records the calls.
type system struct {
	told []string
	says map[string]string // answers by prefix of the command line
	bad  map[string]bool
}

func (s *system) runProgram(_ context.Context, name string, args ...string) (string, error) {
	line := strings.Join(append([]string{filepath.Base(name)}, args...), " ")
	line = strings.ReplaceAll(line, " --user --no-pager", "")
	s.told = append(s.told, line)
	for begin := range s.bad {
		if strings.HasPrefix(line, begin) {
			return "", errors.New("no")
		}
	}
	for begin, out := range s.says {
		if strings.HasPrefix(line, begin) {
			return out, nil
		}
	}
	return "", nil
}

func newManager(t *testing.T, k Kind, s *system) (*Manager, string) {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "ann's home")
	m, err := New(t.Context(), Options{Kind: k, UserDir: dir, Getenv: func(string) string { return "" }, Run: s.runProgram, Look: func(n string) (string, error) { return "/usr/bin/" + n, nil }, Wait: time.Second})
	if err != nil {
		t.Fatal(err)
	}
	return m, dir
}

func TestSystemd(t *testing.T) {
	s := &system{says: map[string]string{"systemctl show ": "UnitFileState=enabled\nActiveState=active\n"}}
	m, dir := newManager(t, Systemd, s)
	if st, err := m.Status(t.Context(), unusualEntry()); err != nil || st.Installed || st.Enabled {
		t.Errorf("Status = %+v %v", st, err)
	}
	s.told = nil
	for range 2 {
		if err := m.Install(t.Context(), unusualEntry(), true); err != nil {
			t.Fatal(err)
		}
	}
	want := []string{"systemctl daemon-reload", "systemctl enable hob.service", "systemctl start hob.service"}
	if diff := cmp.Diff(append(want, want...), s.told); diff != "" {
		t.Error(diff)
	}
	st, err := m.Status(t.Context(), unusualEntry())
	if err != nil || st != (Status{Kind: Systemd, Place: filepath.Join(dir, ".config/systemd/user/hob.service"), Installed: true, Current: true, Same: true, Program: unusualEntry().Program, Enabled: true, Running: true}) {
		t.Errorf("Status = %+v %v", st, err)
	}
	if st, err := m.Status(t.Context(), plainEntry()); err != nil || !st.Installed || st.Current || st.Program != unusualEntry().Program {
		t.Errorf("Status of an entry for another program = %+v %v", st, err)
	}
	if was, err := m.Uninstall(t.Context()); err != nil || !was {
		t.Error(was, err)
	}
	if was, err := m.Uninstall(t.Context()); err != nil || was {
		t.Error(was, err)
	}
	if left, _ := os.ReadDir(filepath.Join(dir, ".config/systemd/user")); len(left) != 0 {
		t.Error(left)
	}
	s.bad = map[string]bool{"systemctl enable": true}
	if err := m.Install(t.Context(), plainEntry(), false); err == nil {
		t.Error("the refusal of systemd was not reported")
	}
}

// TestPackagedUnit checks that Status finds the unit of a package and that Uninstall disables it.
func TestPackagedUnit(t *testing.T) {
	text, err := os.ReadFile("../../../../cmd/hob/internal/dist/files/hob.service")
	if err != nil {
		t.Fatal(err)
	}
	place := filepath.Join(t.TempDir(), unitName)
	if err := os.WriteFile(place, text, 0o600); err != nil {
		t.Fatal(err)
	}
	shown := func(state string) map[string]string {
		return map[string]string{"systemctl show ": "FragmentPath=" + place + "\nUnitFileState=" + state + "\nActiveState=active\n"}
	}
	s := &system{says: shown("enabled")}
	m, _ := newManager(t, Systemd, s)
	e := Entry{Program: "/usr/bin/hob"}
	st, err := m.Status(t.Context(), e)
	if err != nil || st != (Status{Kind: Systemd, Place: place, Installed: true, Current: true, Same: true, Program: "/usr/bin/hob", Enabled: true, Running: true}) {
		t.Errorf("Status = %+v %v", st, err)
	}
	for _, other := range []Entry{{Program: "/opt/hob"}, {Program: "/usr/bin/hob", Home: "/elsewhere"}} {
		if st, err := m.Status(t.Context(), other); err != nil || st.Same || !st.Installed {
			t.Errorf("Status = %+v %v", st, err)
		}
	}
	if was, err := m.Uninstall(t.Context()); was || err == nil || !strings.Contains(err.Error(), "--global disable") {
		t.Errorf("Uninstall with a globally enabled unit = %v %v", was, err)
	}
	m.o.Run = func(ctx context.Context, name string, args ...string) (string, error) {
		if slices.Contains(args, "disable") {
			s.says = shown("disabled")
		}
		return s.runProgram(ctx, name, args...)
	}
	if was, err := m.Uninstall(t.Context()); err != nil || !was {
		t.Error(was, err)
	}
	if was, err := m.Uninstall(t.Context()); err != nil || was {
		t.Error(was, err)
	}
	if st, err := m.Status(t.Context(), e); err != nil || st.Installed {
		t.Errorf("Status = %+v %v", st, err)
	}
	if _, err := os.Stat(place); err != nil {
		t.Error("the file of the package was removed:", err)
	}
}

func TestStart(t *testing.T) {
	for kind, want := range map[Kind]string{Systemd: "systemctl start hob.service", Launchd: "launchctl kickstart " + launchdDomain() + "/" + Label} {
		s := &system{}
		m, _ := newManager(t, kind, s)
		if err := m.Start(t.Context()); err != nil || len(s.told) != 1 || s.told[0] != want {
			t.Errorf("%s: %v, ran %q, want %q", kind, err, s.told, want)
		}
	}
	m, _ := newManager(t, XDG, &system{})
	if err := m.Start(t.Context()); !errors.Is(err, errors.ErrUnsupported) {
		t.Errorf("xdg: %v", err)
	}
}

func TestXDG(t *testing.T) {
	s := &system{}
	m, dir := newManager(t, XDG, s)
	if err := m.Install(t.Context(), unusualEntry(), true); err != nil || len(s.told) != 0 {
		t.Fatal(err, s.told)
	}
	st, err := m.Status(t.Context(), unusualEntry())
	if err != nil || !st.Current || !st.Enabled || st.Place != filepath.Join(dir, ".config/autostart/hob.desktop") {
		t.Errorf("Status = %+v %v", st, err)
	}
	text, err := os.ReadFile(st.Place)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(st.Place, append(text, "Hidden=true\n"...), 0o600); err != nil {
		t.Fatal(err)
	}
	if st, err := m.Status(t.Context(), unusualEntry()); err != nil || st.Enabled || st.Current {
		t.Errorf("Status of an entry that the user disabled = %+v %v", st, err)
	}
	if was, err := m.Uninstall(t.Context()); err != nil || !was {
		t.Error(was, err)
	}
}

func TestLaunchd(t *testing.T) {
	s := &system{says: map[string]string{"launchctl print gui": "\tstate = running\n", "launchctl print-disabled": `"local.hob.assistant" => enabled`}}
	m, _ := newManager(t, Launchd, s)
	if err := m.Install(t.Context(), unusualEntry(), true); err == nil || !strings.Contains(err.Error(), "did not unload") {
		t.Errorf("Install although launchd does not unload the agent = %v", err)
	}
	s.bad, s.told = map[string]bool{"launchctl print gui": true}, nil
	if err := m.Install(t.Context(), unusualEntry(), true); err != nil {
		t.Fatal(err)
	}
	if len(s.told) != 3 || !strings.HasPrefix(s.told[2], "launchctl bootstrap gui/") {
		t.Error(s.told)
	}
	s.bad = nil
	if st, err := m.Status(t.Context(), unusualEntry()); err != nil || !st.Running || !st.Enabled || !st.Current {
		t.Errorf("Status = %+v %v", st, err)
	}
	s.says["launchctl print-disabled"] = `"local.hob.assistant" => disabled`
	if st, err := m.Status(t.Context(), unusualEntry()); err != nil || st.Enabled || st.Note == "" {
		t.Errorf("Status = %+v %v", st, err)
	}
}

// Entries written from two terminals that differ only in PATH start the same program.
func TestStatus_EntryOfAnotherTerminal(t *testing.T) {
	for _, k := range []Kind{Systemd, Launchd} {
		m, _ := newManager(t, k, &system{bad: map[string]bool{"launchctl print gui": true}})
		e := plainEntry()
		e.Path = "/one:/usr/bin"
		if err := m.Install(t.Context(), e, false); err != nil {
			t.Fatal(err)
		}
		e.Path = "/two:/usr/bin"
		if st, err := m.Status(t.Context(), e); err != nil || st.Current || !st.Same {
			t.Errorf("%s: Status = %+v %v", k, st, err)
		}
		e.Home = "/elsewhere"
		if st, err := m.Status(t.Context(), e); err != nil || st.Same {
			t.Errorf("%s: Status of an entry for another home = %+v %v", k, st, err)
		}
	}
}

// Uninstall finds the installed entry, even if another service manager responds.
func TestDetect_InstalledEntry(t *testing.T) {
	if systemKind() != "" {
		t.Skip("this system has only one mechanism")
	}
	for kind, bad := range map[Kind]map[string]bool{XDG: nil, Systemd: {"systemctl": true}} {
		first, dir := newManager(t, kind, &system{})
		if err := first.Install(t.Context(), plainEntry(), false); err != nil {
			t.Fatal(err)
		}
		o := first.o
		o.Kind, o.Run = "", (&system{bad: bad}).runProgram
		m, err := New(t.Context(), o)
		if err != nil || m.Kind() != kind {
			t.Fatalf("New = %v, want %s (%v)", m, kind, err)
		}
		if was, err := m.Uninstall(t.Context()); err != nil || !was {
			t.Errorf("%s below %s: %v %v", kind, dir, was, err)
		}
	}
}

func TestDetect(t *testing.T) {
	if systemKind() != "" {
		t.Skip("this system has only one mechanism")
	}
	for want, bad := range map[Kind]map[string]bool{Systemd: nil, XDG: {"systemctl": true}} {
		m, err := New(t.Context(), Options{UserDir: "/home/ann", Run: (&system{bad: bad}).runProgram, Look: func(n string) (string, error) { return "/usr/bin/" + n, nil }})
		if err != nil || m.Kind() != want {
			t.Errorf("New = %v, want %s (%v)", m, want, err)
		}
	}
}
