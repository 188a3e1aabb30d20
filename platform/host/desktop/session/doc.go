// Package session finds the desktop of the user that this process runs as: the address of the bus,
// the X display and the Wayland socket. A service (systemd --user) starts before the desktop and
// inherits none of these, so the package looks them up at each use and does not cache them. The
// package starts nothing.
//
// The packages that read or control the desktop use it. It is empty on systems other than Linux.
package session

import "errors"

// ErrNone means that this process has no desktop, or none yet. Wrapping errors name the
// remedy.
var ErrNone = errors.New("no desktop session")
