package command

import (
	"fmt"
	"os"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
	"kernel.org/pub/linux/libs/security/libcap/psx"
)

func changeTime(st *syscall.Stat_t) int64 { return st.Ctim.Nano() }

// searchOnly opens a folder for path lookups, without permission to list it.
const searchOnly = unix.O_PATH

const limitProcs = 6 // RLIMIT_NPROC, which package syscall does not name

func setLimit(l *syscall.Rlimit, v uint64) { l.Cur, l.Max = v, v }

// boundsOf returns the resource limits of a command with the given time limit. The process limit
// applies to all processes of the user, so it is added to their current number.
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

// dropCapabilities drops root's capabilities except those for files. With CAP_PERFMON or
// CAP_SYS_ADMIN, kernels from 6.15 let a process read the memory and environment of others despite
// Landlock (may_access_mm in fs/proc/base.c). With CAP_SYS_RESOURCE a process can raise its limits.
// Landlock has already set no_new_privs, so no program can regain the capabilities. A process that
// is not root has nothing to drop.
func dropCapabilities() error {
	header := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var data [2]unix.CapUserData
	if err := unix.Capget(&header, &data[0]); err != nil {
		return fmt.Errorf("read capabilities: %w", err)
	}
	var kept [2]uint32
	for _, c := range []int{
		unix.CAP_CHOWN, unix.CAP_DAC_OVERRIDE, unix.CAP_FOWNER, unix.CAP_FSETID, unix.CAP_KILL, unix.CAP_SETGID, unix.CAP_SETUID, unix.CAP_NET_BIND_SERVICE, unix.CAP_SYS_NICE,
	} {
		kept[c/32] |= 1 << (c % 32)
	}
	for i := range data {
		data[i].Effective &= kept[i]
		data[i].Permitted &= kept[i]
		data[i].Inheritable = 0
	}
	// capabilities are per thread, and any thread may start a program
	_, _, err := psx.Syscall3(unix.SYS_CAPSET, uintptr(unsafe.Pointer(&header)), uintptr(unsafe.Pointer(&data[0])), 0)
	runtime.KeepAlive(&header)
	runtime.KeepAlive(&data)
	if err != 0 {
		return fmt.Errorf("drop capabilities: %w", err)
	}
	return nil
}
