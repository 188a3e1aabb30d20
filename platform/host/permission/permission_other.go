//go:build !darwin

package permission

// List returns nil, because other systems grant permissions when a program requests them.
func List() []Permission { return nil }
