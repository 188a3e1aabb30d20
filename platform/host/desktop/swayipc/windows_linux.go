package swayipc

import (
	"context"
	"fmt"
	"slices"
	"strings"
)

// Window is a visible window.
type Window struct {
	ID         uint64
	Title, App string
	PID        int
	X, Y, W, H int
	Focused    bool
}

const (
	maxWindows = 300
	maxDeep    = 60
)

type nodeRect struct {
	X      int `json:"x"`
	Y      int `json:"y"`
	Width  int `json:"width"`
	Height int `json:"height"`
}

type node struct {
	ID       uint64       `json:"id"`
	Name     string       `json:"name"`
	PID      int          `json:"pid"`
	AppID    string       `json:"app_id"`
	Visible  bool         `json:"visible"`
	Rect     nodeRect     `json:"rect"`
	Props    *windowProps `json:"window_properties"` // set for X11 windows
	Nodes    []node       `json:"nodes"`
	Floating []node       `json:"floating_nodes"`
	Full     int          `json:"fullscreen_mode"`
}

type windowProps struct {
	Class    string `json:"class"`
	Instance string `json:"instance"`
}

type seatInfo struct {
	Focus        uint64 `json:"focus"`
	Capabilities uint32 `json:"capabilities"`
}

func (c *Conn) readSeat(ctx context.Context) (seatInfo, error) {
	var all []seatInfo
	if err := c.sendMessage(ctx, getSeats, "", &all); err != nil {
		return seatInfo{}, err
	}
	if len(all) != 1 {
		return seatInfo{}, fmt.Errorf("%w: %d seats found, so the keyboard focus is ambiguous", ErrNone, len(all))
	}
	return all[0], nil
}

// Keyboard reports whether the seat has a keyboard. Without one, programs must first detect a new
// keyboard before they receive its key presses.
func (c *Conn) Keyboard(ctx context.Context) (bool, error) {
	s, err := c.readSeat(ctx)
	return s.Capabilities&2 != 0, err // WL_SEAT_CAPABILITY_KEYBOARD
}

// Windows lists the visible windows, from the front to the back. The focused window has the
// keyboard. If a screen lock, a desktop menu or a notification has the keyboard, no window is
// focused.
func (c *Conn) Windows(ctx context.Context) ([]Window, error) {
	var root node
	if err := c.sendMessage(ctx, getTree, "", &root); err != nil {
		return nil, err
	}
	s, err := c.readSeat(ctx)
	if err != nil {
		return nil, err
	}
	var l windowLayers
	l.walkNode(root, false, 0)
	out := slices.Concat(l.full, l.floating, l.tiled)
	for i := range out {
		out[i].Focused = out[i].ID == s.Focus
	}
	return out, nil
}

// windowLayers groups the windows by their stacking layer.
type windowLayers struct{ full, floating, tiled []Window }

func (l *windowLayers) walkNode(n node, floats bool, depth int) {
	if depth > maxDeep || len(l.full)+len(l.floating)+len(l.tiled) >= maxWindows {
		return
	}
	if n.PID > 0 && n.Visible && len(n.Nodes) == 0 {
		w := n.toWindow()
		switch {
		case n.Full > 0:
			l.full = append(l.full, w)
		case floats:
			l.floating = append(l.floating, w)
		default:
			l.tiled = append(l.tiled, w)
		}
	}
	for _, k := range slices.Backward(n.Floating) { // the last one is on top
		l.walkNode(k, true, depth+1)
	}
	for _, k := range n.Nodes {
		l.walkNode(k, floats, depth+1)
	}
}

func (n node) toWindow() Window {
	w := Window{ID: n.ID, Title: strings.ToValidUTF8(n.Name, "\uFFFD"), App: n.AppID, PID: n.PID, X: n.Rect.X, Y: n.Rect.Y, W: n.Rect.Width, H: n.Rect.Height}
	if n.Props != nil {
		w.App = n.Props.Instance + " " + n.Props.Class
	}
	w.App = strings.ToLower(strings.TrimSpace(w.App))
	return w
}
