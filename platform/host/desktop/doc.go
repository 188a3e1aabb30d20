// Package desktop shows notifications on the user's desktop, reports which buttons were
// pressed (Notifier), and whether the user is at the machine (Look). It applies no policy: its
// callers, the desktop channel and the daemon, decide what to show and what a button may do.
//
// On Linux it uses the session's notification server (Desktop Notifications Specification 1.2,
// over D-Bus); on macOS osascript, which has no buttons; on Windows WinRT toasts through
// PowerShell, whose buttons can only open addresses. If presence cannot be determined, Look
// returns an error, and never "the user is away".
package desktop
