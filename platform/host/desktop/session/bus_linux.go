package session

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/godbus/dbus/v5"
)

const connectWait = 5 * time.Second

// Bus returns the address of the session bus. It starts no bus: a bus started by this process
// would belong to no session.
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
	return "", fmt.Errorf("%w (no D-Bus session bus): start Hob within the desktop session, or as a service of systemd --user", ErrNone)
}

// Dial connects to a bus, at most until ctx ends.
func Dial(ctx context.Context, address string, o ...dbus.ConnOption) (*dbus.Conn, error) {
	ctx, cancel := context.WithCancel(ctx)
	t := time.AfterFunc(connectWait, cancel) // for a bus that accepts the connection and never responds
	conn, err := dbus.Connect(address, append(o, dbus.WithContext(ctx))...)
	if err == nil && !t.Stop() {
		err = errors.Join(errors.New("bus does not respond"), conn.Close())
	}
	if err != nil {
		cancel()
		return nil, fmt.Errorf("connect to the bus %s: %w", address, err)
	}
	context.AfterFunc(conn.Context(), cancel) //nolint:contextcheck // it lives as long as the connection
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
