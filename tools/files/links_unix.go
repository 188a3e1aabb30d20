//go:build unix

package files

import (
	"io/fs"
	"os"
	"syscall"
)

// openFlags prevent opening a pipe from blocking until another process opens it, too.
const openFlags = syscall.O_NONBLOCK

// linkCount returns the number of hard links of a file.
func linkCount(_ *os.Root, _ string, fi fs.FileInfo) (uint64, error) {
	if st, ok := fi.Sys().(*syscall.Stat_t); ok {
		return uint64(st.Nlink), nil //nolint:unconvert // the type of Nlink depends on the system
	}
	return 1, nil
}
