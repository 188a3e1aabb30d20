//go:build unix

package doctor

import (
	"errors"
	"syscall"
)

// refused reports whether the connection was refused, so that no process listens at the
// address.
func refused(err error) bool { return errors.Is(err, syscall.ECONNREFUSED) }
