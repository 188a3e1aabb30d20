//go:build unix

package doctor

import (
	"errors"
	"syscall"
)

// refused reports that nobody listens at an address.
func refused(err error) bool { return errors.Is(err, syscall.ECONNREFUSED) }
