package trash

import (
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"syscall"
	"time"

	"hob/platform/host/rename"
)

// trashBin is a trash directory. The recorded paths of its items are relative to top, or absolute
// in the home trash.
type trashBin struct {
	path string
	top  string
}

func (c *Store) moveToTrash(dir *os.Root, name string, at time.Time) (Item, error) {
	fi, err := dir.Lstat(name)
	if err != nil {
		return Item{}, err
	}
	abs := filepath.Join(dir.Name(), name)
	if !filepath.IsAbs(abs) {
		return Item{}, errors.New("trash: folder was not opened by its absolute path")
	}
	home := trashBin{path: filepath.Join(c.opt.DataHome, "Trash")}
	if err := home.createFolders(); err == nil && deviceID(home.path) == deviceOf(fi) {
		item, err := home.putFile(dir, name, abs, at)
		if !errors.Is(err, rename.ErrCrossDevice) { // a bind mount has the same device number
			return item, err
		}
	}
	top := mountPoint(filepath.Dir(abs), deviceOf(fi))
	for _, b := range volumeBins(top, os.Getuid()) {
		if b.createFolders() != nil {
			continue
		}
		if item, err := b.putFile(dir, name, abs, at); err == nil {
			return item, nil
		}
	}
	return Item{}, fmt.Errorf("%w: cannot create a trash folder on the volume %s", ErrNoTrash, top)
}

func deviceOf(fi fs.FileInfo) uint64 {
	if st, ok := fi.Sys().(*syscall.Stat_t); ok {
		return uint64(st.Dev) //nolint:unconvert // its type differs by architecture
	}
	return 0
}

func deviceID(path string) uint64 {
	fi, err := os.Stat(path)
	if err != nil {
		return 0
	}
	return deviceOf(fi)
}

// mountPoint returns the mount point of the volume with device number dev that contains path.
func mountPoint(path string, dev uint64) string {
	for {
		parent := filepath.Dir(path)
		if parent == path || deviceID(parent) != dev {
			return path
		}
		path = parent
	}
}

// volumeBins returns the two trash folders that the specification defines for a volume:
// $topdir/.Trash/$uid, if an administrator created .Trash with the sticky bit, and
// $topdir/.Trash-$uid.
func volumeBins(top string, uid int) []trashBin {
	var out []trashBin
	id := strconv.Itoa(uid)
	shared := filepath.Join(top, ".Trash")
	if fi, err := os.Lstat(shared); err == nil && fi.IsDir() && fi.Mode()&fs.ModeSticky != 0 {
		out = append(out, trashBin{path: filepath.Join(shared, id), top: top})
	}
	return append(out, trashBin{path: filepath.Join(top, ".Trash-"+id), top: top})
}

// createFolders creates the folders of the bin. It fails if one of them is a link or belongs
// to another user.
func (b trashBin) createFolders() error {
	if b.top == "" {
		if err := os.MkdirAll(filepath.Dir(b.path), 0o700); err != nil {
			return err
		}
	}
	if err := os.Mkdir(b.path, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	fi, err := os.Lstat(b.path)
	if err != nil {
		return err
	}
	if st, ok := fi.Sys().(*syscall.Stat_t); !ok || (b.top != "" && (!fi.IsDir() || int(st.Uid) != os.Getuid())) {
		return fmt.Errorf("%s is not a folder that belongs to this user", b.path)
	}
	for _, sub := range []string{"files", "info"} {
		if err := os.Mkdir(filepath.Join(b.path, sub), 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
			return err
		}
	}
	return nil
}

// putFile reserves a name by exclusively creating the .trashinfo file, and then moves the file. The
// specification requires this order.
func (b trashBin) putFile(dir *os.Root, name, abs string, at time.Time) (Item, error) {
	root, err := os.OpenRoot(b.path)
	if err != nil {
		return Item{}, err
	}
	defer func() { _ = root.Close() }()
	files, err := root.OpenRoot("files")
	if err != nil {
		return Item{}, err
	}
	defer func() { _ = files.Close() }()
	for n := 1; n <= maxTries; n++ {
		as := candidateName(name, n, ".")
		info := "info/" + as + ".trashinfo"
		err := b.writeTrashInfo(root, info, abs, at)
		if errors.Is(err, fs.ErrExist) {
			continue
		}
		if err == nil {
			err = rename.NoReplace(dir, name, files, as)
		}
		if err == nil {
			return Item{Original: abs, Location: filepath.Join(b.path, "files", as), Info: filepath.Join(b.path, info)}, nil
		}
		if rerr := root.Remove(info); rerr != nil && !errors.Is(rerr, fs.ErrNotExist) {
			return Item{}, errors.Join(err, rerr)
		}
		if !errors.Is(err, fs.ErrExist) {
			return Item{}, err
		}
	}
	return Item{}, fmt.Errorf("the trash already contains %d files with this name; empty the trash", maxTries)
}

// writeTrashInfo writes the .trashinfo file with the percent-encoded path (RFC 2396 section 2).
func (b trashBin) writeTrashInfo(root *os.Root, info, abs string, at time.Time) (err error) {
	path := abs
	if b.top != "" {
		if path, err = filepath.Rel(b.top, abs); err != nil {
			return err
		}
	}
	f, err := root.OpenFile(info, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	escaped := (&url.URL{Path: path}).EscapedPath()
	_, err = fmt.Fprintf(f, "[Trash Info]\nPath=%s\nDeletionDate=%s\n", escaped, at.Format("2006-01-02T15:04:05"))
	return errors.Join(err, f.Sync(), f.Close())
}

func (c *Store) restoreItem(item Item, dir *os.Root, name string) error {
	files, err := os.OpenRoot(filepath.Dir(item.Location))
	if errors.Is(err, fs.ErrNotExist) {
		return ErrGone
	}
	if err != nil {
		return err
	}
	defer func() { _ = files.Close() }()
	err = rename.NoReplace(files, filepath.Base(item.Location), dir, name)
	if errors.Is(err, fs.ErrNotExist) {
		return ErrGone
	}
	if err != nil {
		return err
	}
	if err := os.Remove(item.Info); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("restored, but removing its .trashinfo file failed: %w", err)
	}
	return nil
}
