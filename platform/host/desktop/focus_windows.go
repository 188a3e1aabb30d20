package desktop

import (
	"context"
	"fmt"
	"unsafe"

	"golang.org/x/sys/windows"
)

func lookFocus(context.Context, Options) (Focus, string, error) {
	var state int32
	hr, _, _ := windows.NewLazySystemDLL("shell32.dll").NewProc("SHQueryUserNotificationState").Call(uintptr(unsafe.Pointer(&state)))
	if int32(hr) < 0 { //nolint:gosec // an HRESULT
		return FocusUnknown, "", fmt.Errorf("SHQueryUserNotificationState: 0x%08X", uint32(hr))
	}
	return focusState(int(state))
}
