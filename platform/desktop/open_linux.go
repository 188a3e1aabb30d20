package desktop

import (
	"context"
	"fmt"

	"github.com/godbus/dbus/v5"
)

// Open shows an address in the owner's browser. The desktop's portal starts that,
// and not this process, whose children may speak for nobody: where there is no
// portal it is an error (XDG Desktop Portal, org.freedesktop.portal.OpenURI).
func (n *Notifier) Open(ctx context.Context, address string) error {
	b, ok := n.show.(*busShower)
	if !ok {
		return ErrNoSession
	}
	ctx, cancel := context.WithTimeout(ctx, b.opt.Wait)
	defer cancel()
	l, err := b.connect(ctx)
	if err != nil {
		return fmt.Errorf("desktop: %w", err)
	}
	portal, err := l.portal(ctx, b.opt.Trust)
	if err != nil {
		return fmt.Errorf("desktop: no portal opens addresses here (xdg-desktop-portal): %w", err)
	}
	var handle dbus.ObjectPath
	err = get(ctx, l.conn, portal, "/org/freedesktop/portal/desktop", "org.freedesktop.portal.OpenURI.OpenURI",
		[]any{"", address, map[string]dbus.Variant{}}, &handle)
	if err != nil {
		return fmt.Errorf("desktop: no portal opens addresses here (xdg-desktop-portal): %w", err)
	}
	return nil
}

// portal finds who opens addresses, and lets the bus start whoever would. An address
// may let its reader in: it is for nobody whom trust refuses.
func (l *link) portal(ctx context.Context, trust func(int) error) (unique string, err error) {
	const name = "org.freedesktop.portal.Desktop"
	var started, pid uint32
	_ = get(ctx, l.conn, busName, busPath, busName+".StartServiceByName", []any{name, uint32(0)}, &started) // the next call says what came of it
	if err := get(ctx, l.conn, busName, busPath, busName+".GetNameOwner", []any{name}, &unique); err != nil {
		return "", err
	}
	if trust == nil {
		return unique, nil
	}
	if err := get(ctx, l.conn, busName, busPath, busName+".GetConnectionUnixProcessID", []any{unique}, &pid); err != nil {
		return "", err
	}
	return unique, trust(int(pid))
}
