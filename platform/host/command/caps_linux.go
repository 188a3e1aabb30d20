package command

import (
	"fmt"
	"runtime"
	"unsafe"

	"golang.org/x/sys/unix"
	"kernel.org/pub/linux/libs/security/libcap/psx"
)

// dropCapabilities drops root's capabilities except those for files: with CAP_PERFMON or
// CAP_SYS_ADMIN, kernels from 6.15 let a process read the memory and environment of others
// despite Landlock (may_access_mm in fs/proc/base.c); with CAP_SYS_RESOURCE it can raise
// its limits. Landlock has already set no_new_privs, so that no program regains them. A
// process that is not root has nothing to drop.
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
