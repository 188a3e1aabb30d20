//go:build !linux

package file

import (
	"runtime"
	"time"
)

// isRemote reports whether a folder is on a network disk. This is unknown here; the periodic full
// scan must suffice.
func isRemote(string) bool { return false }

// clockLag returns how much the times of files may lag behind the clock. Windows updates them
// 64 times per second
// (https://learn.microsoft.com/windows/win32/sysinfo/acquiring-high-resolution-time-stamps).
func clockLag() time.Duration {
	if runtime.GOOS == "windows" {
		return time.Second / 64
	}
	return 0
}
