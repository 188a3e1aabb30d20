//go:build !rego

package rules

func builtIn() map[string]engine { return nil }

// Rego reports whether this build reads *.rego files.
func Rego() bool { return false }
