// Package results stores the full text of shortened tool results, so that the model can read the
// omitted parts later. Each call has one private file, named after the call id; the total size and
// the age of the files are limited. The ledger records the provenance and the conversation. Package
// turn stores the results; the tool read_result reads them.
package results

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"time"

	"hob/platform/host/system"
	"hob/platform/text/lazyregexp"
	"hob/platform/text/sorting"
)

// Options holds the options of New.
type Options struct {
	Dir string // created with mode 0700 when the first result is stored
	// MaxFile is the maximum stored size of one result in bytes (default 16 MB). MaxTotal is the
	// maximum for all results (default 128 MB).
	MaxFile, MaxTotal int64
	// MaxAge is how long a result is stored (default 30 days).
	MaxAge time.Duration
}

// Store stores results. It may be used concurrently.
type Store struct {
	o Options

	mu    sync.Mutex
	swept time.Time // time of the last cleanup
	since int64     // bytes stored since the last cleanup
}

// New returns a Store after checking the options.
func New(o Options) (*Store, error) {
	if !filepath.IsAbs(o.Dir) {
		return nil, errors.New("results: Dir must be an absolute path")
	}
	o.MaxFile = cmp.Or(o.MaxFile, 16<<20)
	o.MaxTotal = cmp.Or(o.MaxTotal, 128<<20)
	o.MaxAge = cmp.Or(o.MaxAge, 30*24*time.Hour)
	return &Store{o: o}, nil
}

// Open returns a Store of a folder after removing old results.
func Open(dir string, log *slog.Logger) (*Store, error) {
	s, err := New(Options{Dir: dir})
	if err != nil {
		return nil, err
	}
	if err := s.Sweep(); err != nil {
		log.Warn("cannot remove old results", "err", err)
	}
	return s, nil
}

// ErrGone is returned if the result of a call was never stored or has been deleted.
var ErrGone = errors.New("the result of this call is not stored or was deleted")

// callName matches the call ids that are allowed as file names.
var callName = lazyregexp.New(`^[A-Za-z0-9_-]+$`)

func (k *Store) filePath(call string) (string, error) {
	if len(call) > 100 || !callName.MatchString(call) {
		return "", ErrGone
	}
	return filepath.Join(k.o.Dir, call+".txt"), nil
}

// Put stores the result of a call. An existing result stays unchanged.
func (k *Store) Put(call, text string) error {
	path, err := k.filePath(call)
	if err != nil {
		return fmt.Errorf("results: %q is not a call id", call)
	}
	if _, err := os.Lstat(path); err == nil {
		return nil
	}
	text = text[:min(int64(len(text)), k.o.MaxFile)]
	if err := writeFile(k.o.Dir, path, text); err != nil {
		return fmt.Errorf("results: store a result: %w", err)
	}
	k.mu.Lock()
	k.since += int64(len(text))
	due := k.since > k.o.MaxTotal/8 || time.Since(k.swept) > time.Hour
	k.mu.Unlock()
	if due {
		return k.Sweep()
	}
	return nil
}

// writeFile creates the file atomically. It does not sync the file, which may be missing after a
// power failure. Get reports a missing file.
func writeFile(dir, path, text string) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	f, err := os.CreateTemp(dir, ".new-*") // CreateTemp uses mode 0600
	if err != nil {
		return err
	}
	_, err = f.WriteString(text)
	err = errors.Join(err, f.Close())
	if err == nil {
		err = system.Rename(f.Name(), path)
	}
	if err != nil {
		return errors.Join(err, os.Remove(f.Name()))
	}
	return nil
}

// Get returns the stored result of a call, or ErrGone.
func (k *Store) Get(call string) (string, error) {
	path, err := k.filePath(call)
	if err != nil {
		return "", err
	}
	b, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return "", ErrGone
	}
	if err != nil {
		return "", fmt.Errorf("results: read a result: %w", err)
	}
	return string(b), nil
}

// Sweep deletes files older than the age limit. It then deletes the oldest files until the total is
// within the size limit.
func (k *Store) Sweep() error {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.swept, k.since = time.Now(), 0
	entries, err := os.ReadDir(k.o.Dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("results: list old results: %w", err)
	}
	infos := make([]fs.FileInfo, 0, len(entries))
	for _, e := range entries {
		if info, err := e.Info(); err == nil && info.Mode().IsRegular() {
			infos = append(infos, info)
		}
	}
	sorting.ByFunc(infos, func(a, b fs.FileInfo) int { return b.ModTime().Compare(a.ModTime()) }) // newest first
	var total int64
	var failed error
	for _, i := range infos {
		total += i.Size()
		if total <= k.o.MaxTotal && time.Since(i.ModTime()) <= k.o.MaxAge {
			continue
		}
		if err := os.Remove(filepath.Join(k.o.Dir, i.Name())); err != nil && !errors.Is(err, fs.ErrNotExist) {
			failed = errors.Join(failed, err)
		}
	}
	if failed != nil {
		return fmt.Errorf("results: remove old results: %w", failed)
	}
	return nil
}
