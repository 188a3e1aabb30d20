package clipboard

import "unsafe"

// textPointer returns the address of a text for a system call that does not outlive the text.
func textPointer(p *uint16) uintptr { return uintptr(unsafe.Pointer(p)) } //nolint:gosec // the way of the system's calls
