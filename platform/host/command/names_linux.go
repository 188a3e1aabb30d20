package command

import (
	"syscall"

	"golang.org/x/sys/unix"
)

func changeTime(st *syscall.Stat_t) int64 { return st.Ctim.Nano() }

// searchOnly opens a folder for path lookups, without the right to list it.
const searchOnly = unix.O_PATH
