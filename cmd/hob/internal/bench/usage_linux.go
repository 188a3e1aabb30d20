package bench

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// usageOf reads proc(5). It sums processor time from schedstat, which has nanosecond resolution;
// stat has a resolution of only 1/100 s.
func usageOf(pid int) (usage, error) {
	var u usage
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return u, err
	}
	u.rss = parseKBField(string(b), "VmRSS:") << 10
	u.anon = parseKBField(string(b), "RssAnon:") << 10
	tasks, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*", pid))
	if err != nil {
		return u, err
	}
	for _, t := range tasks {
		b, err := os.ReadFile(filepath.Join(t, "status"))
		if err != nil {
			continue // the thread has just ended
		}
		u.switches += parseKBField(string(b), "voluntary_ctxt_switches:")
		if b, err = os.ReadFile(filepath.Join(t, "schedstat")); err == nil {
			ran, _, _ := strings.Cut(string(b), " ")
			n, _ := strconv.ParseInt(ran, 10, 64)
			u.cpu += time.Duration(n)
		}
	}
	return u, nil
}

// parseKBField returns the number in a line such as "name: 123 kB".
func parseKBField(text, name string) int64 {
	for line := range strings.Lines(text) {
		if v, ok := strings.CutPrefix(line, name); ok {
			n, _ := strconv.ParseInt(strings.Fields(v)[0], 10, 64)
			return n
		}
	}
	return 0
}
