//go:build !linux && !darwin && !windows

package media

import (
	"context"
	"errors"
	"fmt"
	"runtime"
)

func newBackend(Options) backend { return missingPlayers{} }

type missingPlayers struct{}

func (missingPlayers) listPlayers(context.Context) ([]Player, error) {
	return nil, fmt.Errorf("media players on %s: %w", runtime.GOOS, errors.ErrUnsupported)
}

func (n missingPlayers) sendRequest(ctx context.Context, _ Request) error {
	_, err := n.listPlayers(ctx)
	return err
}
