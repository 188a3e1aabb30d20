package window

import (
	"context"
	"fmt"
	"strings"

	"hob/platform/host/desktop/quartz"
	"hob/platform/host/osrun"
)

// aboveWindows is the layer of the Dock. Notifications, menus and similar items are in this layer
// or a higher one (CGWindowLevelKey).
const aboveWindows = 20

// listWindows requires the Accessibility permission. Without it, titles and the front window are
// unknown, so no action could be restricted to one window.
func (w *Windows) listWindows(context.Context) ([]Window, error) {
	if !quartz.Trusted() {
		e := &osrun.Error{Script: "windows", App: "macOS", Cause: "Hob has no Accessibility permission"}
		return nil, e.Allow("accessibility")
	}
	list, err := quartz.Windows()
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrUnknown, err)
	}
	var out []Window
	for _, v := range list {
		out = append(out, Window{
			ID: uint64(v.ID), PID: v.PID, App: strings.ToLower(v.Owner), Program: Program(v.PID), Title: v.Title,
			X: v.X, Y: v.Y, W: v.W, H: v.H, Active: v.Focused, Notice: v.Layer >= aboveWindows || v.Layer < 0,
		})
	}
	return out, nil
}

// Program returns the path of a process's program, "" if unknown.
func Program(pid int) string { return quartz.Program(pid) }
