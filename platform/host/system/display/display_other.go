//go:build !linux && !darwin && !windows

package display

import (
	"context"
	"errors"
	"fmt"
	"runtime"
)

func newBackend(Options) backend { return missingDisplay{} }

type missingDisplay struct{}

func (missingDisplay) readBrightness(context.Context) (int, error) {
	return 0, fmt.Errorf("display settings on %s: %w", runtime.GOOS, errors.ErrUnsupported)
}

func (n missingDisplay) setBrightness(ctx context.Context, _ int) error {
	_, err := n.readBrightness(ctx)
	return err
}

func (n missingDisplay) isDark(ctx context.Context) (bool, error) {
	_, err := n.readBrightness(ctx)
	return false, err
}

func (n missingDisplay) setDark(ctx context.Context, _ bool) error { return n.setBrightness(ctx, 0) }
