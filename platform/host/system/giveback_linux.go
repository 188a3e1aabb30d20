package system

import (
	"bufio"
	"os"
	"strconv"
	"strings"
	"syscall"
)

// ReleaseProgramPages releases the mapped pages of the program's own file that were never written
// to, because most of them are used only at startup and during turns. They remain in the page
// cache, so using them again is cheap.
func ReleaseProgramPages() {
	exe, err := os.Readlink("/proc/self/exe")
	if err != nil {
		return // without /proc, do nothing, because releasing pages is optional
	}
	f, err := os.Open("/proc/self/smaps")
	if err != nil {
		return
	}
	defer f.Close()
	var m mapping
	for lines := bufio.NewScanner(f); lines.Scan(); {
		name, value, _ := strings.Cut(lines.Text(), ":")
		switch size := strings.TrimSpace(value); {
		case strings.HasSuffix(name, "Flags"): // the last line of each mapping
			m.adviseDontNeed(exe)
		case name == "Anonymous" || name == "Swap":
			m.written = m.written || size != "0 kB"
		case strings.Contains(name, "-"):
			m = mappingOf(lines.Text())
		}
	}
}

// mapping is a memory range that is mapped from a file.
type mapping struct {
	from, to   uint64
	mode, file string
	written    bool
}

func mappingOf(line string) mapping {
	parts := strings.Fields(line)
	if len(parts) < 6 {
		return mapping{}
	}
	from, to, _ := strings.Cut(parts[0], "-")
	a, err := strconv.ParseUint(from, 16, 64)
	b, err2 := strconv.ParseUint(to, 16, 64)
	if err != nil || err2 != nil {
		return mapping{}
	}
	return mapping{from: a, to: b, mode: parts[1], file: strings.Join(parts[5:], " ")}
}

// adviseDontNeed releases pages, except those that a loader or debugger has written to, because no
// file contains their content.
func (m mapping) adviseDontNeed(exe string) {
	if m.file != exe || m.written || m.mode != "r-xp" && m.mode != "r--p" {
		return
	}
	_, _, _ = syscall.Syscall(syscall.SYS_MADVISE, uintptr(m.from), uintptr(m.to-m.from), syscall.MADV_DONTNEED) // if this fails, the pages remain mapped
}
