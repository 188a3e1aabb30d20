package files

import (
	"errors"

	"hob/tools"
)

// Errors that are wrapped by a *tools.Error of code PolicyDenied.
var (
	// ErrNotAllowed: the path is in no allowed folder, or a link in it leads out of the
	// folder.
	ErrNotAllowed = errors.New("not in an allowed folder")
	// ErrProtected: the path holds keys, starts programs or belongs to Hob.
	ErrProtected = errors.New("a protected place")
	// ErrSpecial: a device, pipe or socket.
	ErrSpecial = errors.New("not an ordinary file")
	// ErrLinked: the file has several names (hard links).
	ErrLinked = errors.New("a file with several names (hard links)")
)

// protectedPathError returns the refusal of a protected path. label names the file in messages:
// Clean if the caller gave the name, a string if it was found on the disk.
func protectedPathError(label any, why string) error {
	e := tools.Errorf(tools.PolicyDenied, "%s is %w (%s)", label, tools.CleanErr(ErrProtected), tools.Clean(why))
	e.Remedy = "Hob's file tools never access it; use another program"
	return e
}

func specialFileError(label any) error {
	return tools.Errorf(tools.Unsupported, "%s is %w but a device, a pipe or a socket", label, tools.CleanErr(ErrSpecial))
}
