//go:build !linux && !darwin && !windows

package media

import (
	"context"
	"errors"
	"fmt"
	"runtime"
)

func newBackend(Options) backend { return nobody{} }

type nobody struct{}

func (nobody) players(context.Context) ([]Player, error) {
	return nil, fmt.Errorf("media players on %s: %w", runtime.GOOS, errors.ErrUnsupported)
}

func (n nobody) do(ctx context.Context, _ Request) error {
	_, err := n.players(ctx)
	return err
}
