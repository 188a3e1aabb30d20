package xwin

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/jezek/xgb/xproto"

	"hob/platform/retry"
)

// Window is a visible window.
type Window struct {
	ID         uint32 // id of the client's own window
	Title      string
	Class      string // instance and class from WM_CLASS, in lower case
	Program    string
	PID        int
	X, Y, W, H int
	Active     bool
	// Notice is true for a notification, a tooltip, the desktop, or a window without a title that
	// the window manager does not manage.
	Notice bool

	frame xproto.Window
}

// maxWindows limits the length of a list.
const maxWindows = 300

// Windows lists the visible windows, from the front to the back.
func (c *Conn) Windows() ([]Window, error) {
	t, err := xproto.QueryTree(c.X, c.Root).Reply()
	if err != nil {
		return nil, err
	}
	active := c.focusedWindow()
	var out []Window
	for _, f := range slices.Backward(t.Children) {
		a, err := xproto.GetWindowAttributes(c.X, f).Reply()
		if err != nil || a.MapState != xproto.MapStateViewable || a.Class == xproto.WindowClassInputOnly {
			continue // closed or invisible
		}
		g, err := xproto.GetGeometry(c.X, xproto.Drawable(f)).Reply()
		if err != nil || len(out) == maxWindows {
			continue
		}
		own := c.clientWindow(f, 3)
		w := Window{ID: uint32(own), frame: f, X: int(g.X), Y: int(g.Y), W: int(g.Width), H: int(g.Height)}
		c.describeWindow(&w, own)
		w.Notice = w.Notice || a.OverrideRedirect && own == f && w.Title == ""
		w.Active = active != 0 && (active == f || active == own || c.isWithin(active, f))
		out = append(out, w)
	}
	return out, nil
}

func (c *Conn) describeWindow(w *Window, own xproto.Window) {
	w.Title = string(c.windowProperty(own, "_NET_WM_NAME"))
	if w.Title == "" {
		w.Title = string(c.windowProperty(own, "WM_NAME"))
	}
	w.Title = strings.ToValidUTF8(w.Title, "\uFFFD")
	w.Class = strings.ToLower(strings.Trim(strings.ReplaceAll(string(c.windowProperty(own, "WM_CLASS")), "\x00", " "), " "))
	if n := c.numberProperty(own, "_NET_WM_PID"); len(n) > 0 {
		w.PID = int(n[0])
		w.Program = programOf(w.PID)
	}
	for _, a := range c.numberProperty(own, "_NET_WM_WINDOW_TYPE") {
		switch c.atomName(xproto.Atom(a)) {
		case "_NET_WM_WINDOW_TYPE_NOTIFICATION", "_NET_WM_WINDOW_TYPE_TOOLTIP", "_NET_WM_WINDOW_TYPE_DESKTOP":
			w.Notice = true
		}
	}
}

// clientWindow returns the program's window inside the frame that the window manager has added.
func (c *Conn) clientWindow(w xproto.Window, depth int) xproto.Window {
	if len(c.windowProperty(w, "WM_CLASS")) > 0 || depth == 0 {
		return w
	}
	t, err := xproto.QueryTree(c.X, w).Reply()
	if err != nil {
		return w
	}
	for _, k := range t.Children[:min(16, len(t.Children))] {
		if own := c.clientWindow(k, depth-1); len(c.windowProperty(own, "WM_CLASS")) > 0 {
			return own
		}
	}
	return w
}

// focusedWindow returns the window with the keyboard focus, 0 if none.
func (c *Conn) focusedWindow() xproto.Window {
	r, err := xproto.GetInputFocus(c.X).Reply()
	if err != nil || r.Focus <= 1 || r.Focus == c.Root {
		return 0
	}
	return r.Focus
}

// isWithin reports whether a window is inside another one.
func (c *Conn) isWithin(w, outer xproto.Window) bool {
	for range 10 {
		t, err := xproto.QueryTree(c.X, w).Reply()
		if err != nil || t.Parent == 0 || t.Parent == c.Root {
			return false
		}
		if t.Parent == outer {
			return true
		}
		w = t.Parent
	}
	return false
}

// ErrFocus means that the window did not get the keyboard focus in time.
var ErrFocus = errors.New("window did not take the keyboard focus")

// Activate brings a window to the front and waits until it has the keyboard focus.
func (c *Conn) Activate(ctx context.Context, w Window) error {
	if len(c.windowProperty(c.Root, "_NET_SUPPORTING_WM_CHECK")) > 0 {
		a, err := c.Atom("_NET_ACTIVE_WINDOW")
		if err != nil {
			return err
		}
		m := xproto.ClientMessageEvent{Format: 32, Window: xproto.Window(w.ID), Type: a, Data: xproto.ClientMessageDataUnionData32New([]uint32{2, 0, 0, 0, 0})}
		if err := xproto.SendEventChecked(c.X, false, c.Root, xproto.EventMaskSubstructureNotify|xproto.EventMaskSubstructureRedirect, string(m.Bytes())).Check(); err != nil {
			return err
		}
	} else {
		_ = xproto.ConfigureWindowChecked(c.X, w.frame, xproto.ConfigWindowStackMode, []uint32{xproto.StackModeAbove}).Check() // best effort, because the loop below only checks the focus
		if err := xproto.SetInputFocusChecked(c.X, xproto.InputFocusPointerRoot, xproto.Window(w.ID), xproto.TimeCurrentTime).Check(); err != nil {
			return err
		}
	}
	for end := time.Now().Add(2 * time.Second); time.Now().Before(end); {
		list, err := c.Windows()
		if err != nil {
			return err
		}
		for _, x := range list {
			if x.ID == w.ID && x.Active {
				return nil
			}
		}
		if err := retry.Sleep(ctx, 20*time.Millisecond); err != nil {
			return err
		}
	}
	return ErrFocus
}
