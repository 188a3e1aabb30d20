// Package desktop shows notes on the desktop of the user that this process runs
// as, tells what he pressed there (Notifier), and whether he is at the machine
// (Look). It holds no policy: what is worth a note, and what a press may decide,
// is for its callers, which are the desktop channel and the daemon.
//
// On Linux notes go to the notification server of the session (Desktop
// Notifications Specification 1.2, over D-Bus); on macOS to osascript, which
// knows no buttons; on Windows to the toasts of WinRT through PowerShell, whose
// buttons open addresses only. Where a program cannot look it says so: that is
// an error, and never "nobody is there".
package desktop
