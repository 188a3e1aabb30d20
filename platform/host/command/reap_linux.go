package command

import (
	"os"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// becomeSubreaper makes this process the parent of orphaned descendants, so that none can escape by
// starting a new session.
func becomeSubreaper() { _ = unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) } // not supported by kernels before 3.4

// killDescendants kills every process below this one. It repeats this until none is left, because
// new processes may start in the meantime.
func killDescendants() {
	for range 100 {
		below := listDescendants(os.Getpid())
		if len(below) == 0 {
			return
		}
		for _, pid := range below {
			_ = unix.Kill(pid, unix.SIGKILL) // the process may have ended
		}
		for { // reap the adopted orphans
			pid, err := unix.Wait4(-1, nil, unix.WNOHANG, nil)
			if pid <= 0 || err != nil {
				break
			}
		}
	}
}

// listDescendants lists the living processes below a process.
func listDescendants(root int) []int {
	list, err := os.ReadDir("/proc")
	if err != nil {
		return nil
	}
	parent := map[int]int{}
	for _, e := range list {
		pid, err := strconv.Atoi(e.Name())
		if err != nil {
			continue
		}
		text, err := os.ReadFile("/proc/" + e.Name() + "/stat")
		if err != nil {
			continue
		}
		// "PID (NAME) STATE PPID": the name may contain any characters
		f := strings.Fields(string(text[strings.LastIndexByte(string(text), ')')+1:]))
		if len(f) > 1 && f[0] != "Z" {
			if ppid, err := strconv.Atoi(f[1]); err == nil {
				parent[pid] = ppid
			}
		}
	}
	var out []int
	for pid := range parent {
		for at, steps := pid, 0; steps < 1000; steps++ {
			up, ok := parent[at]
			if !ok {
				break
			}
			if up == root {
				out = append(out, pid)
				break
			}
			at = up
		}
	}
	return out
}
