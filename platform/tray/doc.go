// Package tray shows an icon with a menu where the desktop keeps such things: the
// StatusNotifierItem host of a Linux panel, the notification area of Windows, the
// menu bar of macOS. It holds no policy: what the menu offers and what a click
// does is for its caller.
//
// On Linux it is a StatusNotifierItem with a dbusmenu on a connection of its own; on
// Windows, and on macOS when built with cgo, fyne.io/systray does the work (on Linux
// that library has one icon for the life of the process, and panics when the
// session's bus goes); without cgo macOS is asked through the Objective-C runtime.
// Where no desktop is, or no panel that takes icons, the tray waits for one; it
// never fails for it.
package tray
