//go:build !linux

package file

import (
	"runtime"
	"time"
)

// isRemote reports whether a folder is on a network disk. It always returns false, because this is
// unknown on these systems. The watcher then relies on the periodic full scans.
func isRemote(string) bool { return false }

// clockLag returns the maximum delay of file times relative to the clock. Windows updates file
// times 64 times per second
// (https://learn.microsoft.com/windows/win32/sysinfo/acquiring-high-resolution-time-stamps).
func clockLag() time.Duration {
	if runtime.GOOS == "windows" {
		return time.Second / 64
	}
	return 0
}
