package desktop

import (
	"context"

	"github.com/godbus/dbus/v5"

	"hob/platform/host/desktop/session"
)

// sessionBus returns the address of the session bus.
func sessionBus(getenv func(string) string) (string, error) { return session.Bus(getenv) }

// Available reports whether this process may have a desktop, without querying any service.
func Available(getenv func(string) string) bool {
	_, err := sessionBus(getenv)
	return err == nil
}

// dialBus connects to a bus, at most until ctx ends.
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
