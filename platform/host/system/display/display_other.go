//go:build !linux && !darwin && !windows

package display

import (
	"context"
	"errors"
	"fmt"
	"runtime"
)

func newBackend(Options) backend { return nobody{} }

type nobody struct{}

func (nobody) brightness(context.Context) (int, error) {
	return 0, fmt.Errorf("display settings on %s: %w", runtime.GOOS, errors.ErrUnsupported)
}

func (n nobody) setBrightness(ctx context.Context, _ int) error {
	_, err := n.brightness(ctx)
	return err
}

func (n nobody) dark(ctx context.Context) (bool, error) {
	_, err := n.brightness(ctx)
	return false, err
}

func (n nobody) setDark(ctx context.Context, _ bool) error { return n.setBrightness(ctx, 0) }
