package trash

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"hob/platform/host/rename"
)

// moveToTrash moves to ~/.Trash or, on another volume, to /Volumes/NAME/.Trashes/UID. Finder shows these folders together as
// the Trash.
func (c *Store) moveToTrash(dir *os.Root, name string, at time.Time) (Item, error) {
	abs := filepath.Join(dir.Name(), name)
	bins := []string{filepath.Join(c.opt.Home, ".Trash")}
	if rest, ok := strings.CutPrefix(abs, "/Volumes/"); ok {
		volume, _, _ := strings.Cut(rest, "/")
		bins = append(bins, filepath.Join("/Volumes", volume, ".Trashes", strconv.Itoa(os.Getuid())))
	}
	for _, b := range bins {
		item, err := putIn(b, dir, name, abs, at)
		if err == nil {
			return item, nil
		}
		if !errors.Is(err, rename.ErrCrossDevice) {
			return Item{}, err
		}
	}
	return Item{}, fmt.Errorf("%w: the volume of %s has no trash", ErrNoTrash, abs)
}

func putIn(bin string, dir *os.Root, name, abs string, at time.Time) (Item, error) {
	if err := os.Mkdir(bin, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return Item{}, err
	}
	root, err := os.OpenRoot(bin)
	if err != nil {
		return Item{}, err
	}
	defer func() { _ = root.Close() }()
	for n := 1; n <= maxTries; n++ {
		as := candidateName(name, n, " ")
		if n > 1 && n < 4 { // append the time of day, as Finder does
			as = candidateName(name, n, " "+at.Format("15.04.05")+" ")
		}
		err := rename.NoReplace(dir, name, root, as)
		if err == nil {
			return Item{Original: abs, Location: filepath.Join(bin, as)}, nil
		}
		if !errors.Is(err, fs.ErrExist) {
			return Item{}, err
		}
	}
	return Item{}, fmt.Errorf("the Trash already contains %d files with this name; empty the Trash", maxTries)
}

func (c *Store) restoreItem(item Item, dir *os.Root, name string) error {
	bin, err := os.OpenRoot(filepath.Dir(item.Location))
	if errors.Is(err, fs.ErrNotExist) {
		return ErrGone
	}
	if err != nil {
		return err
	}
	defer func() { _ = bin.Close() }()
	err = rename.NoReplace(bin, filepath.Base(item.Location), dir, name)
	if errors.Is(err, fs.ErrNotExist) {
		return ErrGone
	}
	return err
}
