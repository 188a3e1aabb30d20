//go:build !(darwin || dragonfly || freebsd || netbsd || openbsd)

package file

// chmodMatters is false because a change of attributes never means a change of content on these
// systems.
const chmodMatters = false

// maxEntries is 0 (no limit) because the entries of a watched folder use no file descriptors.
const maxEntries = 0
