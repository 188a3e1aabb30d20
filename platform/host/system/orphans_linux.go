package system

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// mourning is the time in which other code can wait for a child that has exited. After that, Hob
// assumes that it adopted the child, for which no code waits, and reaps it.
const mourning = time.Minute

func keepOrphans(ctx context.Context) error {
	if err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); err != nil {
		return fmt.Errorf("adopt orphaned processes: %w", err)
	}
	ended := make(chan os.Signal, 1)
	signal.Notify(ended, syscall.SIGCHLD)
	defer signal.Stop(ended)
	var later <-chan time.Time // nil until a child ends, so no timer runs before that
	dead := map[int]bool{}
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-ended:
			if later == nil {
				dead, later = zombieChildren(), time.After(mourning)
			}
		case <-later:
			now := zombieChildren()
			for pid := range now {
				if dead[pid] {
					reapZombie(pid)
					delete(now, pid)
				}
			}
			dead, later = now, nil
			if len(now) > 0 {
				later = time.After(mourning)
			}
		}
	}
}

func reapZombie(pid int) {
	var ws syscall.WaitStatus
	_, _ = syscall.Wait4(pid, &ws, syscall.WNOHANG, nil) // the process has ended, or is not a child of this process
}

func endReporters(of int) {
	home := executableDir(of)
	children, err := childrenOf(os.Getpid())
	if err != nil || home == "" {
		return
	}
	for _, pid := range children {
		p, err := os.FindProcess(pid) // through a pidfd, so that the pid cannot be reused
		if err != nil {
			continue
		}
		path, err := os.Readlink(fmt.Sprintf("/proc/%d/exe", pid))
		if err == nil && filepath.Dir(path) == home && strings.HasSuffix(path, "_crashpad_handler") {
			_ = p.Kill() // the process may already have ended
		}
		_ = p.Release() // releases only the handle
	}
}

// zombieChildren returns the children that have ended but have not been waited for.
func zombieChildren() map[int]bool {
	out := map[int]bool{}
	children, err := childrenOf(os.Getpid())
	if err != nil {
		return out
	}
	for _, pid := range children {
		if processState(pid) == 'Z' {
			out[pid] = true
		}
	}
	return out
}
