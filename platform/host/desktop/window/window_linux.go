package window

import (
	"context"
	"errors"
	"fmt"
	"os"

	"hob/platform/host/desktop/session"
	"hob/platform/host/desktop/swayipc"
	"hob/platform/host/desktop/xwin"
)

// Display connects to the X server of the session.
func Display(ctx context.Context, e session.Env) (*xwin.Conn, error) {
	switch {
	case e.Wayland != "":
		return nil, fmt.Errorf("%w: this is a Wayland session: %w", ErrUnknown, errors.ErrUnsupported)
	case e.None():
		return nil, fmt.Errorf("%w (DISPLAY is not set); start Hob within the desktop session", session.ErrNone)
	}
	return xwin.Dial(ctx, e)
}

// Compositor connects to sway in a Wayland session. Other compositors report neither windows
// nor the keyboard focus.
func Compositor(ctx context.Context, e session.Env) (*swayipc.Conn, error) {
	c, err := swayipc.Dial(ctx, e)
	if err != nil {
		return nil, fmt.Errorf("%w: on Wayland only sway reports the window in front: %w: %w; use an X11 session, or use read_screen and click_element, which do not need it", ErrUnknown, errors.ErrUnsupported, err)
	}
	return c, nil
}

func (w *Windows) listWindows(ctx context.Context) ([]Window, error) {
	e := session.DetectSession(ctx, w.opt.Getenv)
	if e.Wayland != "" {
		c, err := Compositor(ctx, e)
		if err != nil {
			return nil, err
		}
		defer c.Close()
		return ListSway(ctx, c)
	}
	x, err := Display(ctx, e)
	if err != nil {
		return nil, err
	}
	defer x.Close()
	return ListX11(x)
}

// ListSway lists the windows of a sway compositor.
func ListSway(ctx context.Context, c *swayipc.Conn) ([]Window, error) {
	list, err := c.Windows(ctx)
	out := make([]Window, 0, len(list))
	for _, v := range list {
		out = append(out, Window{ID: v.ID, Title: v.Title, App: v.App, Program: Program(v.PID), PID: v.PID, X: v.X, Y: v.Y, W: v.W, H: v.H, Active: v.Focused})
	}
	return out, err
}

// ListX11 lists the windows of an X display.
func ListX11(x *xwin.Conn) ([]Window, error) {
	list, err := x.Windows()
	out := make([]Window, 0, len(list))
	for _, v := range list {
		out = append(out, Window{ID: uint64(v.ID), Title: v.Title, App: v.Class, Program: v.Program, PID: v.PID, X: v.X, Y: v.Y, W: v.W, H: v.H, Active: v.Active, Notice: v.Notice})
	}
	return out, err
}

// Program returns the path of a process's program, "" if unknown.
func Program(pid int) string {
	path, err := os.Readlink(fmt.Sprintf("/proc/%d/exe", pid))
	if err != nil {
		return ""
	}
	return path
}
