package files

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"sync/atomic"
	"time"
)

// maxKept bounds the saved earlier contents in total, in bytes; the oldest are removed
// first.
const maxKept = 512 << 20

// contentStore stores earlier contents of files by SHA-256, in folders named by its first two
// digits.
type contentStore struct {
	dir string
	max int64
	n   atomic.Uint32
}

var (
	errNotKept = errors.New("no folder for earlier contents is configured")
	errKeptBad = errors.New("the saved copy is missing or damaged")
)

func contentDigest(b []byte) string {
	h := sha256.Sum256(b)
	return hex.EncodeToString(h[:])
}

func (k *contentStore) contentPath(sum string) string { return filepath.Join(k.dir, sum[:2], sum) }

// putContent durably stores b and returns its digest.
func (k *contentStore) putContent(b []byte) (string, error) {
	switch {
	case k.dir == "":
		return "", errNotKept
	case int64(len(b)) > k.max:
		return "", errTooLarge
	}
	sum := contentDigest(b)
	path := k.contentPath(sum)
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return "", fmt.Errorf("save the earlier content: %w", err)
	}
	if k.n.Add(1)%64 == 1 {
		k.pruneOldest()
	}
	if old, err := k.getContent(sum); err == nil && len(old) == len(b) {
		now := time.Now()
		return sum, os.Chtimes(path, now, now)
	}
	dir, err := os.OpenRoot(filepath.Dir(path))
	if err != nil {
		return "", fmt.Errorf("save the earlier content: %w", err)
	}
	defer func() { _ = dir.Close() }()
	private := fs.FileMode(0o600)
	if err := replaceFile(dir, sum, b, &private); err != nil {
		return "", fmt.Errorf("save the earlier content: %w", err)
	}
	return sum, nil
}

func (k *contentStore) getContent(sum string) ([]byte, error) {
	if k.dir == "" || len(sum) != 2*sha256.Size {
		return nil, errNotKept
	}
	b, err := os.ReadFile(k.contentPath(sum))
	if err != nil || contentDigest(b) != sum {
		return nil, errKeptBad
	}
	return b, nil
}

// pruneOldest removes the oldest copies above maxKept.
func (k *contentStore) pruneOldest() {
	type kept struct {
		path string
		size int64
		at   time.Time
	}
	var all []kept
	var total int64
	_ = filepath.WalkDir(k.dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return nil //nolint:nilerr // what cannot be read is not counted
		}
		if fi, err := d.Info(); err == nil {
			all = append(all, kept{path, fi.Size(), fi.ModTime()})
			total += fi.Size()
		}
		return nil
	})
	slices.SortFunc(all, func(a, b kept) int { return a.at.Compare(b.at) })
	for _, c := range all {
		if total <= maxKept {
			return
		}
		if os.Remove(c.path) == nil {
			total -= c.size
		}
	}
}
