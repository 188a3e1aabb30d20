package desktop

import (
	"context"
	"fmt"
	"time"
	"unsafe"

	"golang.org/x/sys/windows"

	"hob/platform/host/osrun"
)

func lookFocus(context.Context, Options) (Focus, string, error) {
	var state int32
	hr, _, _ := windows.NewLazySystemDLL("shell32.dll").NewProc("SHQueryUserNotificationState").Call(uintptr(unsafe.Pointer(&state)))
	if int32(hr) < 0 { //nolint:gosec // an HRESULT
		return FocusUnknown, "", fmt.Errorf("SHQueryUserNotificationState: 0x%08X", uint32(hr))
	}
	return focusState(int(state))
}

// Available reports whether this process may have a desktop.
func Available(getenv func(string) string) bool { return getenv("SESSIONNAME") != "Services" }

func newShower(o Options, _ chan<- Event) notificationBackend { return toastBackend{o} }

type toastBackend struct{ opt Options }

func (t toastBackend) showNotification(ctx context.Context, n Notification) error {
	r, err := newToast(t.opt.App, n)
	if err != nil {
		return err
	}
	return t.runToastScript(ctx, r)
}

func (t toastBackend) withdrawNotification(ctx context.Context, id string) error {
	return t.runToastScript(ctx, toastRequest{App: t.opt.App, AUMID: aumid, Tag: toastTag(id), Group: "hob", Withdraw: true})
}

func (t toastBackend) serverInfo(ctx context.Context) (Server, error) {
	err := t.runToastScript(ctx, toastRequest{App: t.opt.App, AUMID: aumid, Ask: true})
	return Server{Name: "Windows", Sure: err == nil}, err
}

// runToastScript runs the script. PowerShell 5.1 is part of Windows; newer versions do not support WinRT.
func (t toastBackend) runToastScript(ctx context.Context, r toastRequest) error {
	var a toastAnswer
	err := t.opt.Scripts.Run(ctx, osrun.Call{Script: toastScript(), In: r, Write: !r.Ask, Wait: 4 * t.opt.Wait}, &a) // a cold start takes seconds
	return toastError(a, err)
}

func (toastBackend) close() {}

// Open shows an address in the user's browser, through the shell.
func (n *NotificationClient) Open(_ context.Context, address string) error {
	verb, err := windows.UTF16PtrFromString("open")
	if err != nil {
		return err
	}
	item, err := windows.UTF16PtrFromString(address)
	if err != nil {
		return err
	}
	if err := windows.ShellExecute(0, verb, item, nil, nil, windows.SW_SHOWNORMAL); err != nil {
		return fmt.Errorf("desktop: open the browser: %w", err)
	}
	return nil
}

// lastInputInfo is LASTINPUTINFO (winuser.h).
type lastInputInfo struct {
	size uint32
	time uint32 // GetTickCount at the last input, in milliseconds
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
	p.Idle, p.IdleKnown = time.Duration(uint32(now)-info.time)*time.Millisecond, true // GetTickCount wraps after 49 days, but the difference is also modulo 2^32
	// While the screen is locked, this process cannot open the desktop with the keyboard.
	h, _, _ := user.NewProc("OpenInputDesktop").Call(0, 0, desktopReadObjects)
	p.Locked, p.LockKnown = h == 0, true
	if h != 0 {
		_, _, _ = user.NewProc("CloseDesktop").Call(h)
	}
	return p, nil
}
