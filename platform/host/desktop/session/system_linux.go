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

// SystemBus returns the address of the system bus.
func SystemBus(getenv func(string) string) string {
	if a := getenv("DBUS_SYSTEM_BUS_ADDRESS"); a != "" {
		return a
	}
	return systemBus
}

// Seat returns the logind session of this user's display. A user service belongs to no session,
// so the lookup uses the user's id.
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
