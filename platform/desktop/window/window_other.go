//go:build !linux && !windows && !darwin

package window

import (
	"context"
	"errors"
)

func (w *Windows) list(context.Context) ([]Window, error) { return nil, errors.ErrUnsupported }

// Program is the path of a process's program, "" when that cannot be told.
func Program(int) string { return "" }
