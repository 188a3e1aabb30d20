//go:build unix

package hooks

import (
	"fmt"
	"io/fs"
	"os"
	"syscall"

	"golang.org/x/sys/unix"

	"hob/platform/host/system"
)

// checkOwned returns an error if another account can change or replace the file or folder. In a
// folder with the sticky bit, others cannot replace the files of an account.
func checkOwned(path string) error {
	fi, err := os.Lstat(path)
	if err != nil {
		return newProgramError(Missing, "%s cannot be read: %v", path, err)
	}
	if st, ok := fi.Sys().(*syscall.Stat_t); ok && st.Uid != 0 && int(st.Uid) != os.Getuid() {
		return newProgramError(Unsafe, "%s belongs to another account; use a program that is yours", path)
	}
	if fi.Mode().Perm()&0o022 != 0 && (!fi.IsDir() || fi.Mode()&fs.ModeSticky == 0) {
		return newProgramError(Unsafe, "others can write to %s; run: chmod go-w %s", path, system.QuoteForShell(path))
	}
	return nil
}

// fileStamp identifies a version of a file. It contains the change time, which programs cannot set.
func fileStamp(f *os.File) string {
	var st unix.Stat_t
	if err := unix.Fstat(int(f.Fd()), &st); err != nil {
		return ""
	}
	return fmt.Sprint(st.Dev, st.Ino, st.Size, st.Mtim, st.Ctim)
}
