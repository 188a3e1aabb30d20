//go:build !linux && !darwin && !windows

package filemanager

import (
	"context"
	"errors"
	"fmt"
)

func (f *Manager) revealPath(context.Context, string) error {
	return fmt.Errorf("%w: %w", ErrNone, errors.ErrUnsupported)
}
