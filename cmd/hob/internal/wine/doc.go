// Package wine holds the test that runs the Windows program on systems other than Windows: the
// daemon, its database, lock and files, and how it is started, queried, stopped and killed. It does
// not test what works differently in Wine (toasts, PowerShell).
package wine
