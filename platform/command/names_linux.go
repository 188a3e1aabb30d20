package command

import (
	"syscall"

	"golang.org/x/sys/unix"
)

func ctime(st *syscall.Stat_t) int64 { return st.Ctim.Nano() }

// searchOnly opens a folder in order to go through it: the right to list it is not
// needed.
const searchOnly = unix.O_PATH
