//go:build !linux && !darwin && !windows

package desktop

import (
	"context"
	"errors"
)

func lookFocus(context.Context, Options) (Focus, string, error) {
	return FocusUnknown, "", errors.ErrUnsupported
}
