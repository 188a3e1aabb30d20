package files

import (
	"errors"
	"io/fs"
	"os"

	"hob/platform/host/rename"
	"hob/platform/text/shortid"
)

// replaceFile atomically replaces the content of name in dir by b: it syncs a temporary file and
// renames it. If mode is nil, the file must not exist yet, and the system's umask determines its
// mode.
func replaceFile(dir *os.Root, name string, b []byte, mode *fs.FileMode) (err error) {
	tmp, err := writeTempFile(dir, mode, func(f *os.File) error {
		_, err := f.Write(b)
		return err
	})
	if err != nil {
		return err
	}
	if mode == nil {
		err = rename.NoReplace(dir, tmp, dir, name)
	} else {
		err = dir.Rename(tmp, name)
	}
	if err != nil {
		return errors.Join(err, dir.Remove(tmp))
	}
	syncDir(dir)
	return nil
}

// writeTempFile writes a temporary file in dir and syncs it.
func writeTempFile(dir *os.Root, mode *fs.FileMode, fill func(*os.File) error) (name string, err error) {
	name = ".hob-" + shortid.New("") + ".tmp"
	perm := fs.FileMode(0o666)
	if mode != nil {
		perm = 0o600
	}
	f, err := dir.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, perm)
	if err != nil {
		return "", err
	}
	err = fill(f)
	if err == nil && mode != nil {
		err = f.Chmod(mode.Perm())
	}
	if err == nil {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err != nil {
		return "", errors.Join(err, dir.Remove(name))
	}
	return name, nil
}

// syncDir makes a rename durable on systems that can sync folders. On other systems (Windows) the
// journal of the file system makes it durable.
func syncDir(dir *os.Root) {
	if f, err := dir.Open("."); err == nil {
		_ = f.Sync()
		_ = f.Close()
	}
}
