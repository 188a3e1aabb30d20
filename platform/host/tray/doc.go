// Package tray shows an icon with a menu: in the StatusNotifierItem host of a Linux
// panel, the notification area of Windows, or the menu bar of macOS. It applies no
// policy: the caller defines the menu and handles clicks.
//
// On Linux it is a StatusNotifierItem with a dbusmenu on a separate D-Bus connection. On
// Windows, and on macOS with cgo, it uses fyne.io/systray (on Linux that library allows
// one icon per process and panics when the session bus ends). Without cgo it calls macOS
// through the Objective-C runtime. Without a desktop or a panel that shows icons, the
// tray waits for one and never fails.
package tray
