//go:build unix

package fleet

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"runtime"
	"strings"
	"syscall"
	"time"
)

// shiftedClock replaces clock_gettime of the vDSO (https://man7.org/linux/man-pages/man7/vdso.7.html) in
// one process. It asks the kernel, and adds the 8 bytes after the code to the seconds of the clock that can be set:
//
//	mov $228, %eax; syscall; test %edi, %edi; jne 1f; mov 4(%rip), %rcx; add %rcx, (%rsi); 1: ret
var shiftedClock = []byte{
	0xb8, 0xe4, 0, 0, 0, 0x0f, 0x05, 0x85, 0xff, 0x75, 0x0a,
	0x48, 0x8b, 0x0d, 0x04, 0, 0, 0, 0x48, 0x01, 0x0e, 0xc3,
}

// canShiftClock reports whether shiftClock works on this kind of machine.
const canShiftClock = runtime.GOOS == "linux" && runtime.GOARCH == "amd64"

// shiftClock makes the clock of a running process differ from that of the machine, as if somebody had set
// it. Its monotonic clock stays. A program without libc, such as Hob, has no library that could be replaced.
func shiftClock(pid int, by time.Duration) (err error) {
	maps, err := os.ReadFile(fmt.Sprintf("/proc/%d/maps", pid))
	if err != nil {
		return err
	}
	var start, end int64
	for line := range strings.Lines(string(maps)) {
		if strings.HasSuffix(strings.TrimSpace(line), "[vdso]") {
			if _, err := fmt.Sscanf(line, "%x-%x", &start, &end); err != nil {
				return err
			}
		}
	}
	if start == 0 {
		return errors.New("the process has no vDSO")
	}
	mem, err := os.OpenFile(fmt.Sprintf("/proc/%d/mem", pid), os.O_RDWR, 0)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, mem.Close()) }()
	image := make([]byte, end-start)
	if _, err := mem.ReadAt(image, start); err != nil {
		return err
	}
	at, err := findClock(image)
	if err != nil {
		return err
	}
	code := binary.LittleEndian.AppendUint64(bytes.Clone(shiftedClock), uint64(int64(by.Seconds())))
	if err := syscall.Kill(pid, syscall.SIGSTOP); err != nil {
		return err
	}
	_, err = mem.WriteAt(code, start+at)
	return errors.Join(err, syscall.Kill(pid, syscall.SIGCONT))
}

// findClock returns the offset of clock_gettime in a vDSO.
func findClock(image []byte) (int64, error) {
	f, err := elf.NewFile(bytes.NewReader(image))
	if err != nil {
		return 0, err
	}
	symbols, err := f.DynamicSymbols()
	if err != nil {
		return 0, err
	}
	for _, s := range symbols {
		if s.Name == "__vdso_clock_gettime" && s.Size >= uint64(len(shiftedClock)+8) {
			return int64(s.Value), nil
		}
	}
	return 0, errors.New("the vDSO has no clock_gettime")
}
