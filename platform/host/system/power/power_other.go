//go:build !linux && !darwin && !windows

package power

import (
	"context"
	"errors"
	"fmt"
	"runtime"
)

func readBattery(context.Context, Options) (Battery, error) {
	return Battery{}, fmt.Errorf("%w: %s: %w", ErrUnseen, runtime.GOOS, errors.ErrUnsupported)
}

func watchSleep(context.Context, Options, func(Event)) error {
	return fmt.Errorf("watch for sleep on %s: %w", runtime.GOOS, errors.ErrUnsupported)
}
