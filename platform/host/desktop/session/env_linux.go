package session

import (
	"context"
	"os"
	"strings"
	"time"
)

// Env is the environment of the session. Missing values are "".
type Env struct {
	Display    string // X11 display, such as ":0"
	Wayland    string // name of the Wayland socket
	Sway       string // socket of the compositor sway
	Desktop    string // XDG_CURRENT_DESKTOP
	Authority  string // XAUTHORITY
	Home       string
	RuntimeDir string
	Bus        string
	// Inherited is true if all values come from this process's own environment, so that programs
	// and libraries that read the environment find the same session.
	Inherited bool
}

// None reports whether there is no display.
func (e Env) None() bool { return e.Display == "" && e.Wayland == "" }

// managerWait is the timeout for the service manager.
const managerWait = 2 * time.Second

// DetectSession finds the session. It reads variables that are missing in this process's
// environment from the user's service manager, because a desktop passes them to the manager at
// startup.
func DetectSession(ctx context.Context, getenv func(string) string) Env {
	e := Env{Home: getenv("HOME"), RuntimeDir: getenv("XDG_RUNTIME_DIR")}
	e.Bus, _ = Bus(getenv) // without a bus the service manager cannot be queried
	e.readEnv(getenv)
	if e.None() && e.Bus != "" {
		if live := serviceManagerEnv(ctx, e.Bus); live != nil {
			e.readEnv(func(key string) string { return live[key] })
		}
	}
	e.Inherited = !e.None() && e.Display == os.Getenv("DISPLAY") && e.Wayland == os.Getenv("WAYLAND_DISPLAY")
	return e
}

func (e *Env) readEnv(getenv func(string) string) {
	e.Display, e.Wayland = getenv("DISPLAY"), getenv("WAYLAND_DISPLAY")
	e.Sway = getenv("SWAYSOCK")
	e.Desktop, e.Authority = getenv("XDG_CURRENT_DESKTOP"), getenv("XAUTHORITY")
}

// serviceManagerEnv returns the environment of the user's service manager, or nil if the manager
// cannot be queried (org.freedesktop.systemd1.Manager, property Environment).
func serviceManagerEnv(ctx context.Context, bus string) map[string]string {
	ctx, cancel := context.WithTimeout(ctx, managerWait)
	defer cancel()
	conn, err := Dial(ctx, bus)
	if err != nil {
		return nil
	}
	defer conn.Close() //nolint:errcheck // closing loses no data
	var there bool
	const name = "org.freedesktop.systemd1"
	if Call(ctx, conn, "org.freedesktop.DBus", "/org/freedesktop/DBus", "org.freedesktop.DBus.NameHasOwner", []any{name}, &there) != nil || !there {
		return nil
	}
	list, err := Property[[]string](ctx, conn, name, "/org/freedesktop/systemd1", name+".Manager", "Environment")
	if err != nil {
		return nil
	}
	out := map[string]string{}
	for _, kv := range list {
		if k, v, ok := strings.Cut(kv, "="); ok {
			out[k] = v
		}
	}
	return out
}
