//go:build !linux

package system

// GiveBack does nothing: other systems release mapped pages themselves when memory is short.
func GiveBack() {}
