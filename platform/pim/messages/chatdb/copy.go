package chatdb

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"
)

// fileState allows a comparison of two states of the database file and its log.
type fileState struct {
	main, log     int64
	mainAt, logAt time.Time
}

func stampOf(file string) (fileState, error) {
	var s fileState
	info, err := os.Stat(file)
	if err != nil {
		return s, err
	}
	s.main, s.mainAt = info.Size(), info.ModTime()
	if info, err = os.Stat(file + logEnd); err == nil && info.Mode().IsRegular() {
		s.log, s.logAt = info.Size(), info.ModTime()
	}
	return s, nil
}

// copyName is the pattern of the folders with copies.
const copyName = "messages-*"

// RemoveStaleCopies removes copies within temp that a killed process left behind. It keeps recent
// copies, because they may be in use.
func RemoveStaleCopies(temp string) {
	old, err := filepath.Glob(filepath.Join(temp, copyName))
	if err != nil {
		return // the path temp contains pattern characters
	}
	for _, dir := range old {
		if info, err := os.Lstat(dir); err == nil && info.IsDir() && time.Since(info.ModTime()) > time.Hour {
			_ = os.RemoveAll(dir)
		}
	}
}

// copies is the maximum number of attempts to copy a changing file.
const copies = 5

// openCopy copies the database with its log. It does not copy the log index (-shm), which contains
// the state of other processes. SQLite rebuilds the index from the log.
func openCopy(ctx context.Context, file, temp string) (_ *DB, err error) {
	if temp != "" {
		if err := os.MkdirAll(temp, 0o700); err != nil {
			return nil, fmt.Errorf("copy the Messages database: %w", err)
		}
	}
	dir, err := os.MkdirTemp(temp, copyName)
	if err != nil {
		return nil, fmt.Errorf("copy the Messages database: %w", err)
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, os.RemoveAll(dir))
		}
	}()
	to := filepath.Join(dir, "chat.db")
	for range copies {
		before, err := stampOf(file)
		if err != nil {
			return nil, err
		}
		if err := errors.Join(copyFile(file, to), copyFile(file+logEnd, to+logEnd)); err != nil {
			return nil, fmt.Errorf("copy the Messages database: %w", err)
		}
		if after, err := stampOf(file); err != nil || after != before || ctx.Err() != nil {
			if err = errors.Join(err, ctx.Err()); err != nil {
				return nil, err
			}
			continue
		}
		d, err := openInPlace(ctx, to)
		if err != nil {
			return nil, err
		}
		d.file, d.private, d.from = file, dir, before
		return d, nil
	}
	return nil, fmt.Errorf("copy the Messages database: the database changed during each of %d attempts; try again later", copies)
}

// copyFile copies a regular file. It does nothing if the file does not exist.
func copyFile(from, to string) error {
	info, err := os.Stat(from)
	if errors.Is(err, fs.ErrNotExist) || err == nil && !info.Mode().IsRegular() {
		if err := os.Remove(to); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		return nil
	}
	if err != nil {
		return err
	}
	in, err := os.Open(from) //nolint:gosec // the user chooses the file
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := os.OpenFile(to, os.O_CREATE|os.O_WRONLY|os.O_TRUNC, 0o600) //nolint:gosec // in Hob's private folder
	if err != nil {
		return err
	}
	_, err = io.Copy(out, in)
	return errors.Join(err, out.Close())
}
