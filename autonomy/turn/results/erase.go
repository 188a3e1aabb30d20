package results

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"hob/platform/store/erase"
)

// Eraser returns the eraser for stored results.
func (k *Store) Eraser() erase.Eraser {
	return erase.Owned{Files: func(ctx context.Context, e *erase.Erasure, s *erase.Scrubber) (n erase.Erased, err error) {
		for _, call := range e.Calls {
			path, err := k.filePath(call)
			if err != nil {
				continue // an ID that is not a valid file name cannot have a file
			}
			switch err := os.Remove(path); {
			case err == nil:
				n.Files++
			case !errors.Is(err, fs.ErrNotExist):
				return n, err
			}
		}
		m, err := erase.ScrubFiles(ctx, k.o.Dir, s, func(path string, b []byte) error {
			return writeFile(filepath.Dir(path), path, string(b))
		})
		return n.Add(m), err
	}}
}
