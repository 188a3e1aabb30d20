//go:build unix

package files

import (
	"io/fs"
	"os"
	"syscall"
)

// openFlags prevent an open call on a pipe from waiting for the other end.
const openFlags = syscall.O_NONBLOCK

// linkCount returns the number of hard links of a file.
func linkCount(_ *os.Root, _ string, fi fs.FileInfo) (uint64, error) {
	if st, ok := fi.Sys().(*syscall.Stat_t); ok {
		return uint64(st.Nlink), nil //nolint:unconvert // its type differs by system
	}
	return 1, nil
}
