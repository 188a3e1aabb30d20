package files

import (
	"context"
	"errors"

	"hob/platform/text/textnorm"
)

// projectEntries limits the entries that FindFolder looks at.
const projectEntries = 5_000

// FindFolder returns the folder with the given name in an allowed folder, or one level below it.
// It ignores case and accents. found is false if there is no such folder.
func (f *Files) FindFolder(ctx context.Context, name string) (abs string, found bool, err error) {
	left := projectEntries
	roots := f.resolvedRoots()
	for depth := range 2 {
		var next []string
		for _, root := range roots {
			s, err := f.openSpot(root)
			if err != nil {
				continue // for example an allowed folder on a disk that is not connected
			}
			dir, err := s.openFolder()
			s.Close()
			if err != nil {
				continue
			}
			w := &treeWalk{f: f, limit: left, visit: func(e walkEntry) error {
				if left--; !e.info.IsDir() {
					return nil
				}
				if textnorm.EqualFolded(e.name, name) {
					abs = e.abs
					return errStop
				}
				next = append(next, e.abs)
				return nil
			}}
			err = w.walkTree(ctx, dir, root)
			err = errors.Join(err, dir.Close())
			if err != nil || abs != "" || left <= 0 {
				return abs, abs != "", err
			}
		}
		if depth == 0 {
			roots = next
		}
	}
	return "", false, nil
}
