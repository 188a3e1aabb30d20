// Package autostart starts a program with the user's session: as a systemd user unit or an XDG
// autostart entry on Linux, a LaunchAgent on macOS, or a value of the Run key on Windows. It writes
// one file (or registry value), updates the service manager, and reports the current state. It
// writes no secrets.
package autostart

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"time"
	"unicode"
)

// Kind is an autostart mechanism.
type Kind string

// The kinds.
const (
	Systemd Kind = "systemd" // a unit of systemd --user
	XDG     Kind = "xdg"     // an entry of the desktop's autostart folder
	Launchd Kind = "launchd" // a LaunchAgent
	RunKey  Kind = "run"     // a value of HKCU\Software\Microsoft\Windows\CurrentVersion\Run
)

// Entry describes the program to start.
type Entry struct {
	Program string // absolute path of hob
	Home    string // HOB_HOME; "" means the default home
	Path    string // PATH for programs that Hob starts; "" means the system's PATH
	Log     string // log file for the output, if the service manager keeps no log
}

// Self returns the entry that starts the running program. The entry contains home only if HOB_HOME
// is set. Self resolves symbolic links in program, except on macOS, where a package's link remains
// valid after an update moved its target.
func Self(program, home, log string, getenv func(string) string) Entry {
	if real, err := filepath.EvalSymlinks(program); err == nil && runtime.GOOS != "darwin" {
		program = real
	}
	e := Entry{Program: program, Path: getenv("PATH"), Log: log}
	if getenv("HOB_HOME") != "" {
		e.Home = home
	}
	return e
}

// Status is the current state of the autostart entry.
type Status struct {
	Kind      Kind   `json:"kind"`
	Place     string `json:"place"`             // path of the file, or name of the value
	Installed bool   `json:"installed"`         // an entry exists
	Current   bool   `json:"current"`           // the installed entry equals the one that Install would write
	Same      bool   `json:"same"`              // the installed entry equals the one that Install would write, except for PATH
	Program   string `json:"program,omitempty"` // program that the entry starts
	Enabled   bool   `json:"enabled"`           // the system will start the program
	Running   bool   `json:"running"`           // the system has started the program
	Note      string `json:"note,omitempty"`    // unknown state, or recommended action
}

// Run runs a program of the system and returns its output.
type Run func(ctx context.Context, name string, args ...string) (string, error)

// Options are the options of New. The zero value selects this machine.
type Options struct {
	Kind    Kind   // "" selects the best available mechanism
	UserDir string // the user's home folder
	Getenv  func(string) string
	Run     Run
	// Look finds a program; nil means exec.LookPath.
	Look func(string) (string, error)
	// Wait is the maximum wait for the service manager (default 10 s).
	Wait time.Duration
}

// Manager installs, removes and checks the autostart entry.
type Manager struct {
	o    Options
	kind Kind
}

// runWait is the timeout of a system program.
const runWait = 20 * time.Second

// maxFile is the maximum size of an autostart file that Hob wrote, in bytes.
const maxFile = 64 << 10

// New detects the autostart mechanism of this system.
func New(ctx context.Context, o Options) (*Manager, error) {
	if o.Getenv == nil {
		o.Getenv = os.Getenv
	}
	if o.Run == nil {
		o.Run = runProgram
	}
	if o.Look == nil {
		o.Look = exec.LookPath
	}
	if o.Wait <= 0 {
		o.Wait = 10 * time.Second
	}
	if o.UserDir == "" {
		dir, err := os.UserHomeDir()
		if err != nil {
			return nil, fmt.Errorf("autostart: find the home folder: %w", err)
		}
		o.UserDir = dir
	}
	m := &Manager{o: o, kind: o.Kind}
	if m.kind == "" {
		m.kind = m.detectKind(ctx)
	}
	if m.kind == "" {
		return nil, fmt.Errorf("autostart: no mechanism found on this system: %w", errors.ErrUnsupported)
	}
	return m, nil
}

// Kind returns the autostart mechanism of this system.
func (m *Manager) Kind() Kind { return m.kind }

func runProgram(ctx context.Context, name string, args ...string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, runWait)
	defer cancel()
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.WaitDelay = time.Second
	out, err := cmd.CombinedOutput()
	text := strings.TrimSpace(string(out[:min(len(out), maxFile)]))
	if err != nil {
		return text, fmt.Errorf("%s %s: %w: %s", filepath.Base(name), strings.Join(args, " "), err, text)
	}
	return text, nil
}

// validateEntry returns an error if the entry contains a value that no file format can represent.
func (e Entry) validateEntry() error {
	if !filepath.IsAbs(e.Program) && !windowsPath(e.Program) {
		return fmt.Errorf("autostart: the program's path %q is not absolute", e.Program)
	}
	for _, s := range []string{e.Program, e.Home, e.Path, e.Log} {
		if strings.ContainsFunc(s, unicode.IsControl) || strings.ToValidUTF8(s, "") != s {
			return fmt.Errorf("autostart: the path %q contains characters that the file format does not allow; move the program or its home folder", s)
		}
	}
	return nil
}

func windowsPath(p string) bool { return len(p) > 3 && p[1] == ':' && (p[2] == '\\' || p[2] == '/') }

// Text returns the text that Install writes, and its location.
func (m *Manager) Text(e Entry) (place, text string, err error) {
	if err := e.validateEntry(); err != nil {
		return "", "", err
	}
	switch m.kind {
	case Systemd:
		if strings.ContainsAny(e.Program, unsafe) && strings.Contains(e.Program, envSign) {
			return "", "", fmt.Errorf("autostart: systemd cannot start %s; move it to a path without quotation marks", e.Program)
		}
		text = unitText(e)
	case XDG:
		text = desktopEntry(e)
	case Launchd:
		text = plistText(e)
	case RunKey:
		if text, err = runValue(e); err != nil {
			return "", "", err
		}
	}
	return m.entryLocation(), text, nil
}

// entryLocation returns the location of the entry.
func (m *Manager) entryLocation() string {
	switch m.kind {
	case Systemd:
		return filepath.Join(m.configDir(), "systemd", "user", unitName)
	case XDG:
		return filepath.Join(m.configDir(), "autostart", "hob.desktop")
	case Launchd:
		return filepath.Join(m.o.UserDir, "Library", "LaunchAgents", Label+".plist")
	case RunKey:
	}
	return `HKCU\` + runKey + `\` + runName
}

func (m *Manager) configDir() string {
	if dir := m.o.Getenv("XDG_CONFIG_HOME"); filepath.IsAbs(dir) {
		return dir
	}
	return filepath.Join(m.o.UserDir, ".config")
}

// Install writes the entry and updates the service manager. If start is set and the service manager
// supports it, Install also starts the program immediately. Install is idempotent.
func (m *Manager) Install(ctx context.Context, e Entry, start bool) error {
	place, text, err := m.Text(e)
	if err != nil {
		return err
	}
	if m.kind == RunKey {
		return setRun(text)
	}
	if err := writeFileAtomic(place, text); err != nil {
		return err
	}
	switch m.kind {
	case Systemd:
		return m.installUnit(ctx, start)
	case Launchd:
		return m.installAgent(ctx, place, start)
	case XDG, RunKey:
	}
	return nil
}

// Uninstall removes the entry, or disables the entry that a package installed. It returns false if
// there was none. Running programs are not stopped.
func (m *Manager) Uninstall(ctx context.Context) (bool, error) {
	if m.kind == RunKey {
		return removeRun()
	}
	place := m.entryLocation()
	_, err := os.Lstat(place)
	if errors.Is(err, fs.ErrNotExist) {
		return m.disablePackaged(ctx)
	}
	if m.kind == Systemd {
		if err := m.disableUnit(ctx); err != nil {
			return false, err
		}
	}
	if err := os.Remove(place); err != nil {
		return false, fmt.Errorf("autostart: remove the entry: %w", err)
	}
	if m.kind == Systemd && m.checkSystemd(ctx) == nil {
		return true, m.reloadUnits(ctx)
	}
	return true, nil
}

// Status returns the current state. e is the entry that Install would write.
func (m *Manager) Status(ctx context.Context, e Entry) (Status, error) {
	s := Status{Kind: m.kind, Place: m.entryLocation()}
	_, want, why := m.Text(e) // an entry that cannot be installed still has a status
	var text string
	var err error
	if m.kind == RunKey {
		text, s.Enabled, err = readRun()
	} else {
		text, err = readOwnFile(s.Place)
	}
	if err != nil {
		return s, err
	}
	s.Installed, s.Current = text != "", why == nil && text == want
	s.Same = s.Installed && why == nil && withoutPath(text) == withoutPath(want)
	if why != nil {
		s.Note = why.Error()
	}
	s.Program = programOf(m.kind, text)
	if place, text := m.packagedUnit(ctx); !s.Installed && place != "" {
		s.Place, s.Installed, s.Program = place, true, programOf(m.kind, text)
		s.Same = s.Program == e.Program && e.Home == ""
		s.Current = s.Same // the package's entry is current
	}
	if !s.Installed {
		return s, nil
	}
	switch m.kind {
	case Systemd:
		m.unitStatus(ctx, &s)
	case Launchd:
		m.agentStatus(ctx, &s)
	case XDG:
		s.Enabled = !strings.Contains(text, "\nHidden=true") && !strings.Contains(text, "X-GNOME-Autostart-enabled=false")
	case RunKey:
	}
	return s, nil
}

// withoutPath returns text without PATH, whose value depends on the terminal from which the entry
// was written.
func withoutPath(text string) string {
	var out strings.Builder
	skip := false
	for line := range strings.Lines(text) {
		key := strings.TrimSpace(line) == "<key>PATH</key>" // its value is on the next line
		if !key && !skip && !strings.HasPrefix(line, `Environment="PATH=`) {
			out.WriteString(line)
		}
		skip = key
	}
	return out.String()
}

// readOwnFile reads an autostart file. It returns "" if the file does not exist.
func readOwnFile(path string) (string, error) {
	fi, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	if err == nil && (!fi.Mode().IsRegular() || fi.Size() > maxFile) {
		err = fmt.Errorf("%s was not written by Hob; move the file elsewhere", path)
	}
	if err != nil {
		return "", fmt.Errorf("autostart: read the entry: %w", err)
	}
	b, err := os.ReadFile(path)
	if err != nil {
		return "", fmt.Errorf("autostart: read the entry: %w", err)
	}
	return string(b), nil
}

// writeFileAtomic atomically replaces a file if its content differs.
func writeFileAtomic(path, text string) error {
	if old, err := readOwnFile(path); err != nil || old == text {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil { //nolint:gosec // the usual mode of these folders
		return fmt.Errorf("autostart: create the folder of the entry: %w", err)
	}
	f, err := os.CreateTemp(filepath.Dir(path), ".hob-*")
	if err != nil {
		return fmt.Errorf("autostart: write the entry: %w", err)
	}
	defer os.Remove(f.Name()) //nolint:errcheck // does nothing after a successful rename
	_, err = bytes.NewBufferString(text).WriteTo(f)
	if err = errors.Join(err, f.Chmod(0o644), f.Sync(), f.Close()); err != nil { //nolint:gosec // the entry contains no secret, and service managers must be able to read it
		return fmt.Errorf("autostart: write the entry: %w", err)
	}
	if err := os.Rename(f.Name(), path); err != nil {
		return fmt.Errorf("autostart: write the entry: %w", err)
	}
	return nil
}
