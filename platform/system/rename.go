package system

import (
	"errors"
	"io/fs"
	"os"
	"runtime"
	"syscall"
	"time"
)

// The waits for whoever has a file open on Windows: another command that reads
// it, a virus scanner that looks at what was written a moment ago.
const (
	renameWait  = 2 * time.Second
	renamePause = 10 * time.Millisecond
)

// sharingViolation is ERROR_SHARING_VIOLATION of Windows.
const sharingViolation = syscall.Errno(32)

// Rename is os.Rename that waits a moment where a file that is open cannot be
// replaced or moved, which is on Windows.
func Rename(from, to string) error {
	err := os.Rename(from, to)
	for end := time.Now().Add(renameWait); inUse(err) && time.Now().Before(end); err = os.Rename(from, to) {
		time.Sleep(renamePause)
	}
	return err
}

// ReadFile is os.ReadFile that waits a moment where a file that is being replaced
// cannot be opened, which is on Windows.
func ReadFile(path string) ([]byte, error) {
	b, err := os.ReadFile(path)
	for end := time.Now().Add(renameWait); inUse(err) && time.Now().Before(end); b, err = os.ReadFile(path) {
		time.Sleep(renamePause)
	}
	return b, err
}

func inUse(err error) bool {
	return err != nil && runtime.GOOS == "windows" && (errors.Is(err, fs.ErrPermission) || errors.Is(err, sharingViolation))
}
