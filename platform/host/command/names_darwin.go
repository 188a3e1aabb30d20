package command

import "syscall"

func changeTime(st *syscall.Stat_t) int64 { return st.Ctimespec.Nano() }

const searchOnly = 0 // O_RDONLY: there is no portable way to open a folder without the right to list it
