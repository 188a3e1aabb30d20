//go:build !linux && !darwin && !windows

package desktop

import (
	"context"
	"fmt"
)

func look(context.Context, Options) (Presence, error) {
	return Presence{}, fmt.Errorf("desktop: %w", ErrUnseen)
}
