package filemanager

import (
	"context"
	"errors"
	"fmt"

	"github.com/godbus/dbus/v5"

	"hob/platform/host/desktop/session"
)

const (
	manager     = "org.freedesktop.FileManager1"
	managerPath = dbus.ObjectPath("/org/freedesktop/FileManager1")
)

// revealPath calls ShowItems (freedesktop.org, "file-manager-interface"). The bus starts the file manager if
// necessary.
func (f *Manager) revealPath(ctx context.Context, path string) error {
	bus, err := session.Bus(f.opt.Getenv)
	if err != nil {
		return err
	}
	conn, err := session.Dial(ctx, bus)
	if err != nil {
		return fmt.Errorf("%w: %w", session.ErrNone, err)
	}
	defer conn.Close() //nolint:errcheck // no data can be lost
	err = session.Call(ctx, conn, manager, managerPath, manager+".ShowItems", []any{[]string{fileURL(path)}, ""})
	if session.IsDBusError(err, "ServiceUnknown", "NameHasNoOwner", "UnknownMethod", "UnknownInterface") {
		return fmt.Errorf("%w (%s); install one, such as nautilus, dolphin or thunar: %w", ErrNone, manager, errors.Join(errors.ErrUnsupported, err))
	}
	return err
}
