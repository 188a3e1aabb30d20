package desktop

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/godbus/dbus/v5"

	"hob/platform/host/desktop/session"
	"hob/platform/host/desktop/xwin"
	"hob/platform/host/osrun"
)

// sessionBus returns the address of the session bus.
func sessionBus(getenv func(string) string) (string, error) { return session.Bus(getenv) }

// Available reports whether this process may have a desktop. It does not query any service.
func Available(getenv func(string) string) bool {
	_, err := sessionBus(getenv)
	return err == nil
}

// dialBus connects to a bus. It gives up when ctx ends.
func dialBus(ctx context.Context, address string, o ...dbus.ConnOption) (*dbus.Conn, error) {
	return session.Dial(ctx, address, o...)
}

// callMethod calls a method and stores its result.
func callMethod(ctx context.Context, conn *dbus.Conn, dest, path, method string, args []any, out ...any) error {
	return session.Call(ctx, conn, dest, dbus.ObjectPath(path), method, args, out...)
}

// readProperty returns a property.
func readProperty[T any](ctx context.Context, conn *dbus.Conn, dest string, path dbus.ObjectPath, iface, name string) (out T, err error) {
	return session.Property[T](ctx, conn, dest, path, iface, name)
}

// isDBusError reports whether the error of a call has one of these D-Bus names.
func isDBusError(err error, names ...string) bool { return session.IsDBusError(err, names...) }

// lookFocus queries the notification server (Plasma's property, or dunst's own), and then GNOME's
// settings.
func lookFocus(ctx context.Context, o Options) (Focus, string, error) {
	said := func(on bool, by string) (Focus, string, error) {
		if on {
			return FocusOn, by, nil
		}
		return FocusOff, by, nil
	}
	address, err := sessionBus(o.Getenv)
	if err != nil {
		return FocusUnknown, "", err
	}
	conn, err := dialBus(ctx, address)
	if err != nil {
		return FocusUnknown, "", err
	}
	defer conn.Close() //nolint:errcheck // no data can be lost
	for _, p := range [][3]string{{notesName, "Inhibited", "the notification server"}, {"org.dunstproject.cmd0", "paused", "dunst"}} {
		var v dbus.Variant // do not start a service to query it
		call := conn.Object(notesName, notesPath).CallWithContext(ctx, "org.freedesktop.DBus.Properties.Get", dbus.FlagNoAutoStart, p[0], p[1])
		if err := call.Store(&v); err == nil {
			if on, ok := v.Value().(bool); ok {
				return said(on, p[2])
			}
		}
	}
	out, err := osrun.Programs{Getenv: o.Getenv}.Run(ctx, nil, "gsettings", "get", "org.gnome.desktop.notifications", "show-banners")
	if err == nil && strings.Contains(strings.ToUpper(o.Getenv("XDG_CURRENT_DESKTOP")), "GNOME") {
		return said(strings.TrimSpace(string(out)) == "false", "GNOME")
	}
	return FocusUnknown, "", errors.New("this desktop does not report its do-not-disturb setting")
}

// Open shows an address in the user's browser. The desktop's portal starts the browser, because
// children of this process do not have the user's permissions. Without a portal it returns an error
// (XDG Desktop Portal, org.freedesktop.portal.OpenURI).
func (n *NotificationClient) Open(ctx context.Context, address string) error {
	b, ok := n.show.(*dbusBackend)
	if !ok {
		return ErrNoSession
	}
	ctx, cancel := context.WithTimeout(ctx, b.opt.Wait)
	defer cancel()
	l, err := b.connectBus(ctx)
	if err != nil {
		return fmt.Errorf("desktop: open the browser: connect to the session bus: %w", err)
	}
	portal, err := l.findPortal(ctx, b.opt.Trust)
	if err != nil {
		return fmt.Errorf("desktop: open the browser: the desktop portal (xdg-desktop-portal) failed: %w", err)
	}
	var handle dbus.ObjectPath
	err = callMethod(ctx, l.conn, portal, "/org/freedesktop/portal/desktop", "org.freedesktop.portal.OpenURI.OpenURI",
		[]any{"", address, map[string]dbus.Variant{}}, &handle)
	if err != nil {
		return fmt.Errorf("desktop: open the browser: the desktop portal (xdg-desktop-portal) failed: %w", err)
	}
	return nil
}

// findPortal finds the process that opens addresses. The bus starts one if necessary. An address
// may contain a sign-in code, so it is not sent to a process that trust rejects.
func (l *serverConn) findPortal(ctx context.Context, trust func(int) error) (unique string, err error) {
	const name = "org.freedesktop.portal.Desktop"
	var started, pid uint32
	_ = callMethod(ctx, l.conn, busName, busPath, busName+".StartServiceByName", []any{name, uint32(0)}, &started) // the next call reports a failure
	if err := callMethod(ctx, l.conn, busName, busPath, busName+".GetNameOwner", []any{name}, &unique); err != nil {
		return "", err
	}
	if trust == nil {
		return unique, nil
	}
	if err := callMethod(ctx, l.conn, busName, busPath, busName+".GetConnectionUnixProcessID", []any{unique}, &pid); err != nil {
		return "", err
	}
	return unique, trust(int(pid))
}

// screenIdle queries the local X server. Under Wayland this may be XWayland, which does not receive
// all input; the caller has already queried the Wayland desktops.
func screenIdle(ctx context.Context, getenv func(string) string) (time.Duration, error) {
	e := session.DetectSession(ctx, getenv)
	if e.Wayland != "" {
		return 0, errors.New("under Wayland, the X server does not receive all input")
	}
	x, err := xwin.Dial(ctx, e)
	if err != nil {
		return 0, err
	}
	defer x.Close()
	return x.Idle()
}
