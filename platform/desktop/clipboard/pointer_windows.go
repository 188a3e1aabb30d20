package clipboard

import "unsafe"

// pointer is the address of a text for a system call that ends before the text goes.
func pointer(p *uint16) uintptr { return uintptr(unsafe.Pointer(p)) } //nolint:gosec // the way of the system's calls
