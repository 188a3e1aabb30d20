//go:build !linux

package tray

import (
	"context"
	"errors"
)

// Shown fails with errors.ErrUnsupported: the systems with a tray of their own show
// every icon, and do not say so.
func Shown(context.Context, func(string) string, int) (Panel, error) {
	return Panel{}, errors.ErrUnsupported
}
