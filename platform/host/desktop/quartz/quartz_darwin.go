package quartz

import (
	"errors"
	"slices"
)

// Window is a window on the screen.
type Window struct {
	ID         uint32
	PID        int
	Owner      string // the name of its program, in the user's language
	Title      string
	Layer      int // 0 for windows; notifications, menus and the Dock have higher values
	X, Y, W, H int // in points, from the top left of the main screen
	Focused    bool
}

const (
	onScreen   = 1 << 0 // kCGWindowListOptionOnScreenOnly
	noDesktop  = 1 << 4 // kCGWindowListExcludeDesktopElements
	maxWindows = 300
	// axWait is the timeout for a program, in seconds.
	axWait = 0.3
)

// ErrSession means that this process has no screen, as over ssh.
var ErrSession = errors.New("this process has no access to the macOS screen")

// Windows lists the windows from the front to the back. Titles and the focused window are known
// only if Trusted returns true.
func Windows() ([]Window, error) {
	l, err := loadFrameworks()
	if err != nil {
		return nil, err
	}
	list := l.windows(onScreen|noDesktop, 0)
	if list == 0 {
		return nil, ErrSession
	}
	defer l.release(list)
	var out []Window
	for i := range min(l.arrayCount(list), maxWindows) {
		d := l.arrayAt(list, i)
		w := Window{
			ID: uint32(l.numberValue(l.dictValue(d, "kCGWindowNumber"))), PID: int(l.numberValue(l.dictValue(d, "kCGWindowOwnerPID"))), //nolint:gosec // a CGWindowID
			Owner: l.stringValue(l.dictValue(d, "kCGWindowOwnerName")), Layer: int(l.numberValue(l.dictValue(d, "kCGWindowLayer"))),
		}
		var r rect
		if b := l.dictValue(d, "kCGWindowBounds"); b != 0 && l.rect(b, &r) {
			w.X, w.Y, w.W, w.H = int(r.X), int(r.Y), int(r.W), int(r.H)
		}
		out = append(out, w)
	}
	if l.trusted() {
		l.describeWindows(out)
	}
	return out, nil
}

// describeWindows adds the titles and the focus, which only Accessibility provides.
func (l *frameworkLib) describeWindows(list []Window) {
	all := l.systemWide()
	if all == 0 {
		return
	}
	defer l.release(all)
	l.wait(all, axWait)
	pid, id := l.focusedWindow(all)
	seen := []int{}
	for i := range list {
		w := &list[i]
		if w.Layer == 0 && !slices.Contains(seen, w.PID) {
			seen = append(seen, w.PID)
			l.readTitles(w.PID, list)
		}
	}
	for i := range list { // if the focused window's id is unknown, use the program's first window
		if w := &list[i]; w.PID == pid && w.Layer == 0 && (id == 0 || w.ID == id) {
			w.Focused = true
			return
		}
	}
}

// focusedWindow returns the process with the keyboard focus and the id of its focused window; an id
// of 0 means unknown.
func (l *frameworkLib) focusedWindow(all uintptr) (pid int, id uint32) {
	app := l.copyAttribute(all, "AXFocusedApplication")
	if app == 0 {
		return 0, 0
	}
	defer l.release(app)
	var n int32
	if l.pidOf(app, &n) != 0 {
		return 0, 0
	}
	w := l.copyAttribute(app, "AXFocusedWindow")
	if w == 0 {
		return 0, 0
	}
	defer l.release(w)
	return int(n), l.idOf(w)
}

func (l *frameworkLib) idOf(element uintptr) (id uint32) {
	if l.windowOf == nil || l.windowOf(element, &id) != 0 {
		return 0
	}
	return id
}

// eachWindow calls does for the windows of a program until does returns true.
func (l *frameworkLib) eachWindow(pid int, does func(app, w uintptr) (enough bool)) {
	app := l.ofApp(int32(pid)) //nolint:gosec // a pid_t
	if app == 0 {
		return
	}
	defer l.release(app)
	l.wait(app, axWait)
	list := l.copyAttribute(app, "AXWindows")
	if list == 0 {
		return
	}
	defer l.release(list)
	if l.typeOf(list) != l.arrayType() {
		return
	}
	for i := range min(l.arrayCount(list), maxWindows) {
		if does(app, l.arrayAt(list, i)) {
			return
		}
	}
}

func (l *frameworkLib) readTitles(pid int, list []Window) {
	l.eachWindow(pid, func(_, w uintptr) bool {
		id := l.idOf(w)
		i := slices.IndexFunc(list, func(v Window) bool { return id != 0 && v.ID == id })
		if i < 0 {
			return false
		}
		if t := l.copyAttribute(w, "AXTitle"); t != 0 {
			list[i].Title = l.stringValue(t)
			l.release(t)
		}
		return false
	})
}

// Raise requests that a window and its program come to the front.
func Raise(pid int, id uint32) error {
	l, err := loadFrameworks()
	if err != nil {
		return err
	}
	found := false
	l.eachWindow(pid, func(app, w uintptr) bool {
		if l.idOf(w) != id {
			return false
		}
		found = true
		l.withString("AXFrontmost", func(name uintptr) { l.setAttribute(app, name, booleanTrue()) })
		l.withString("AXMain", func(name uintptr) { l.setAttribute(w, name, booleanTrue()) })
		l.withString("AXRaise", func(name uintptr) { l.perform(w, name) })
		return true
	})
	if !found {
		return errors.New("the program does not list this window; it may be closed")
	}
	return nil
}

// Trusted reports whether this process has Accessibility permission.
func Trusted() bool {
	l, err := loadFrameworks()
	return err == nil && l.trusted()
}

// MayCapture reports whether this process may take screenshots of other programs. Without
// permission, screenshots show only the wallpaper.
func MayCapture() bool {
	l, err := loadFrameworks()
	return err == nil && (l.mayCapture == nil || l.mayCapture())
}

// KeyboardHolder returns what receives the keyboard input if it is not the active window: the
// screen lock, or a password field, which blocks typing by other programs. It returns "" if the
// active window receives the input.
func KeyboardHolder() string {
	l, err := loadFrameworks()
	if err != nil {
		return "an unknown program"
	}
	if l.secureInput() {
		return "a password field (or a terminal with Secure Keyboard Entry)"
	}
	s := l.session()
	if s == 0 {
		return "an unknown program"
	}
	defer l.release(s)
	if v := l.dictValue(s, "CGSSessionScreenIsLocked"); v != 0 && l.boolGet(v) {
		return "the screen lock"
	}
	return ""
}

// Program returns the path of a process's program, "" if unknown.
func Program(pid int) string {
	l, err := loadFrameworks()
	if err != nil {
		return ""
	}
	b := make([]byte, 4096)                           // PROC_PIDPATHINFO_MAXSIZE
	n := l.pidPath(int32(pid), &b[0], uint32(len(b))) //nolint:gosec // a pid_t
	if n <= 0 || int(n) > len(b) {
		return ""
	}
	return string(b[:n])
}
