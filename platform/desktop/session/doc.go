// Package session finds the desktop of the user that this process runs as: the
// address of its bus, its X display and its Wayland socket. A service starts
// before the desktop does and inherits nothing of it (systemd --user), so that all
// of this is looked up at each use and never kept. It starts nothing.
//
// The packages beside it that look at the desktop or act there use it. Outside
// Linux there is nothing to find, and it is empty.
package session

import "errors"

// ErrNone says that this process has no desktop, or none yet. What wraps it names the
// remedy.
var ErrNone = errors.New("there is no desktop session")
