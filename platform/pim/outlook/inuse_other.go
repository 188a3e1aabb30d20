//go:build !windows

package outlook

// InUse reports whether the owner has classic Outlook, and it an account.
func InUse() bool { return false }
