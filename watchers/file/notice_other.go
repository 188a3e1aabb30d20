//go:build !(darwin || dragonfly || freebsd || netbsd || openbsd)

package file

// chmodMatters: a change of attributes alone never means a change of content.
const chmodMatters = false

// maxEntries: what lies in a watched folder costs nothing.
const maxEntries = 0
