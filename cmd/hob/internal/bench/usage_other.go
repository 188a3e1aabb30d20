//go:build !linux

package bench

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"runtime"
	"strconv"
	"strings"
	"time"
)

// usageOf uses ps(1), which reports processor time in hundredths of a second.
func usageOf(pid int) (usage, error) {
	if runtime.GOOS == "windows" {
		return usage{}, errors.ErrUnsupported
	}
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	out, err := exec.CommandContext(ctx, "ps", "-o", "rss=,time=", "-p", strconv.Itoa(pid)).Output()
	f := strings.Fields(string(out))
	if err != nil || len(f) != 2 {
		return usage{}, fmt.Errorf("ps: %q: %w", out, err)
	}
	kb, err := strconv.ParseInt(f[0], 10, 64)
	if err != nil {
		return usage{}, fmt.Errorf("ps: %w", err)
	}
	u := usage{rss: kb << 10, switches: -1}
	for part := range strings.SplitSeq(f[1], ":") { // format: [[hours:]minutes:]seconds.hundredths
		v, err := strconv.ParseFloat(part, 64)
		if err != nil {
			return usage{}, fmt.Errorf("ps: %w", err)
		}
		u.cpu = u.cpu*60 + time.Duration(v*float64(time.Second))
	}
	return u, nil
}
