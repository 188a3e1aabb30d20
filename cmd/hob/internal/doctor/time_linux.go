package doctor

import "golang.org/x/sys/unix"

// kernelSynced returns whether the kernel regards its clock as synchronized by a time service
// (adjtimex(2)).
func kernelSynced() (synced bool, by string, err error) {
	var t unix.Timex // modes 0: read only
	state, err := unix.Adjtimex(&t)
	const timeError, staUnsync = 5, 0x40
	return state != timeError && t.Status&staUnsync == 0, "the kernel", err
}
