package tray

import (
	"errors"

	"github.com/ebitengine/purego"
)

// checkGraphicalSession returns an error if this process does not belong to a graphical session,
// for example over SSH. AppKit would then end the process.
func checkGraphicalSession() error {
	lib, err := purego.Dlopen("/System/Library/Frameworks/CoreGraphics.framework/CoreGraphics", purego.RTLD_LAZY|purego.RTLD_GLOBAL)
	if err != nil {
		return err
	}
	at, err := purego.Dlsym(lib, "CGSessionCopyCurrentDictionary")
	if err != nil {
		return err
	}
	var session func() uintptr
	purego.RegisterFunc(&session, at)
	if session() == 0 { // do not release another result: it is small, and this runs only once
		return errors.New("no graphical session")
	}
	return nil
}

// iconPixels is twice the menu bar's 18 points.
const iconPixels = 36
