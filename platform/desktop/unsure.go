//go:build darwin || windows

package desktop

import (
	"context"
	"fmt"
)

// unsure marks the error of a script that was ended before it had answered.
func unsure(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return fmt.Errorf("desktop: %w: %w", ErrUnsure, err)
	}
	return fmt.Errorf("desktop: %w", err)
}
