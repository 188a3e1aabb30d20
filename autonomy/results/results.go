// Package results keeps what was left out of long tool results, so that the
// model may read it later: one private file for each call, named after it,
// bounded in number of bytes and in age. Whose text it is, and in which
// conversation it was made, stands in the ledger. The agent puts results in;
// the tool read_result reads them.
package results

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"sync"
	"time"

	"hob/platform/system"
)

// Options of New.
type Options struct {
	Dir string // made with 0700 when the first result is kept
	// MaxFile is the longest part of one result that is kept, in bytes (default
	// 16 MB); MaxTotal bounds all of them (default 128 MB).
	MaxFile, MaxTotal int64
	// MaxAge is how long a result is kept (default 30 days).
	MaxAge time.Duration
}

// Keeper keeps results. It may be used concurrently.
type Keeper struct {
	o Options

	mu    sync.Mutex
	swept time.Time // when files were last removed
	since int64     // bytes kept since then
}

// New checks the options.
func New(o Options) (*Keeper, error) {
	if !filepath.IsAbs(o.Dir) {
		return nil, errors.New("results: Dir must be an absolute path")
	}
	o.MaxFile = cmp.Or(o.MaxFile, 16<<20)
	o.MaxTotal = cmp.Or(o.MaxTotal, 128<<20)
	o.MaxAge = cmp.Or(o.MaxAge, 30*24*time.Hour)
	return &Keeper{o: o}, nil
}

// ErrGone means that no result of this call is kept, or not any more.
var ErrGone = errors.New("no result of this call is kept any more")

// callName is what call ids look like; nothing else becomes a file name.
var callName = regexp.MustCompile(`^[A-Za-z0-9_-]+$`)

func (k *Keeper) path(call string) (string, error) {
	if len(call) > 100 || !callName.MatchString(call) {
		return "", ErrGone
	}
	return filepath.Join(k.o.Dir, call+".txt"), nil
}

// Put keeps the result of a call; one that is kept already stays.
func (k *Keeper) Put(call, text string) error {
	path, err := k.path(call)
	if err != nil {
		return fmt.Errorf("results: %q is no call", call)
	}
	if _, err := os.Lstat(path); err == nil {
		return nil
	}
	text = text[:min(int64(len(text)), k.o.MaxFile)]
	if err := write(k.o.Dir, path, text); err != nil {
		return fmt.Errorf("results: %w", err)
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

// write makes the file appear as a whole. It is not synced: after a power cut
// it may be gone, which is what the reader is told then.
func write(dir, path, text string) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	f, err := os.CreateTemp(dir, ".new-*") // made with 0600
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

// Get returns what is kept of a call's result, or ErrGone.
func (k *Keeper) Get(call string) (string, error) {
	path, err := k.path(call)
	if err != nil {
		return "", err
	}
	b, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return "", ErrGone
	}
	if err != nil {
		return "", fmt.Errorf("results: %w", err)
	}
	return string(b), nil
}

// Sweep removes what is too old, and the oldest of what is too much.
func (k *Keeper) Sweep() error {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.swept, k.since = time.Now(), 0
	entries, err := os.ReadDir(k.o.Dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("results: %w", err)
	}
	infos := make([]fs.FileInfo, 0, len(entries))
	for _, e := range entries {
		if info, err := e.Info(); err == nil && info.Mode().IsRegular() {
			infos = append(infos, info)
		}
	}
	slices.SortFunc(infos, func(a, b fs.FileInfo) int { return b.ModTime().Compare(a.ModTime()) }) // newest first
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
		return fmt.Errorf("results: %w", failed)
	}
	return nil
}
