package system

import (
	"errors"
	"fmt"
	"syscall"
	"unicode/utf16"
	"unsafe"

	"golang.org/x/sys/windows"
)

// dynamicTimeZone is DYNAMIC_TIME_ZONE_INFORMATION of timezoneapi.h.
type dynamicTimeZone struct {
	bias         int32
	standardName [32]uint16
	standardDate [8]uint16
	standardBias int32
	daylightName [32]uint16
	daylightDate [8]uint16
	daylightBias int32
	keyName      [128]uint16
	noDaylight   bool
}

// localZone maps the Windows name of the zone to the IANA name.
func localZone() (string, error) {
	if tz, ok := syscall.Getenv("TZ"); ok && tz != "" {
		return tz, nil
	}
	var z dynamicTimeZone
	p := windows.NewLazySystemDLL("kernel32.dll").NewProc("GetDynamicTimeZoneInformation")
	if r, _, err := p.Call(uintptr(unsafe.Pointer(&z))); uint32(r) == 0xffffffff {
		return "", fmt.Errorf("read the time zone from Windows: %w", err)
	}
	n := 0
	for n < len(z.keyName) && z.keyName[n] != 0 {
		n++
	}
	return windowsZone(string(utf16.Decode(z.keyName[:n])))
}

// localCopy returns an error, because Windows stores the rules of its zones only under its own
// names.
func localCopy() ([]byte, error) { return nil, errors.ErrUnsupported }
