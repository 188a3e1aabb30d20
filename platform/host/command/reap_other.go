//go:build !linux

package command

// becomeSubreaper and killDescendants do nothing on this system: the caller's process group or job
// object contains the processes. On macOS a process that starts a new session escapes.
func becomeSubreaper() {}

func killDescendants() {}
