package trash

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"
	"unsafe"

	"golang.org/x/sys/windows"

	"hob/platform/host/rename"
)

// Flags of SHFileOperationW
// (https://learn.microsoft.com/windows/win32/api/shellapi/ns-shellapi-shfileopstructw). With
// fofWantNuke the shell asks before it deletes permanently, even with fofNoConfirm.
const (
	foDelete     = 0x0003
	fofSilent    = 0x0004
	fofNoConfirm = 0x0010
	fofAllowUndo = 0x0040
	fofNoErrorUI = 0x0400
	fofWantNuke  = 0x4000
)

type fileOp struct {
	hwnd     uintptr
	function uint32
	from, to *uint16
	flags    uint16
	aborted  int32
	mappings uintptr
	progress *uint16
}

type binInfo struct {
	size  uint32
	bytes int64
	items int64
}

func (c *Store) moveToTrash(dir *os.Root, name string, at time.Time) (Item, error) {
	abs := filepath.Join(dir.Name(), name)
	volume := filepath.VolumeName(abs) + `\`
	if err := hasBin(volume); err != nil {
		return Item{}, err
	}
	bin, err := binOf(volume)
	if err != nil {
		return Item{}, err
	}
	before := map[string]bool{}
	for _, it := range listRecycled(bin, abs) {
		before[it.Info] = true
	}
	if err := recyclePath(abs); err != nil {
		return Item{}, err
	}
	for _, it := range listRecycled(bin, abs) {
		if !before[it.Info] {
			return it, nil
		}
	}
	return Item{Original: abs}, nil // the item is in the bin, but its location is unknown
}

// hasBin rejects drives without a Recycle Bin, because the shell deletes files permanently on them.
func hasBin(volume string) error {
	v, err := windows.UTF16PtrFromString(volume)
	if err != nil {
		return err
	}
	if windows.GetDriveType(v) != windows.DRIVE_FIXED {
		return fmt.Errorf("%w: %s is not a fixed drive", ErrNoTrash, volume)
	}
	info := binInfo{}
	info.size = uint32(unsafe.Sizeof(info))
	r, _, _ := shellLibrary().NewProc("SHQueryRecycleBinW").Call(uintptr(unsafe.Pointer(v)), uintptr(unsafe.Pointer(&info)))
	if r != 0 {
		return fmt.Errorf("%w: %s has no Recycle Bin (0x%x)", ErrNoTrash, volume, r)
	}
	return nil
}

func shellLibrary() *windows.LazyDLL { return windows.NewLazySystemDLL("shell32.dll") }

func recyclePath(abs string) error {
	from, err := windows.UTF16FromString(abs)
	if err != nil {
		return err
	}
	from = append(from, 0) // the list is terminated by an empty string
	op := fileOp{function: foDelete, from: &from[0], flags: fofAllowUndo | fofNoConfirm | fofSilent | fofNoErrorUI | fofWantNuke}
	r, _, _ := shellLibrary().NewProc("SHFileOperationW").Call(uintptr(unsafe.Pointer(&op)))
	switch {
	case r != 0:
		return fmt.Errorf("move to the Recycle Bin: Windows error 0x%x; close programs that use the file", r)
	case op.aborted != 0:
		return errors.New("move to the Recycle Bin: Windows stopped the operation")
	}
	return nil
}

// binOf returns this user's folder in the Recycle Bin of a volume.
func binOf(volume string) (string, error) {
	u, err := windows.GetCurrentProcessToken().GetTokenUser()
	if err != nil {
		return "", err
	}
	return filepath.Join(volume, "$Recycle.Bin", u.User.Sid.String()), nil
}

// listRecycled lists the items in the bin whose original path is abs.
func listRecycled(bin, abs string) []Item {
	names, err := filepath.Glob(filepath.Join(bin, "$I*"))
	if err != nil {
		return nil
	}
	var out []Item
	for _, n := range names {
		b, err := os.ReadFile(n)
		if err != nil {
			continue
		}
		if path, err := parseIndex(b); err == nil && strings.EqualFold(path, abs) {
			out = append(out, Item{Original: abs, Info: n, Location: filepath.Join(bin, "$R"+strings.TrimPrefix(filepath.Base(n), "$I"))})
		}
	}
	return out
}

func (c *Store) restoreItem(item Item, dir *os.Root, name string) error {
	if item.Location == "" {
		return fmt.Errorf("%w: its location in the Recycle Bin is unknown; restore the item yourself in the Recycle Bin", ErrGone)
	}
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
	if err != nil {
		return err
	}
	if err := os.Remove(item.Info); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("restored, but removing its metadata from the Recycle Bin failed: %w", err)
	}
	return nil
}
