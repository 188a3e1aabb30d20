package command

import (
	"syscall"
	"time"
)

const limitProcs = -1

func setLimit(l *syscall.Rlimit, v uint64) { l.Cur, l.Max = v, v }

func boundsOf(limit time.Duration) resourceLimits {
	return resourceLimits{CPU: uint64(4*limit/time.Second) + 4, File: 1 << 30}
}
