//go:build !windows

package system

// systemLocale returns "": the environment tells the locale.
func systemLocale() string { return "" }
