//go:build !linux

package system

// ReleaseProgramPages does nothing: other systems release mapped pages themselves when memory is short.
func ReleaseProgramPages() {}
