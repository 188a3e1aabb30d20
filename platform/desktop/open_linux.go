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
	const portal = "org.freedesktop.portal.Desktop"
	var handle dbus.ObjectPath
	err = get(ctx, l.conn, portal, "/org/freedesktop/portal/desktop", "org.freedesktop.portal.OpenURI.OpenURI",
		[]any{"", address, map[string]dbus.Variant{}}, &handle)
	if err != nil {
		return fmt.Errorf("desktop: no portal opens addresses here (xdg-desktop-portal): %w", err)
	}
	return nil
}
