// Package session finds the desktop of the user that this process runs as: the address of its
// bus, its X display and its Wayland socket. A service (systemd --user) starts before the
// desktop and inherits none of these, so they are looked up at each use and not cached. The
// package starts nothing.
//
// The neighboring packages that read or control the desktop use it. It is empty outside of
// Linux.
package session

import "errors"

// ErrNone means that this process has no desktop, or none yet. Wrapping errors name the
// remedy.
var ErrNone = errors.New("no desktop session")
