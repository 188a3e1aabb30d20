//go:build unix

package system

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"syscall"

	"golang.org/x/sys/unix"

	"hob/platform/failpoint"
)

// ProcessExists reports whether a process with this id exists. A zombie process also exists.
func ProcessExists(pid int) bool {
	if pid <= 0 {
		return false
	}
	err := syscall.Kill(pid, 0)
	return err == nil || errors.Is(err, syscall.EPERM)
}

// Terminate asks a process to exit (SIGTERM). It refuses ids below 1, because kill(2) interprets
// them as process groups; 0 is the caller's group.
func Terminate(pid int) error {
	if pid <= 0 {
		return fmt.Errorf("end process %d: no process has this id", pid)
	}
	return syscall.Kill(pid, syscall.SIGTERM)
}

// CanReplaceRunning reports whether the file of a running program and the program of a process can
// be replaced. The crash test sets the failpoint to run the code for Windows.
func CanReplaceRunning() bool { return failpoint.Fail("windows") == nil }

// Reexec replaces this process with a new run of its program with the same arguments. It returns
// only on an error.
func Reexec() error {
	exe, err := os.Executable()
	if err == nil {
		err = syscall.Exec(exe, os.Args, os.Environ()) //nolint:gosec // starts the same program
	}
	return fmt.Errorf("start the program again: %w; start it with: hob start", err)
}

// KillCommand returns the shell command that kills a process immediately.
func KillCommand(pid int) string { return fmt.Sprintf("kill -9 %d", pid) }

// ownSession detaches the child from the terminal and its signals.
func ownSession(c *exec.Cmd) { c.SysProcAttr = &syscall.SysProcAttr{Setsid: true} }

// hasEnded reports whether a child process has ended. It does not wait.
func hasEnded(p *os.Process) (code int, done bool) {
	var ws syscall.WaitStatus
	pid, err := syscall.Wait4(p.Pid, &ws, syscall.WNOHANG, nil)
	if err != nil || pid != p.Pid {
		return 0, errors.Is(err, syscall.ECHILD)
	}
	if ws.Signaled() {
		return 128 + int(ws.Signal()), true
	}
	return ws.ExitStatus(), true
}

func othersMayRead(fi fs.FileInfo) bool { return fi.Mode().Perm()&0o077 != 0 }

// IsOwnedByUser reports whether a file belongs to the user of this process.
func IsOwnedByUser(fi fs.FileInfo) bool {
	st, is := fi.Sys().(*syscall.Stat_t)
	return !is || int(st.Uid) == os.Geteuid()
}

func diskFull(err error) bool {
	return errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT)
}

// DiskFree returns the free bytes on the path's disk that the user may use.
func DiskFree(path string) (uint64, error) {
	var st unix.Statfs_t
	if err := unix.Statfs(path, &st); err != nil {
		return 0, err
	}
	return uint64(st.Bavail) * uint64(st.Bsize), nil
}

// tryLock takes the advisory lock of flock(2) without waiting.
func tryLock(f *os.File, exclusive bool) (bool, error) {
	how := syscall.LOCK_SH | syscall.LOCK_NB
	if exclusive {
		how = syscall.LOCK_EX | syscall.LOCK_NB
	}
	for {
		err := syscall.Flock(int(f.Fd()), how)
		switch {
		case err == nil:
			return true, nil
		case errors.Is(err, syscall.EINTR):
			continue
		case errors.Is(err, syscall.EWOULDBLOCK):
			return false, nil
		}
		return false, err
	}
}

func unlockFile(f *os.File) error { return syscall.Flock(int(f.Fd()), syscall.LOCK_UN) }
