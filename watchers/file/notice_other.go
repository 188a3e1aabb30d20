//go:build !(darwin || dragonfly || freebsd || netbsd || openbsd)

package file

// chmodMatters: a change of attributes never means a change of content.
const chmodMatters = false

// maxEntries: no limit; the entries of a watched folder use no descriptors.
const maxEntries = 0
