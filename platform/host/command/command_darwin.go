package command

import (
	"syscall"
	"time"
)

func changeTime(st *syscall.Stat_t) int64 { return st.Ctimespec.Nano() }

const searchOnly = 0 // O_RDONLY, because there is no portable way to open a folder without permission to list it

const limitProcs = -1

func setLimit(l *syscall.Rlimit, v uint64) { l.Cur, l.Max = v, v }

func boundsOf(limit time.Duration) resourceLimits {
	return resourceLimits{CPU: uint64(4*limit/time.Second) + 4, File: 1 << 30}
}
