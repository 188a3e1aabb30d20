package doctor

import (
	"errors"

	"golang.org/x/sys/windows"
)

// refused reports that nobody listens at an address.
func refused(err error) bool { return errors.Is(err, windows.WSAECONNREFUSED) }
