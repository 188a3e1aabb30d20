//go:build !linux

package system

// GiveBack drops what of the program's own file is mapped; other systems do it
// by themselves when memory is short.
func GiveBack() {}
