package window

import (
	"context"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"unsafe"

	"golang.org/x/sys/windows"
)

// maxWindows limits how many windows are read.
const maxWindows = 300

// handles collects the windows of one enumeration at a time. Its callback is created only once,
// because callbacks are never freed and Go panics if a process creates more than 2,000.
type handles struct {
	turn sync.Mutex
	each uintptr
	seen []windows.HWND
}

var sharedHandles = sync.OnceValue(func() *handles { //nolint:gochecknoglobals // one for the life of the process, see handles
	l := &handles{}
	l.each = syscall.NewCallback(func(h windows.HWND, _ uintptr) uintptr {
		l.seen = append(l.seen, h)
		return 1
	})
	return l
})

func (l *handles) listHandles() ([]windows.HWND, error) {
	l.turn.Lock()
	defer l.turn.Unlock()
	l.seen = nil
	err := windows.EnumWindows(l.each, nil)
	return l.seen, err
}

func (w *Windows) listWindows(context.Context) ([]Window, error) {
	all, err := sharedHandles().listHandles()
	if err != nil {
		return nil, err
	}
	user := windows.NewLazySystemDLL("user32.dll")
	visible, rect, text := user.NewProc("IsWindowVisible"), user.NewProc("GetWindowRect"), user.NewProc("GetWindowTextW")
	front := windows.GetForegroundWindow()
	var out []Window
	for _, h := range all {
		if r, _, _ := visible.Call(uintptr(h)); r == 0 || len(out) >= maxWindows {
			continue
		}
		v := Window{ID: uint64(h), Active: h == front}
		var box windows.Rect
		_, _, _ = rect.Call(uintptr(h), uintptr(unsafe.Pointer(&box))) //nolint:gosec // required by the calling convention of Windows
		v.X, v.Y, v.W, v.H = int(box.Left), int(box.Top), int(box.Right-box.Left), int(box.Bottom-box.Top)
		name := make([]uint16, 512)
		_, _, _ = text.Call(uintptr(h), uintptr(unsafe.Pointer(&name[0])), uintptr(len(name))) //nolint:gosec // required by the calling convention of Windows
		v.Title = windows.UTF16ToString(name)
		var pid uint32
		if _, err := windows.GetWindowThreadProcessId(h, &pid); err == nil {
			v.PID, v.Program = int(pid), Program(int(pid))
			v.App = strings.TrimSuffix(strings.ToLower(filepath.Base(v.Program)), ".exe")
		}
		out = append(out, v)
	}
	return out, nil
}

// Program returns the path of a process's program, "" if unknown.
func Program(pid int) string {
	p, err := windows.OpenProcess(windows.PROCESS_QUERY_LIMITED_INFORMATION, false, uint32(pid)) //nolint:gosec // a process id is not negative
	if err != nil {
		return ""
	}
	defer windows.CloseHandle(p) //nolint:errcheck // the process was only queried
	name := make([]uint16, windows.MAX_LONG_PATH)
	n := uint32(len(name))
	if windows.QueryFullProcessImageName(p, 0, &name[0], &n) != nil {
		return ""
	}
	return windows.UTF16ToString(name[:n])
}
