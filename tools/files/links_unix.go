//go:build unix

package files

import (
	"io/fs"
	"os"
	"syscall"
)

// openFlags prevent an open from waiting for the other end of a pipe.
const openFlags = syscall.O_NONBLOCK

// linkCount returns the number of names of a file.
func linkCount(_ *os.Root, _ string, fi fs.FileInfo) (uint64, error) {
	if st, ok := fi.Sys().(*syscall.Stat_t); ok {
		return uint64(st.Nlink), nil //nolint:unconvert // its type differs by system
	}
	return 1, nil
}
