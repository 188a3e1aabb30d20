//go:build !linux && !windows && !darwin

package input

import (
	"context"
	"errors"

	"hob/platform/host/desktop/window"
)

func (h *Hands) open(context.Context, window.Window) (desk, error) { return nil, errors.ErrUnsupported }
