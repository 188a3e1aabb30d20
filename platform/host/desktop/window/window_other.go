//go:build !linux && !windows && !darwin

package window

import (
	"context"
	"errors"
)

func (w *Windows) listWindows(context.Context) ([]Window, error) { return nil, errors.ErrUnsupported }

// Program returns the path of a process's program, "" if unknown.
func Program(int) string { return "" }
