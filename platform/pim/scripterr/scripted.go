// Package scripterr maps errors of scripts to errors of pim, for the drivers that
// automate local programs: apple and outlook.
package scripterr

import (
	"errors"
	"fmt"

	"hob/platform/host/osrun"
	"hob/platform/pim"
)

// Read converts the error of a reading script.
func Read(err error) error {
	switch osrun.KindOf(err) {
	case osrun.NotFound:
		return fmt.Errorf("%w: %w", pim.ErrNotFound, err)
	case osrun.Changed:
		return fmt.Errorf("%w: %w", pim.ErrChanged, err)
	case osrun.Invalid:
		return fmt.Errorf("%w: %w", pim.ErrInvalid, err)
	}
	return err
}

// Write converts the result of a writing script: the receipt is Uncertain if the
// outcome is unknown.
func Write(r pim.Receipt, err error) (pim.Receipt, error) {
	switch {
	case err == nil:
		return r, nil
	case osrun.IsUncertain(err):
		why := err.Error()
		if e, ok := errors.AsType[*osrun.Error](err); ok && e.Cause != "" {
			why = e.App + ": " + e.Cause
		}
		return pim.Receipt{Outcome: pim.Uncertain, Why: pim.SanitizeLine(why, 200)}, nil
	}
	return pim.Receipt{}, Read(err)
}
