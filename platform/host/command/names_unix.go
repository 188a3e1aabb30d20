//go:build unix

package command

import (
	"io/fs"
	"syscall"
)

// manyNames reports whether a file has several names (hard links).
func manyNames(info fs.FileInfo) bool {
	st, ok := info.Sys().(*syscall.Stat_t)
	return ok && info.Mode().IsRegular() && st.Nlink > 1
}

// ofSystem reports whether a file belongs to the system and only its administrator can
// write to it.
func ofSystem(info fs.FileInfo) bool {
	st, ok := info.Sys().(*syscall.Stat_t)
	return ok && st.Uid == 0 && info.Mode().Perm()&0o022 == 0
}

func idOf(info fs.FileInfo) fileID {
	id := fileID{size: info.Size(), changed: info.ModTime().UnixNano()}
	if st, ok := info.Sys().(*syscall.Stat_t); ok {
		id.dev, id.ino, id.ctime = uint64(st.Dev), uint64(st.Ino), changeTime(st) //nolint:unconvert // their types differ by system
	}
	return id
}
