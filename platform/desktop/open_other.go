//go:build !linux

package desktop

import (
	"context"
	"errors"
)

// Open shows an address in the owner's browser. Here a note does so by itself, or
// cannot.
func (*Notifier) Open(context.Context, string) error { return errors.ErrUnsupported }
