package desktop

import (
	"context"
	"fmt"

	"github.com/godbus/dbus/v5"
)

// Open shows an address in the user's browser. The desktop's portal starts the browser instead
// of this process, whose children have no user rights. Without a portal it returns an error
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
		return fmt.Errorf("desktop: %w", err)
	}
	portal, err := l.findPortal(ctx, b.opt.Trust)
	if err != nil {
		return fmt.Errorf("desktop: no portal to open addresses (xdg-desktop-portal): %w", err)
	}
	var handle dbus.ObjectPath
	err = callMethod(ctx, l.conn, portal, "/org/freedesktop/portal/desktop", "org.freedesktop.portal.OpenURI.OpenURI",
		[]any{"", address, map[string]dbus.Variant{}}, &handle)
	if err != nil {
		return fmt.Errorf("desktop: no portal to open addresses (xdg-desktop-portal): %w", err)
	}
	return nil
}

// findPortal finds the process that opens addresses and lets the bus start one if necessary. An
// address may contain a sign-in code, so it is not sent to a process that trust rejects.
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
