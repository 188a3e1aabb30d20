//go:build darwin || dragonfly || freebsd || netbsd || openbsd

package file

// chmodMatters: kqueue reports a truncated file as a change of its attributes
// (see fsnotify.Watcher.Events).
const chmodMatters = true

// maxEntries is how many files and folders may lie in the watched folders
// together: kqueue keeps each of them open, and the rest of the program needs
// descriptors, too.
const maxEntries = 4000
