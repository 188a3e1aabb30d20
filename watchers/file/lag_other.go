//go:build !linux

package file

import (
	"runtime"
	"time"
)

// clockLag is how far the times of files may lag behind the clock. Windows
// advances theirs 64 times a second
// (https://learn.microsoft.com/windows/win32/sysinfo/acquiring-high-resolution-time-stamps).
func clockLag() time.Duration {
	if runtime.GOOS == "windows" {
		return time.Second / 64
	}
	return 0
}
