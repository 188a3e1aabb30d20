package doctor

import (
	"errors"

	"golang.org/x/sys/windows"
)

// refused reports whether the connection was refused, so that no process listens at the
// address.
func refused(err error) bool { return errors.Is(err, windows.WSAECONNREFUSED) }
