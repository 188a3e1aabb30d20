// Package wine holds the test that runs the program for Windows where there is no Windows: the
// daemon, its database, its lock, its files and how it is started, queried, stopped and killed. It
// does not test what works differently in Wine (toasts, PowerShell).
package wine
