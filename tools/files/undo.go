package files

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync/atomic"
	"time"

	"hob/platform/store/erase"
	"hob/platform/text/sorting"
	"hob/tools"
)

// maxKept limits the total size of the saved earlier contents, in bytes. The oldest contents are
// removed first.
const maxKept = 512 << 20

// contentStore stores earlier contents of files under their SHA-256 digests, in folders named after
// the first two digits.
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

// pruneOldest removes the oldest copies until the total size is at most maxKept.
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
			return nil //nolint:nilerr // do not count unreadable entries
		}
		if fi, err := d.Info(); err == nil {
			all = append(all, kept{path, fi.Size(), fi.ModTime()})
			total += fi.Size()
		}
		return nil
	})
	sorting.ByFunc(all, func(a, b kept) int { return a.at.Compare(b.at) })
	for _, c := range all {
		if total <= maxKept {
			return
		}
		if os.Remove(c.path) == nil {
			total -= c.size
		}
	}
}

// redoMove repeats a move that undoMove reverted.
func (f *Files) redoMove(ctx context.Context, data json.RawMessage) (string, json.RawMessage, error) {
	var u moveUndo
	if err := json.Unmarshal(data, &u); err != nil {
		return "", nil, tools.Errorf(tools.Failed, "the undo record cannot be read: %w", err)
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	from, err := f.openSpot(u.From)
	if err != nil {
		return "", nil, err
	}
	defer from.Close()
	if err := f.checkRemovable(from, "moved"); err != nil {
		return "", nil, err
	}
	to, err := f.openSpot(u.To)
	if err != nil {
		return "", nil, err
	}
	defer to.Close()
	if to.info != nil {
		return "", nil, tools.Errorf(tools.Conflict, "another file now exists at %s; redo would overwrite that file", to.errorLabel())
	}
	marked, err := f.movePath(ctx, from, to, &u)
	if err != nil {
		return "", nil, err
	}
	data, err = json.Marshal(u)
	return fmt.Sprintf("Moved %s to %s again.", from.displayName(), to.displayName()) + marked.untrustedMoveNote(to), data, err
}

// redoTrash moves an item that undoTrash restored to the trash again.
func (f *Files) redoTrash(ctx context.Context, data json.RawMessage) (string, json.RawMessage, error) {
	var item trashUndo
	if err := json.Unmarshal(data, &item); err != nil {
		return "", nil, tools.Errorf(tools.Failed, "the undo record cannot be read: %w", err)
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	item, s, err := f.throwAway(ctx, item.Original, time.Now())
	if err != nil {
		return "", nil, err
	}
	defer s.Close()
	data, err = json.Marshal(item)
	return fmt.Sprintf("Moved %s to the trash again.", s.displayName()), data, err
}

// Eraser returns an eraser that deletes the saved earlier contents that contain a phrase, because a
// redacted copy would not restore the original. Marks of untrusted files are kept unless their path
// is erased. The files themselves belong to the owner and are not changed.
func (f *Files) Eraser() erase.Eraser {
	return erase.Owned{
		List: []erase.Table{
			{Name: "outside_paths", Key: []string{"path"}, Names: []string{"path"}, Text: []string{"list"}},
			{Name: "outside_contents", Key: []string{"digest"}, Text: []string{"list"}},
			{Name: "outside_trees", Key: []string{"path", "id"}, Names: []string{"path"}, Text: []string{"list"}},
			{Name: "vouched_contents", Key: []string{"digest"}},
		},
		Files: func(ctx context.Context, _ *erase.Erasure, s *erase.Scrubber) (erase.Erased, error) {
			if f.undo.dir == "" {
				return erase.Erased{}, nil
			}
			return erase.RemoveFiles(ctx, f.undo.dir, s)
		},
	}
}
