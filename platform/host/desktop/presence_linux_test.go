package desktop_test

import (
	"errors"
	"os"
	"os/exec"
	"sync/atomic"
	"testing"
	"time"

	"github.com/godbus/dbus/v5"
	"github.com/godbus/dbus/v5/prop"

	"hob/platform/host/desktop"
	"hob/platform/host/desktop/desktoptest"
)

// sessionOptions returns options whose session bus and system bus are both the private bus b.
func sessionOptions(b *desktoptest.Bus, more map[string]string) desktop.Options {
	return desktop.Options{Getenv: func(key string) string {
		if key == "DBUS_SYSTEM_BUS_ADDRESS" && b != nil {
			return b.Address
		}
		if v, ok := more[key]; ok || b == nil {
			return v
		}
		return b.Getenv(key)
	}}
}

func exportObject(t *testing.T, c *dbus.Conn, name string, path dbus.ObjectPath, iface string, methods map[string]any) {
	t.Helper()
	if err := c.ExportMethodTable(methods, path, iface); err != nil {
		t.Fatal(err)
	}
	if _, err := c.RequestName(name, dbus.NameFlagReplaceExisting|dbus.NameFlagAllowReplacement); err != nil {
		t.Fatal(err)
	}
}

func TestPresence_NoDesktop(t *testing.T) {
	p, err := desktop.DetectPresence(t.Context(), sessionOptions(nil, map[string]string{"DBUS_SYSTEM_BUS_ADDRESS": "unix:path=/nowhere", "DISPLAY": "localhost:10.0"}))
	if !errors.Is(err, desktop.ErrUnseen) || p.IdleKnown {
		t.Errorf("%+v, %v; want ErrUnseen", p, err)
	}
	b := desktoptest.NewBus(t) // a bus without services
	if p, err := desktop.DetectPresence(t.Context(), sessionOptions(b, nil)); !errors.Is(err, desktop.ErrUnseen) || p.IdleKnown {
		t.Errorf("%+v, %v; want ErrUnseen", p, err)
	}
}

func TestPresence_GNOME(t *testing.T) {
	b := desktoptest.NewBus(t)
	c := b.Conn(t)
	exportObject(t, c, "org.gnome.Mutter.IdleMonitor", "/org/gnome/Mutter/IdleMonitor/Core", "org.gnome.Mutter.IdleMonitor",
		map[string]any{"GetIdletime": func() (uint64, *dbus.Error) { return 4217, nil }})
	var locked atomic.Bool
	locked.Store(true)
	exportObject(t, c, "org.gnome.ScreenSaver", "/org/gnome/ScreenSaver", "org.gnome.ScreenSaver",
		map[string]any{"GetActive": func() (bool, *dbus.Error) { return locked.Load(), nil }})
	p, err := desktop.DetectPresence(t.Context(), sessionOptions(b, nil))
	if err != nil || p != (desktop.Presence{Idle: 4217 * time.Millisecond, IdleKnown: true, Locked: true, LockKnown: true, By: "Mutter"}) {
		t.Errorf("DetectPresence = %+v, %v", p, err)
	}
	locked.Store(false)
	if p, err := desktop.DetectPresence(t.Context(), sessionOptions(b, nil)); err != nil || p.Locked || !p.LockKnown {
		t.Errorf("DetectPresence = %+v, %v", p, err)
	}
}

func TestPresence_KDE(t *testing.T) {
	b := desktoptest.NewBus(t)
	c := b.Conn(t)
	saver := map[string]any{
		"GetSessionIdleTime": func() (uint32, *dbus.Error) { return 90_000, nil },
		"GetActive":          func() (bool, *dbus.Error) { return false, nil },
	}
	exportObject(t, c, "org.freedesktop.ScreenSaver", "/ScreenSaver", "org.freedesktop.ScreenSaver", saver)
	if p, err := desktop.DetectPresence(t.Context(), sessionOptions(b, nil)); !errors.Is(err, desktop.ErrUnseen) { // milliseconds or seconds?
		t.Errorf("%+v, %v; want ErrUnseen", p, err)
	}
	if _, err := c.RequestName("org.kde.KWin", 0); err != nil {
		t.Fatal(err)
	}
	p, err := desktop.DetectPresence(t.Context(), sessionOptions(b, nil))
	if err != nil || p.Idle != 90*time.Second || p.Locked || !p.LockKnown || p.By != "KWin" {
		t.Errorf("DetectPresence = %+v, %v", p, err)
	}
}

func TestPresence_Logind(t *testing.T) {
	b := desktoptest.NewBus(t)
	c := b.Conn(t)
	exportObject(t, c, "org.freedesktop.login1", "/org/freedesktop/login1", "org.freedesktop.login1.Manager",
		map[string]any{"GetUser": func(uid uint32) (dbus.ObjectPath, *dbus.Error) {
			if int(uid) != os.Getuid() {
				return "", dbus.NewError("x.y", nil)
			}
			return "/org/freedesktop/login1/user", nil
		}})
	type seat struct {
		ID   string
		Path dbus.ObjectPath
	}
	since := time.Now().Add(-time.Hour).UnixMicro()
	if _, err := prop.Export(c, "/org/freedesktop/login1/user", prop.Map{"org.freedesktop.login1.User": {"Display": {Value: seat{"2", "/org/freedesktop/login1/session/_32"}}}}); err != nil {
		t.Fatal(err)
	}
	hints, err := prop.Export(c, "/org/freedesktop/login1/session/_32", prop.Map{"org.freedesktop.login1.Session": {
		"IdleHint": {Value: true, Writable: true}, "IdleSinceHint": {Value: uint64(since), Writable: true}, "LockedHint": {Value: false, Writable: true},
	}})
	if err != nil {
		t.Fatal(err)
	}
	o := sessionOptions(b, map[string]string{"DBUS_SESSION_BUS_ADDRESS": ""})
	p, err := desktop.DetectPresence(t.Context(), o)
	if err != nil || p.Idle < time.Hour || p.Idle > 2*time.Hour || p.Locked || p.By != "logind" {
		t.Errorf("DetectPresence = %+v, %v", p, err)
	}
	hints.SetMust("org.freedesktop.login1.Session", "IdleHint", false)
	if p, err := desktop.DetectPresence(t.Context(), o); !errors.Is(err, desktop.ErrUnseen) { // a desktop that never sets the hint looks the same
		t.Errorf("idle hint false: %+v, %v; want ErrUnseen", p, err)
	}
	hints.SetMust("org.freedesktop.login1.Session", "LockedHint", true)
	p, err = desktop.DetectPresence(t.Context(), o)
	if err != nil || !p.Locked || !p.LockKnown {
		t.Errorf("locked: %+v, %v", p, err)
	}
}

// TestPresence_X11 queries a real X server, moves the mouse and queries it again.
func TestPresence_X11(t *testing.T) {
	display := desktoptest.Display(t)
	o := sessionOptions(nil, map[string]string{"DISPLAY": display, "HOME": t.TempDir(), "DBUS_SYSTEM_BUS_ADDRESS": "unix:path=/nowhere"})
	var p desktop.Presence
	for end := time.Now().Add(60 * time.Second); p.Idle < 30*time.Millisecond; { // no input arrives
		var err error
		if p, err = desktop.DetectPresence(t.Context(), o); err != nil || p.By != "X" || !p.IdleKnown || p.LockKnown {
			t.Fatalf("DetectPresence = %+v, %v", p, err)
		}
		if time.Now().After(end) {
			t.Fatalf("%+v: the idle time does not increase", p)
		}
	}
	xdotool, err := exec.LookPath("xdotool")
	if err != nil {
		t.Skip("xdotool is not installed")
	}
	before := time.Now()
	first := p.Idle
	cmd := exec.CommandContext(t.Context(), xdotool, "mousemove", "11", "12")
	cmd.Env = []string{"DISPLAY=" + display}
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	if p, err = desktop.DetectPresence(t.Context(), o); err != nil || p.Idle >= first+time.Since(before) {
		t.Errorf("after the mouse was moved: %+v, %v", p, err)
	}
	if _, err := desktop.DetectPresence(t.Context(), sessionOptions(nil, map[string]string{"DISPLAY": display, "WAYLAND_DISPLAY": "wayland-0", "DBUS_SYSTEM_BUS_ADDRESS": "unix:path=/nowhere"})); !errors.Is(err, desktop.ErrUnseen) {
		t.Errorf("under Wayland: %v", err)
	}
}
