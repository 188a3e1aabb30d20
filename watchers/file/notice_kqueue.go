//go:build darwin || dragonfly || freebsd || netbsd || openbsd

package file

// chmodMatters is true because kqueue reports a truncated file as a change of its attributes (see
// fsnotify.Watcher.Events).
const chmodMatters = true

// maxEntries is the maximum number of files and folders in all watched folders. kqueue keeps each
// of them open, and the rest of the program needs file descriptors too.
const maxEntries = 4000
