//go:build darwin || dragonfly || freebsd || netbsd || openbsd

package file

// chmodMatters: kqueue reports a truncated file as a change of its attributes
// (see fsnotify.Watcher.Events).
const chmodMatters = true
