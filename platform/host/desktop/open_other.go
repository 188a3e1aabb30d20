//go:build !linux && !darwin && !windows

package desktop

import (
	"context"
	"errors"
)

// Open shows an address in the user's browser.
func (*Notifier) Open(context.Context, string) error { return errors.ErrUnsupported }
