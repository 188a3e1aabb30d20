package system

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"syscall"

	"golang.org/x/sys/windows"
)

// CanReplaceRunning returns false: Windows can rename the file of a running program, but not replace it.
func CanReplaceRunning() bool { return false }

// Reexec returns an error: Windows cannot replace the program of a process.
func Reexec() error { return errors.ErrUnsupported }

// stillActive is STILL_ACTIVE of GetExitCodeProcess.
const stillActive = 259

// ProcessExists reports whether a process with this id exists.
func ProcessExists(pid int) bool {
	if pid <= 0 {
		return false
	}
	h, err := windows.OpenProcess(windows.PROCESS_QUERY_LIMITED_INFORMATION, false, uint32(pid))
	if err != nil {
		return err == windows.ERROR_ACCESS_DENIED //nolint:errorlint // OpenProcess returns a bare errno
	}
	defer windows.CloseHandle(h) //nolint:errcheck // an error cannot be handled
	var code uint32
	return windows.GetExitCodeProcess(h, &code) == nil && code == stillActive
}

// Terminate kills a process. Windows has no SIGTERM, so the caller should first request the exit
// over the API.
func Terminate(pid int) error {
	p, err := os.FindProcess(pid)
	if err != nil {
		return err
	}
	return p.Kill()
}

// KillCommand returns the shell command that kills a process immediately.
func KillCommand(pid int) string { return fmt.Sprintf("taskkill /f /pid %d", pid) }

// ownSession detaches the child from the console and its signals.
func ownSession(c *exec.Cmd) {
	c.SysProcAttr = &syscall.SysProcAttr{
		HideWindow:    true,
		CreationFlags: windows.CREATE_NEW_PROCESS_GROUP | windows.DETACHED_PROCESS,
	}
}

// hasEnded reports whether a child process has ended. It does not wait.
func hasEnded(p *os.Process) (code int, done bool) {
	if ProcessExists(p.Pid) {
		return 0, false
	}
	st, err := p.Wait()
	if err != nil {
		return 1, true
	}
	return st.ExitCode(), true
}

// othersMayRead returns false. Files in a profile inherit an access control list that excludes
// other users, and mode bits have no meaning on Windows.
func othersMayRead(fs.FileInfo) bool { return false }

// IsOwnedByUser returns true, because the access control list of the profile determines who may
// change its files.
func IsOwnedByUser(fs.FileInfo) bool { return true }

func diskFull(err error) bool {
	return errors.Is(err, windows.ERROR_DISK_FULL) || errors.Is(err, windows.ERROR_HANDLE_DISK_FULL)
}

// DiskFree returns the free bytes on the path's disk that the user may use.
func DiskFree(path string) (uint64, error) {
	p, err := windows.UTF16PtrFromString(path)
	if err != nil {
		return 0, err
	}
	var free uint64
	if err := windows.GetDiskFreeSpaceEx(p, &free, nil, nil); err != nil {
		return 0, err
	}
	return free, nil
}

// lockOffset is far beyond the end of the content, because LockFileEx prevents reading of the
// locked range.
const lockOffset = 1 << 30

// tryLock takes the lock of LockFileEx without waiting.
func tryLock(f *os.File, exclusive bool) (bool, error) {
	var flags uint32 = windows.LOCKFILE_FAIL_IMMEDIATELY
	if exclusive {
		flags |= windows.LOCKFILE_EXCLUSIVE_LOCK
	}
	err := windows.LockFileEx(windows.Handle(f.Fd()), flags, 0, 1, 0, &windows.Overlapped{Offset: lockOffset})
	if err == nil {
		return true, nil
	}
	if errors.Is(err, windows.ERROR_LOCK_VIOLATION) || errors.Is(err, windows.ERROR_IO_PENDING) {
		return false, nil
	}
	return false, err
}

func unlockFile(f *os.File) error {
	return windows.UnlockFileEx(windows.Handle(f.Fd()), 0, 1, 0, &windows.Overlapped{Offset: lockOffset})
}

func keepOrphans(ctx context.Context) error {
	name, err := jobName(os.Getpid())
	if err != nil {
		return err
	}
	h, err := windows.CreateJobObject(nil, name)
	if err != nil {
		return fmt.Errorf("adopt orphaned processes: %w", err)
	}
	if err := windows.AssignProcessToJobObject(h, windows.CurrentProcess()); err != nil {
		return fmt.Errorf("adopt orphaned processes: %w", err)
	}
	<-ctx.Done() // keep the handle open until the process ends, because processes cannot leave a job
	return nil
}

func endReporters(int) {}
