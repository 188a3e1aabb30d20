package session

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"

	"github.com/godbus/dbus/v5"
)

const (
	systemBus = "unix:path=/run/dbus/system_bus_socket"
	// Login is logind.
	Login     = "org.freedesktop.login1"
	loginPath = "/org/freedesktop/login1"
)

// SystemBus is the address of the system's bus.
func SystemBus(getenv func(string) string) string {
	if a := getenv("DBUS_SYSTEM_BUS_ADDRESS"); a != "" {
		return a
	}
	return systemBus
}

// Seat is the session of logind that this user sees. A service of the user is in
// none itself, so that it is asked for by the user.
func Seat(ctx context.Context, conn *dbus.Conn) (dbus.ObjectPath, error) {
	uid := os.Getuid()
	if uid < 0 || uid > math.MaxUint32 {
		return "", errors.New("this user has no number")
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
	return "", fmt.Errorf("%w: logind tells of no session with a display", ErrNone)
}
