package power

import (
	"context"
	"errors"
	"fmt"

	"hob/platform/host/osrun"
)

func readBattery(ctx context.Context, o Options) (Battery, error) {
	out, err := osrun.Programs{Getenv: o.Getenv}.Run(ctx, nil, "/usr/bin/pmset", "-g", "batt")
	if err != nil {
		return Battery{}, fmt.Errorf("%w: %w", ErrUnseen, err)
	}
	return readPmset(string(out))
}

// watchSleep returns an error, because without cgo suspends are not reported on macOS. Callers rely
// on the wall clock.
func watchSleep(context.Context, Options, func(Event)) error {
	return fmt.Errorf("macOS reports sleep only through IOKit, which Hob does not link: %w", errors.ErrUnsupported)
}
