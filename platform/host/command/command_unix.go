//go:build unix

package command

import (
	"errors"
	"io/fs"
	"os"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// manyNames reports whether a file has more than one hard link.
func manyNames(info fs.FileInfo) bool {
	st, ok := info.Sys().(*syscall.Stat_t)
	return ok && info.Mode().IsRegular() && st.Nlink > 1
}

// ofSystem reports whether a file belongs to the system and only the system's administrator can
// write to it.
func ofSystem(info fs.FileInfo) bool {
	st, ok := info.Sys().(*syscall.Stat_t)
	return ok && st.Uid == 0 && info.Mode().Perm()&0o022 == 0
}

func idOf(info fs.FileInfo) fileID {
	id := fileID{size: info.Size(), changed: info.ModTime().UnixNano()}
	if st, ok := info.Sys().(*syscall.Stat_t); ok {
		id.dev, id.ino, id.ctime = uint64(st.Dev), uint64(st.Ino), changeTime(st) //nolint:unconvert // their types differ by system
	}
	return id
}

// openPlain opens a file or a folder for reading without following any link in its path. A file
// must be regular and have only one hard link.
func openPlain(path string, folder bool) (*os.File, error) {
	parts := strings.Split(strings.Trim(path, "/"), "/")
	dir, err := unix.Open("/", searchOnly|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, &fs.PathError{Op: "open", Path: "/", Err: err}
	}
	for i, part := range parts {
		flags := unix.O_RDONLY | unix.O_NOFOLLOW | unix.O_CLOEXEC | unix.O_NONBLOCK | unix.O_NOCTTY
		switch {
		case i < len(parts)-1:
			flags = searchOnly | unix.O_NOFOLLOW | unix.O_CLOEXEC | unix.O_DIRECTORY
		case folder:
			flags |= unix.O_DIRECTORY
		}
		if part == "" { // the path was "/"
			part = "."
		}
		next, err := unix.Openat(dir, part, flags, 0)
		_ = unix.Close(dir)
		if err != nil {
			return nil, &fs.PathError{Op: "open", Path: path, Err: err}
		}
		dir = next
	}
	if !folder {
		_ = unix.SetNonblock(dir, false) // this has no effect on regular files
	}
	f := os.NewFile(uintptr(dir), path)
	info, err := f.Stat()
	if err == nil && !folder && (!info.Mode().IsRegular() || manyNames(info) && !openToAll(path)) {
		err = errors.New("not a regular file with a single hard link")
	}
	if err != nil {
		_ = f.Close()
		return nil, err
	}
	return f, nil
}
