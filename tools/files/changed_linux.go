package files

import (
	"io/fs"
	"syscall"
	"time"
)

// changeTime returns the inode change time. Programs can set the modification time but not this
// time.
func changeTime(info fs.FileInfo) time.Time {
	if st, ok := info.Sys().(*syscall.Stat_t); ok {
		return time.Unix(st.Ctim.Unix())
	}
	return info.ModTime()
}
