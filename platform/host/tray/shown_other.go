//go:build !linux

package tray

import (
	"context"
	"errors"
)

// Shown returns errors.ErrUnsupported, because Windows and macOS show every icon and cannot be
// queried.
func Shown(context.Context, func(string) string, int) (Panel, error) {
	return Panel{}, errors.ErrUnsupported
}
