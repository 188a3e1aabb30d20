// Package scripted says in the words of pim what became of a script. The drivers
// that speak to programs of this machine, apple and outlook, use it.
package scripted

import (
	"errors"
	"fmt"

	"hob/platform/osrun"
	"hob/platform/pim"
)

// Read is the error of a script that reads.
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

// Write is what became of a script that writes: a receipt that says Uncertain
// where nobody knows.
func Write(r pim.Receipt, err error) (pim.Receipt, error) {
	switch {
	case err == nil:
		return r, nil
	case osrun.Uncertain(err):
		why := err.Error()
		if e, ok := errors.AsType[*osrun.Error](err); ok && e.Cause != "" {
			why = e.App + ": " + e.Cause
		}
		return pim.Receipt{Outcome: pim.Uncertain, Why: pim.Line(why, 200)}, nil
	}
	return pim.Receipt{}, Read(err)
}
