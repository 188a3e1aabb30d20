//go:build !windows

package outlook

// InUse reports whether classic Outlook is installed and has an account.
func InUse() bool { return false }
