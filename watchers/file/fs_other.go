//go:build !linux

package file

import (
	"runtime"
	"time"
)

// remote reports whether a folder lies on another machine's disk; where this is
// not known the slow look at everything has to do.
func remote(string) bool { return false }

// clockLag is how far the times of files may lag behind the clock. Windows
// advances theirs 64 times a second
// (https://learn.microsoft.com/windows/win32/sysinfo/acquiring-high-resolution-time-stamps).
func clockLag() time.Duration {
	if runtime.GOOS == "windows" {
		return time.Second / 64
	}
	return 0
}
