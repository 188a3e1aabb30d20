package apps

import (
	"context"
	"crypto/rand"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"github.com/godbus/dbus/v5"

	"hob/platform/host/desktop/session"
)

// maxApps limits how many entries are read.
const maxApps = 5000

// entryFolders returns the folders with desktop entries. The user's folders come first, because
// their entries override others with the same id. shared marks folders that all users share.
func entryFolders(getenv func(string) string) (list []string, shared map[string]bool) {
	shared = map[string]bool{}
	home := getenv("HOME")
	data := getenv("XDG_DATA_HOME")
	if !filepath.IsAbs(data) && home != "" {
		data = filepath.Join(home, ".local/share")
	}
	if data != "" {
		list = append(list, filepath.Join(data, "applications"), filepath.Join(data, "flatpak/exports/share/applications"))
	}
	common := []string{"/usr/local/share", "/usr/share", "/var/lib/flatpak/exports/share", "/var/lib/snapd/desktop"}
	dirs := common
	if v := getenv("XDG_DATA_DIRS"); v != "" {
		dirs = filepath.SplitList(v)
	}
	for _, d := range dirs {
		if !filepath.IsAbs(d) {
			continue
		}
		f := filepath.Join(d, "applications")
		shared[f] = slices.Contains(common, filepath.Clean(d))
		list = append(list, f)
	}
	return list, shared
}

func (f *Finder) listApps(ctx context.Context) ([]App, error) {
	locale := f.opt.Getenv("LC_MESSAGES")
	if locale == "" {
		locale = f.opt.Getenv("LANG")
	}
	list, shared := entryFolders(f.opt.Getenv)
	seen := map[string]bool{}
	var out []App
	for _, dir := range list {
		err := filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
			switch {
			case err != nil && path == dir && os.IsNotExist(err):
				return fs.SkipDir
			case err != nil, ctx.Err() != nil, len(seen) > maxApps:
				return ctx.Err() // skip an unreadable folder
			case e.IsDir() || !strings.HasSuffix(path, ".desktop"):
				return nil
			}
			rel, err := filepath.Rel(dir, path)
			if err != nil {
				return err
			}
			id := strings.ReplaceAll(rel, "/", "-")
			if seen[id] {
				return nil
			}
			seen[id] = true
			if a, ok := f.readEntry(id, path, locale); ok {
				a.Shared = shared[dir] && isSharedEntry(&a)
				out = append(out, a)
			}
			return nil
		})
		if err != nil {
			return nil, err
		}
	}
	return out, nil
}

// isSharedEntry reports whether the programs of an entry were also installed by the administrator.
// It makes their paths absolute, because a program of the user may come first in PATH. An entry
// whose program does not exist is not shared, because any user could create the program.
func isSharedEntry(a *App) bool {
	at := 0
	if path.Base(a.Command[0]) == "env" { // env searches PATH itself
		for at = 1; at < len(a.Command) && strings.Contains(a.Command[at], "="); at++ {
			if strings.HasPrefix(a.Command[at], "PATH=") {
				return false
			}
		}
	}
	if at == len(a.Command) {
		return false
	}
	need := []*string{&a.Command[0], &a.Command[at]}
	if a.Terminal {
		t, err := findTerminal()
		if err != nil {
			return false
		}
		need = append(need, &t[0])
	}
	for _, program := range need {
		file, err := exec.LookPath(*program)
		if err != nil || !isAdminOwned(file) {
			return false
		}
		*program = file
	}
	return true
}

// isAdminOwned reports whether a file, after its links are resolved, is in a folder in which only
// the administrator can write.
func isAdminOwned(file string) bool {
	file, err := filepath.EvalSymlinks(file)
	return err == nil && slices.ContainsFunc([]string{"/usr/", "/bin/", "/sbin/", "/opt/", "/snap/", "/var/lib/flatpak/", "/var/lib/snapd/", "/nix/store/", "/gnu/store/"},
		func(p string) bool { return strings.HasPrefix(file, p) })
}

func (f *Finder) readEntry(id, path, locale string) (App, bool) {
	r, err := os.Open(path)
	if err != nil {
		return App{}, false
	}
	defer r.Close()
	if info, err := r.Stat(); err != nil || !info.Mode().IsRegular() {
		return App{}, false
	}
	a, err := parseEntry(id, r, locale)
	a.File = path
	return a, err == nil
}

func (f *Finder) launchApp(ctx context.Context, a App, item string) error {
	s := session.DetectSession(ctx, f.opt.Getenv)
	if s.None() {
		return fmt.Errorf("%w (neither DISPLAY nor WAYLAND_DISPLAY is set); start Hob within the desktop session", ErrSession)
	}
	command, err := a.commandWithItem(item)
	if err != nil {
		return err
	}
	if a.Terminal {
		t, err := findTerminal()
		if err != nil {
			return err
		}
		command = append(t, command...)
	}
	program, err := exec.LookPath(command[0])
	if err != nil {
		return fmt.Errorf("program %s not found; reinstall the application", command[0])
	}
	command = append([]string{program}, command[1:]...)
	if s.Bus != "" {
		if taken, err := f.startTransientUnit(ctx, s.Bus, a, command); taken || err != nil {
			return err
		}
	}
	return f.startChild(s, command)
}

// findTerminal returns the command of a terminal emulator, to which the command of another program
// can be appended.
func findTerminal() ([]string, error) {
	for _, t := range [][]string{{"xdg-terminal-exec"}, {"x-terminal-emulator", "-e"}, {"gnome-terminal", "--"}, {"konsole", "-e"}, {"xterm", "-e"}} {
		if path, err := exec.LookPath(t[0]); err == nil {
			return append([]string{path}, t[1:]...), nil
		}
	}
	return nil, fmt.Errorf("application needs a terminal emulator, but none is installed; install xterm")
}

// startTransientUnit starts an application through the user's service manager. The manager has the
// session's environment, and the application outlives this process. If there is no service manager,
// it returns false without an error.
func (f *Finder) startTransientUnit(ctx context.Context, bus string, a App, command []string) (bool, error) {
	conn, err := session.Dial(ctx, bus)
	if err != nil {
		return false, nil //nolint:nilerr // then this process starts the application
	}
	defer conn.Close() //nolint:errcheck // no data can be lost
	const manager = "org.freedesktop.systemd1"
	var there bool
	if session.Call(ctx, conn, "org.freedesktop.DBus", "/org/freedesktop/DBus", "org.freedesktop.DBus.NameHasOwner", []any{manager}, &there) != nil || !there {
		return false, nil
	}
	type prop struct {
		Name  string
		Value dbus.Variant
	}
	type line struct {
		Path   string
		Args   []string
		Ignore bool
	}
	props := []prop{
		{"Description", dbus.MakeVariant(a.Name)},
		{"ExecStart", dbus.MakeVariant([]line{{command[0], command, false}})},
		{"CollectMode", dbus.MakeVariant("inactive-or-failed")},
		{"Type", dbus.MakeVariant("exec")},
	}
	if f.opt.Marker != "" {
		props = append(props, prop{"Environment", dbus.MakeVariant([]string{f.opt.Marker + "=app"})})
	}
	var job dbus.ObjectPath
	err = session.Call(ctx, conn, manager, "/org/freedesktop/systemd1", manager+".Manager.StartTransientUnit",
		[]any{"app-hob-" + rand.Text() + ".service", "fail", props, []struct {
			Name  string
			Props []prop
		}{}}, &job)
	if ctx.Err() != nil {
		return true, fmt.Errorf("%w: service manager does not respond", ErrUnsure)
	}
	return true, err
}

// startChild starts an application as a child of this process, without this process's secrets.
func (f *Finder) startChild(s session.Env, command []string) error {
	cmd := exec.Command(command[0], command[1:]...) //nolint:noctx // the program continues after this call
	cmd.Dir = f.opt.Getenv("HOME")
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	cmd.Env = f.childEnviron(s)
	if err := cmd.Start(); err != nil {
		return err
	}
	go func() { _ = cmd.Wait() }() // its exit status does not matter
	return nil
}

func (f *Finder) childEnviron(s session.Env) []string {
	out := []string{}
	add := func(k, v string) {
		if v != "" {
			out = append(out, k+"="+v)
		}
	}
	for _, k := range []string{"HOME", "USER", "LOGNAME", "SHELL", "PATH", "LANG", "LC_ALL", "LC_CTYPE", "LC_MESSAGES", "TZ", "XDG_RUNTIME_DIR", "XDG_DATA_DIRS", "XDG_DATA_HOME", "XDG_CONFIG_HOME", "XDG_CONFIG_DIRS", "XDG_CACHE_HOME", "XDG_SESSION_TYPE", "GTK_THEME", "QT_QPA_PLATFORMTHEME", "TMPDIR"} {
		add(k, f.opt.Getenv(k))
	}
	add("DISPLAY", s.Display)
	add("WAYLAND_DISPLAY", s.Wayland)
	add("XAUTHORITY", s.Authority)
	add("XDG_CURRENT_DESKTOP", s.Desktop)
	add("DBUS_SESSION_BUS_ADDRESS", s.Bus)
	if f.opt.Marker != "" {
		add(f.opt.Marker, "app")
	}
	return out
}
