package store

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"hob/platform/failpoint"
	"hob/platform/host/system"
)

// Replace replaces the closed database at path by the file from, which is on the same disk. After a
// crash the database is either the old or the new one. A damaged database is moved aside; its new path
// is returned.
func Replace(ctx context.Context, path, from string) (aside string, err error) {
	if err := syncFile(from); err != nil {
		return "", fmt.Errorf("store: replace %s: %w", path, err)
	}
	if fileExists(path) {
		// The log belongs to the old database and must not be applied to the new one.
		if err := Checkpoint(ctx, path); err != nil {
			if !isDamaged(err) {
				return "", err
			}
			if aside, err = linkAside(path); err != nil {
				return aside, fmt.Errorf("store: replace %s: %w", path, err)
			}
		}
	}
	for _, ext := range []string{"-wal", "-shm"} {
		if err := os.Remove(path + ext); err != nil && !os.IsNotExist(err) {
			return aside, fmt.Errorf("store: replace %s: %w", path, err)
		}
	}
	failpoint.Hit("replace.log")
	if err := system.RenameDurable(from, path); err != nil {
		return aside, fmt.Errorf("store: replace %s: %w; %s", filepath.Base(path), err, remedyFolder)
	}
	failpoint.Hit("replace.done")
	return aside, nil
}

// linkAside gives a damaged database a second name and moves its log there. Unlike setAside it leaves
// the database in place, so that a crash does not make it look like a new home.
func linkAside(path string) (string, error) {
	aside := path + ".damaged-" + backupTimestamp()
	if err := os.Link(path, aside); err != nil { // the file system has no hard links
		return setAside(path)
	}
	if fileExists(path + "-wal") {
		return aside, system.Rename(path+"-wal", aside+"-wal")
	}
	return aside, nil
}
