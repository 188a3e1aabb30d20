package system

import (
	"strings"
	"unsafe"

	"golang.org/x/sys/windows"
)

// systemLocale returns the locale of the user's region in Windows as a POSIX locale: "en_US".
func systemLocale() string {
	const maxName = 85 // LOCALE_NAME_MAX_LENGTH
	var name [maxName]uint16
	p := windows.NewLazySystemDLL("kernel32.dll").NewProc("GetUserDefaultLocaleName")
	if n, _, _ := p.Call(uintptr(unsafe.Pointer(&name[0])), maxName); n == 0 {
		return ""
	}
	return strings.ReplaceAll(windows.UTF16ToString(name[:]), "-", "_")
}
