package files

import (
	"errors"

	"hob/tools"
)

// Errors that are wrapped by a *tools.Error of code PolicyDenied.
var (
	// ErrNotAllowed: the path lies in no allowed folder, or a link on it
	// leaves the folder.
	ErrNotAllowed = errors.New("not in an allowed folder")
	// ErrProtected: the path holds keys, starts programs or is Hob's own.
	ErrProtected = errors.New("a protected place")
	// ErrSpecial: a device, pipe or socket.
	ErrSpecial = errors.New("not an ordinary file")
	// ErrLinked: the file has several names.
	ErrLinked = errors.New("a file with several names")
)

func (f *Files) protected(abs, why string) error {
	return &tools.Error{
		Code: tools.PolicyDenied, Err: ErrProtected,
		Message: f.show(abs) + " is " + ErrProtected.Error() + " (" + why + ")",
		Remedy:  "Hob's file tools never touch it; use another program for that",
	}
}

func (f *Files) special(abs string) error {
	return &tools.Error{
		Code: tools.Unsupported, Err: ErrSpecial,
		Message: f.show(abs) + " is " + ErrSpecial.Error() + " but a device, a pipe or a socket",
	}
}
