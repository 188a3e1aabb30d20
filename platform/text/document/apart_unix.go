//go:build linux || darwin

package document

import (
	"fmt"
	"syscall"
)

// limitResources limits the memory of this process and disables core dumps.
func limitResources(memory uint64) error {
	for _, l := range []struct {
		what  int
		value uint64
	}{{syscall.RLIMIT_DATA, memory}, {syscall.RLIMIT_CORE, 0}} {
		var have syscall.Rlimit
		if err := syscall.Getrlimit(l.what, &have); err != nil {
			return fmt.Errorf("limit worker memory: %w", err)
		}
		have.Cur = min(l.value, have.Max)
		have.Max = have.Cur
		if err := syscall.Setrlimit(l.what, &have); err != nil {
			return fmt.Errorf("limit worker memory: %w", err)
		}
	}
	return nil
}
