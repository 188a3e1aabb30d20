package files

import (
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"hob/platform/provenance"
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

func (f *Files) notAllowed(abs, why string) error {
	suggest := slices.Clone(f.opt.Allowed)
	suggest = append(suggest, f.show(filepath.Dir(abs)))
	list, err := json.Marshal(suggest)
	if err != nil {
		list = []byte("[...]")
	}
	msg := f.show(abs) + " is " + ErrNotAllowed.Error()
	if why != "" {
		msg += " (" + why + ")"
	}
	if len(f.allowed) == 0 {
		msg += "; no folder is allowed so far"
	} else {
		shown := make([]string, len(f.allowed))
		for i, a := range f.allowed {
			shown[i] = f.show(a)
		}
		msg += "; allowed: " + strings.Join(shown, ", ")
	}
	return &tools.Error{
		Code: tools.PolicyDenied, Message: msg, Err: ErrNotAllowed, Source: provenance.Tool, // abs is the path that was asked for
		Remedy: fmt.Sprintf("the owner can allow its folder with: hob config set files.allowed '%s'", list),
	}
}

// protected refuses a place. A label is how messages name a file: Clean when the
// caller gave the name, a string when it was found on the disk.
func protected(label any, why string) error {
	e := tools.Errorf(tools.PolicyDenied, "%s is %w (%s)", label, tools.CleanErr(ErrProtected), tools.Clean(why))
	e.Remedy = "Hob's file tools never touch it; use another program for that"
	return e
}

func special(label any) error {
	return tools.Errorf(tools.Unsupported, "%s is %w but a device, a pipe or a socket", label, tools.CleanErr(ErrSpecial))
}
