//go:build !linux && !darwin && !windows

package desktop

import (
	"context"
	"errors"
	"fmt"
	"runtime"
)

func lookFocus(context.Context, Options) (Focus, string, error) {
	return FocusUnknown, "", errors.ErrUnsupported
}

// Available reports whether this process may have a desktop.
func Available(func(string) string) bool { return false }

func newShower(Options, chan<- Event) notificationBackend { return missingServer{} }

type missingServer struct{}

func (missingServer) showNotification(context.Context, Notification) error {
	return fmt.Errorf("desktop: notifications on %s: %w", runtime.GOOS, errors.ErrUnsupported)
}
func (missingServer) withdrawNotification(context.Context, string) error { return nil }
func (n missingServer) serverInfo(ctx context.Context) (Server, error) {
	return Server{}, n.showNotification(ctx, Notification{})
}
func (missingServer) close() {}

// Open shows an address in the user's browser.
func (*NotificationClient) Open(context.Context, string) error { return errors.ErrUnsupported }

func detectPresence(context.Context, Options) (Presence, error) {
	return Presence{}, fmt.Errorf("desktop: %w", ErrUnseen)
}
