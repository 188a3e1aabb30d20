//go:build !windows

package outlook

// InUse reports whether the user has classic Outlook with an account.
func InUse() bool { return false }
