package system

import (
	"errors"
	"io/fs"
	"os"
	"runtime"
	"syscall"
	"time"
)

// Retries while another process has a file open on Windows: another command that reads it,
// or a virus scanner that checks a new file.
const (
	renameWait  = 2 * time.Second
	renamePause = 10 * time.Millisecond
)

// sharingViolation is ERROR_SHARING_VIOLATION of Windows.
const sharingViolation = syscall.Errno(32)

// Rename is os.Rename that retries briefly if an open file cannot be replaced or moved, which
// happens on Windows.
func Rename(from, to string) error {
	err := os.Rename(from, to)
	for end := time.Now().Add(renameWait); inUse(err) && time.Now().Before(end); err = os.Rename(from, to) {
		time.Sleep(renamePause)
	}
	return err
}

// ReadFile is os.ReadFile that retries briefly if a file cannot be opened while it is being
// replaced, which happens on Windows.
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
