package desktop

import (
	"context"

	"github.com/godbus/dbus/v5"

	"hob/platform/desktop/session"
)

// sessionBus returns the address of the session bus.
func sessionBus(getenv func(string) string) (string, error) { return session.Bus(getenv) }

// Available reports whether there may be a desktop for this process, without
// asking anybody.
func Available(getenv func(string) string) bool {
	_, err := sessionBus(getenv)
	return err == nil
}

// dial connects to a bus for as long as ctx lives.
func dial(ctx context.Context, address string, o ...dbus.ConnOption) (*dbus.Conn, error) {
	return session.Dial(ctx, address, o...)
}

// get calls a method and stores its answer.
func get(ctx context.Context, conn *dbus.Conn, dest, path, method string, args []any, out ...any) error {
	return session.Call(ctx, conn, dest, dbus.ObjectPath(path), method, args, out...)
}

// property reads one property.
func property[T any](ctx context.Context, conn *dbus.Conn, dest string, path dbus.ObjectPath, iface, name string) (out T, err error) {
	return session.Property[T](ctx, conn, dest, path, iface, name)
}

// named reports whether the error of a call has one of these D-Bus names.
func named(err error, names ...string) bool { return session.Named(err, names...) }
