package file

import (
	"time"

	"golang.org/x/sys/unix"
)

// isRemote reports whether a folder is on a file system that other machines can change without an
// inotify notification. See statfs(2) for the numbers.
func isRemote(path string) bool {
	var fs unix.Statfs_t
	if unix.Statfs(path, &fs) != nil {
		return false
	}
	switch uint32(fs.Type) {
	case unix.NFS_SUPER_MAGIC, unix.SMB_SUPER_MAGIC, unix.CIFS_SUPER_MAGIC, unix.SMB2_SUPER_MAGIC, unix.FUSE_SUPER_MAGIC,
		unix.V9FS_MAGIC, unix.AFS_SUPER_MAGIC, unix.CEPH_SUPER_MAGIC, unix.CODA_SUPER_MAGIC:
		return true
	}
	return false
}

// clockLag returns the maximum delay of file times relative to the clock. Linux takes file times
// from a clock that advances only with the timer interrupt, every 1 to 10 ms (clock_getres(2),
// CLOCK_REALTIME_COARSE).
func clockLag() time.Duration {
	var fine, coarse unix.Timespec
	if unix.ClockGettime(unix.CLOCK_REALTIME, &fine) != nil || unix.ClockGettime(unix.CLOCK_REALTIME_COARSE, &coarse) != nil {
		return 0
	}
	return max(time.Duration(fine.Nano()-coarse.Nano()), 0)
}
