//go:build linux || darwin

package command

import (
	"fmt"
	"syscall"
)

// applyLimits sets the resource limits of this process, which its children inherit.
func applyLimits(b resourceLimits) error {
	for _, l := range []struct {
		what  int
		value uint64
		name  string
	}{
		{syscall.RLIMIT_CPU, b.CPU, "time"},
		{syscall.RLIMIT_FSIZE, b.File, "size of files"},
		{syscall.RLIMIT_DATA, b.Data, "memory"},
		{limitProcs, b.Procs, "processes"},
		{syscall.RLIMIT_CORE, 0, "core"},
	} {
		if l.what < 0 || l.value == 0 && l.what != syscall.RLIMIT_CORE {
			continue
		}
		var have syscall.Rlimit
		if err := syscall.Getrlimit(l.what, &have); err != nil {
			return fmt.Errorf("set the limit of %s: %w", l.name, err)
		}
		want := min(l.value, uint64(have.Max)) //nolint:unconvert // the type of Max differs by system
		set := have
		setLimit(&set, want)
		if err := syscall.Setrlimit(l.what, &set); err != nil {
			return fmt.Errorf("set the limit of %s: %w", l.name, err)
		}
	}
	return nil
}
