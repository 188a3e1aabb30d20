package session

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/godbus/dbus/v5"
)

const connectWait = 5 * time.Second

// Bus returns the address of the session bus. It does not start a bus, because a bus started by
// this process would not belong to a session.
func Bus(getenv func(string) string) (string, error) {
	if a := getenv("DBUS_SESSION_BUS_ADDRESS"); a != "" {
		for part := range strings.SplitSeq(a, ";") {
			if strings.HasPrefix(part, "unix:") {
				return part, nil
			}
		}
		return "", fmt.Errorf("%w: DBUS_SESSION_BUS_ADDRESS is %q, but only unix: sockets are supported", ErrNone, a)
	}
	if dir := getenv("XDG_RUNTIME_DIR"); filepath.IsAbs(dir) {
		path := filepath.Join(dir, "bus")
		if _, err := os.Stat(path); err == nil {
			return "unix:path=" + path, nil
		}
	}
	return "", fmt.Errorf("%w (no D-Bus session bus); start Hob within the desktop session, or as a systemd user service", ErrNone)
}

// Dial connects to a bus. It gives up when ctx ends.
func Dial(ctx context.Context, address string, o ...dbus.ConnOption) (*dbus.Conn, error) {
	ctx, cancel := context.WithCancel(ctx)
	t := time.AfterFunc(connectWait, cancel) // in case a bus accepts the connection but never responds
	conn, err := dbus.Connect(address, append(o, dbus.WithContext(ctx))...)
	if err == nil && !t.Stop() {
		err = errors.Join(errors.New("bus does not respond"), conn.Close())
	}
	if err != nil {
		cancel()
		return nil, fmt.Errorf("connect to the bus %s: %w", address, err)
	}
	context.AfterFunc(conn.Context(), cancel) //nolint:contextcheck // the context lives as long as the connection
	return conn, nil
}

// Call calls a method and stores its result.
func Call(ctx context.Context, conn *dbus.Conn, dest string, path dbus.ObjectPath, method string, args []any, out ...any) error {
	call := conn.Object(dest, path).CallWithContext(ctx, method, 0, args...)
	if err := call.Store(out...); err != nil {
		return fmt.Errorf("%s: %w", method, err)
	}
	return nil
}

// Property returns a property.
func Property[T any](ctx context.Context, conn *dbus.Conn, dest string, path dbus.ObjectPath, iface, name string) (out T, err error) {
	var v dbus.Variant
	err = Call(ctx, conn, dest, path, "org.freedesktop.DBus.Properties.Get", []any{iface, name}, &v)
	if err != nil {
		return out, err
	}
	if err := v.Store(&out); err != nil {
		return out, fmt.Errorf("%s.%s: %w", iface, name, err)
	}
	return out, nil
}

// IsDBusError reports whether the error of a call has one of these D-Bus names.
func IsDBusError(err error, names ...string) bool {
	e, ok := errors.AsType[dbus.Error](err)
	if !ok {
		return false
	}
	for _, n := range names {
		if e.Name == "org.freedesktop.DBus.Error."+n {
			return true
		}
	}
	return false
}

// Display returns the number of a local display. It fails for a remote display, as over ssh,
// because input there does not show that the user is at this machine.
func Display(name string) (string, error) {
	host, rest, ok := strings.Cut(name, ":")
	number, _, _ := strings.Cut(rest, ".")
	if !ok || host != "" && host != "unix" || number == "" || len(number) > 5 || strings.Trim(number, "0123456789") != "" {
		return "", fmt.Errorf("DISPLAY is %q, which is not a display of this machine", name)
	}
	return number, nil
}

// Cookie returns the secret of a display from a file of xauth(1), or nil if there is none. If file
// is "", it reads the file in the home folder.
func Cookie(file, home, number string) []byte {
	if file == "" {
		file = filepath.Join(home, ".Xauthority")
	}
	b, err := os.ReadFile(file)
	if err != nil {
		return nil
	}
	next := func() []byte {
		if len(b) < 2 {
			b = nil
			return nil
		}
		n := int(binary.BigEndian.Uint16(b))
		if len(b) < 2+n {
			b = nil
			return nil
		}
		out := b[2 : 2+n]
		b = b[2+n:]
		return out
	}
	for len(b) > 2 {
		b = b[2:] // skip the address family
		_, display, name, data := next(), next(), next(), next()
		if string(name) == "MIT-MAGIC-COOKIE-1" && (string(display) == number || len(display) == 0) {
			return data
		}
	}
	return nil
}

const (
	systemBus = "unix:path=/run/dbus/system_bus_socket"
	// Login is logind.
	Login     = "org.freedesktop.login1"
	loginPath = "/org/freedesktop/login1"
)

// SystemBus returns the address of the system bus.
func SystemBus(getenv func(string) string) string {
	if a := getenv("DBUS_SYSTEM_BUS_ADDRESS"); a != "" {
		return a
	}
	return systemBus
}

// Seat returns the logind session of this user's display. It looks up the session by the user ID,
// because a user service belongs to no session.
func Seat(ctx context.Context, conn *dbus.Conn) (dbus.ObjectPath, error) {
	uid := os.Getuid()
	if uid < 0 || uid > math.MaxUint32 {
		return "", errors.New("user id is unknown")
	}
	var user dbus.ObjectPath
	if err := Call(ctx, conn, Login, loginPath, Login+".Manager.GetUser", []any{uint32(uid)}, &user); err != nil {
		return "", err
	}
	display, err := Property[[]any](ctx, conn, Login, user, Login+".User", "Display")
	if err != nil {
		return "", err
	}
	if len(display) == 2 {
		if path, ok := display[1].(dbus.ObjectPath); ok && path != "/" {
			return path, nil
		}
	}
	return "", fmt.Errorf("%w: logind lists no session with a display", ErrNone)
}
