//go:build !linux && !windows && !darwin

package input

import (
	"context"
	"errors"

	"hob/platform/host/desktop/window"
)

func (h *Controller) openBackend(context.Context, window.Window) (inputBackend, error) {
	return nil, errors.ErrUnsupported
}
