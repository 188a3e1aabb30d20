package command

import (
	"os"
	"strconv"
	"strings"
	"syscall"
	"time"
)

const limitProcs = 6 // RLIMIT_NPROC, which package syscall does not name

func setLimit(l *syscall.Rlimit, v uint64) { l.Cur, l.Max = v, v }

// boundsOf returns the limits of a command with the given time limit. The process limit
// counts all processes of the user, so it is relative to the machine's current number.
func boundsOf(limit time.Duration) resourceLimits {
	b := resourceLimits{CPU: uint64(4*limit/time.Second) + 4, File: 1 << 30, Data: 4 << 30}
	text, err := os.ReadFile("/proc/loadavg")
	if err != nil {
		return b
	}
	if f := strings.Fields(string(text)); len(f) > 3 {
		_, all, _ := strings.Cut(f[3], "/")
		if n, err := strconv.ParseUint(all, 10, 64); err == nil {
			b.Procs = n + 512
		}
	}
	return b
}
