package system

import (
	"os"
	"strconv"
	"strings"
	"testing"
)

// fileMemory returns how much memory of this process is mapped from files, in KB.
func fileMemory(t *testing.T) int {
	t.Helper()
	b, err := os.ReadFile("/proc/self/status")
	if err != nil {
		t.Skip(err)
	}
	_, rest, ok := strings.Cut(string(b), "RssFile:")
	kb, err := strconv.Atoi(strings.TrimSpace(strings.TrimSuffix(strings.TrimSpace(strings.SplitN(rest, "\n", 2)[0]), "kB")))
	if !ok || err != nil {
		t.Skipf("this system does not report file-backed memory: %v", err)
	}
	return kb
}

// TestReleasePages checks that the mapped pages of the program are released and that the program keeps
// running.
func TestReleasePages(t *testing.T) {
	before := fileMemory(t)
	ReleaseProgramPages()
	after := fileMemory(t)
	if after >= before {
		t.Errorf("%d KB of mapped files before, %d KB after", before, after)
	}
	t.Logf("%d KB of mapped files before, %d KB after", before, after)
	if _, err := ResolvePaths("linux", "/home/x", func(string) string { return "" }); err != nil {
		t.Error(err)
	}
}

func TestMappingOf(t *testing.T) {
	for name, tc := range map[string]struct {
		line string
		want mapping
	}{
		"code":               {"00400000-01c82000 r-xp 00000000 fe:00 9987820                            /usr/bin/hob", mapping{from: 0x400000, to: 0x1c82000, mode: "r-xp", file: "/usr/bin/hob"}},
		"a name with spaces": {"00400000-00401000 r--p 00000000 fe:00 1 /opt/my hob", mapping{from: 0x400000, to: 0x401000, mode: "r--p", file: "/opt/my hob"}},
		"no file":            {"349e68c00000-349e69400000 rw-p 00000000 00:00 0", mapping{}},
		"not an address":     {"x-y r--p 00000000 fe:00 1 /usr/bin/hob", mapping{}},
		"a deleted file":     {"00400000-00401000 r--p 00000000 fe:00 1 /usr/bin/hob (deleted)", mapping{from: 0x400000, to: 0x401000, mode: "r--p", file: "/usr/bin/hob (deleted)"}},
	} {
		t.Run(name, func(t *testing.T) {
			if got := mappingOf(tc.line); got != tc.want {
				t.Errorf("%+v, want %+v", got, tc.want)
			}
		})
	}
}
