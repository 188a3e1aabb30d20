// Package wine holds the test that runs the program for Windows where there is no
// Windows: the daemon, its database, its lock, its files and how it is started,
// asked, stopped and killed. What Wine does otherwise than Windows (toasts,
// PowerShell) is not looked at.
package wine
