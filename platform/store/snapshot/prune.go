package snapshot

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"hob/platform/host/system"
	"hob/platform/store"
)

// Keep is the number of snapshots of each reason that callers of Prune keep.
const Keep = 5

// Prune deletes all but the newest keep snapshots of each reason, and incomplete snapshots that
// killed processes left behind. The caller must hold the lock of the home. Prune does not delete
// dated backups.
func Prune(dir string, keep int) error {
	list, err := List(dir)
	if err != nil {
		return err
	}
	seen := map[string]int{}
	for _, s := range list {
		if s.Dated {
			continue
		}
		if seen[s.Manifest.Reason]++; seen[s.Manifest.Reason] > keep {
			err = errors.Join(err, s.Delete())
		}
	}
	entries, rerr := os.ReadDir(dir)
	slices.Reverse(entries) // the newest first
	for _, e := range entries {
		if isFilesFolder(e.Name()) {
			if seen[filesOnly]++; seen[filesOnly] > keep {
				err = errors.Join(err, Snapshot{Path: filepath.Join(dir, e.Name())}.Delete())
			}
		}
		if strings.HasPrefix(e.Name(), store.SnapshotPrefix) && strings.HasSuffix(e.Name(), store.PartialSuffix) {
			err = errors.Join(err, system.RemoveAll(filepath.Join(dir, e.Name())))
		}
	}
	if errors.Is(rerr, fs.ErrNotExist) {
		rerr = nil
	}
	return errors.Join(err, rerr)
}

// isFilesFolder reports whether SaveFiles made the folder.
func isFilesFolder(name string) bool {
	stamp, ok := strings.CutPrefix(name, store.SnapshotPrefix)
	return ok && len(stamp) > len(stampLayout) && strings.HasPrefix(stamp[len(stampLayout):], "-"+filesOnly) && !strings.HasSuffix(name, store.PartialSuffix)
}

// Delete deletes the snapshot. It first renames the folder, so that a process that is killed
// at that time does not leave an incomplete folder that looks like a snapshot.
func (s Snapshot) Delete() error {
	if s.Dated {
		return os.Remove(s.Path)
	}
	gone := s.Path + store.PartialSuffix
	if err := system.Rename(s.Path, gone); err != nil {
		return err
	}
	return system.RemoveAll(gone)
}
