package desktop

import (
	"context"
	"fmt"
	"time"
	"unsafe"

	"golang.org/x/sys/windows"
)

// lastInputInfo is LASTINPUTINFO (winuser.h).
type lastInputInfo struct {
	size uint32
	time uint32 // GetTickCount, in milliseconds
}

const desktopReadObjects = 1 // DESKTOP_READOBJECTS

func detectPresence(context.Context, Options) (Presence, error) {
	p := Presence{By: "Windows"}
	user, kernel := windows.NewLazySystemDLL("user32.dll"), windows.NewLazySystemDLL("kernel32.dll")
	info := lastInputInfo{size: uint32(unsafe.Sizeof(lastInputInfo{}))}
	if ok, _, err := user.NewProc("GetLastInputInfo").Call(uintptr(unsafe.Pointer(&info))); ok == 0 {
		return p, fmt.Errorf("desktop: %w: GetLastInputInfo: %w", ErrUnseen, err)
	}
	now, _, _ := kernel.NewProc("GetTickCount").Call()
	p.Idle, p.IdleKnown = time.Duration(uint32(now)-info.time)*time.Millisecond, true // it wraps after 49 days, and so does the difference
	// While the screen is locked, this process cannot open the desktop with the keyboard.
	h, _, _ := user.NewProc("OpenInputDesktop").Call(0, 0, desktopReadObjects)
	p.Locked, p.LockKnown = h == 0, true
	if h != 0 {
		_, _, _ = user.NewProc("CloseDesktop").Call(h)
	}
	return p, nil
}
