//go:build !darwin

package permission

// List returns nil: other systems grant permissions when a program requests them.
func List() []Permission { return nil }
