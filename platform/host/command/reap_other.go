//go:build !linux

package command

// becomeSubreaper and killDescendants do nothing here: the caller's process group or job object
// holds the processes together. On macOS a process that starts a new session escapes.
func becomeSubreaper() {}

func killDescendants() {}
