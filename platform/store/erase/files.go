package erase

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

// largest is the maximum size in bytes of a file that is read as a whole. Larger files are read in
// parts.
const largest = 4 << 20

// RemoveFiles deletes the files below a folder whose name or content contains one of the phrases.
// It is meant for copies, which are useless if a part is missing. A missing folder is not an error.
func RemoveFiles(ctx context.Context, dir string, s *Scrubber) (Erased, error) {
	return walkFiles(ctx, dir, s, func(path string) (Erased, error) {
		hit, err := s.FileHas(path)
		if err != nil || !hit && !s.Has(filepath.Base(path)) {
			return Erased{}, err
		}
		return Erased{Files: 1}, os.Remove(path)
	})
}

// ScrubFiles replaces the phrases in the files below a folder. write must replace
// the file atomically.
func ScrubFiles(ctx context.Context, dir string, s *Scrubber, write func(path string, b []byte) error) (Erased, error) {
	return walkFiles(ctx, dir, s, func(path string) (Erased, error) { return ScrubFile(path, s, write) })
}

// ScrubFile replaces the phrases in one file. A missing file is not an error.
func ScrubFile(path string, s *Scrubber, write func(path string, b []byte) error) (Erased, error) {
	b, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return Erased{}, nil
	}
	if err != nil {
		return Erased{}, fmt.Errorf("erase: read the file: %w", err)
	}
	out, changed := s.Bytes(b)
	if !changed {
		return Erased{}, nil
	}
	if err := write(path, out); err != nil {
		return Erased{}, fmt.Errorf("erase: write the file: %w", err)
	}
	return Erased{Scrubbed: 1}, nil
}

func walkFiles(ctx context.Context, dir string, s *Scrubber, each func(path string) (Erased, error)) (n Erased, err error) {
	if len(s.wanted) == 0 {
		return n, nil
	}
	err = filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if err != nil {
			return err
		}
		if err := ctx.Err(); err != nil || !d.Type().IsRegular() {
			return err
		}
		m, err := each(path)
		n = n.Add(m)
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		return err
	})
	if err != nil {
		return n, fmt.Errorf("erase: scan %s: %w", dir, err)
	}
	return n, nil
}

// FileHas reports whether a file contains one of the phrases.
func (s *Scrubber) FileHas(path string) (bool, error) {
	f, err := os.Open(path)
	if err != nil {
		return false, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return false, err
	}
	overlap := int64(s.maxEncodedLen())
	for from := int64(0); from < max(info.Size(), 1); from += largest {
		part, err := io.ReadAll(io.NewSectionReader(f, from, largest+overlap))
		if err != nil || len(s.findSpans(part, 0)) > 0 {
			return err == nil, err
		}
	}
	return false, nil
}
