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

func newShower(Options, chan<- Event) shower { return nobody{} }

type nobody struct{}

func (nobody) notify(context.Context, Note) error {
	return fmt.Errorf("desktop: notifications on %s: %w", runtime.GOOS, errors.ErrUnsupported)
}
func (nobody) withdraw(context.Context, string) error { return nil }
func (n nobody) server(ctx context.Context) (Server, error) {
	return Server{}, n.notify(ctx, Note{})
}
func (nobody) close() {}

// Open shows an address in the user's browser.
func (*Notifier) Open(context.Context, string) error { return errors.ErrUnsupported }

func look(context.Context, Options) (Presence, error) {
	return Presence{}, fmt.Errorf("desktop: %w", ErrUnseen)
}
