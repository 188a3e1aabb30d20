package tray

import (
	"errors"

	"github.com/ebitengine/purego"
)

// graphical reports why there is no graphical session that this process belongs to,
// as over SSH: AppKit ends a process that asks for one there.
func graphical() error {
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
	if session() == 0 { // what it returns otherwise is small, and asked for once
		return errors.New("no graphical session")
	}
	return nil
}

// iconPixels is twice the 18 points of a menu bar.
const iconPixels = 36
