//go:build unix

package doctor

import (
	"errors"
	"syscall"
)

// isConnRefused reports whether the connection was refused because no process listens at the
// address.
func isConnRefused(err error) bool { return errors.Is(err, syscall.ECONNREFUSED) }
