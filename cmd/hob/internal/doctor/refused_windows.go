package doctor

import (
	"errors"

	"golang.org/x/sys/windows"
)

// isConnRefused reports whether the connection was refused because no process listens at the
// address.
func isConnRefused(err error) bool { return errors.Is(err, windows.WSAECONNREFUSED) }
