package files

import (
	"io/fs"
	"syscall"
	"time"
)

// changed is when a file was changed; a program can set its other time.
func changed(info fs.FileInfo) time.Time {
	if st, ok := info.Sys().(*syscall.Stat_t); ok {
		return time.Unix(st.Ctim.Unix())
	}
	return info.ModTime()
}
