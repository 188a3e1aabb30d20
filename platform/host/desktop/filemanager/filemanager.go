// Package filemanager shows a file in its folder in the user's file manager: the program behind
// org.freedesktop.FileManager1 on Linux, Finder on macOS, Explorer on Windows.
package filemanager

import (
	"context"
	"errors"
	"net/url"
	"os"
	"strings"
	"time"
)

// ErrNone means that no file manager responds.
var ErrNone = errors.New("no file manager found that can show files")

// Options of a Manager; the zero value is useful.
type Options struct {
	// Getenv is os.Getenv unless a test replaces it.
	Getenv func(string) string
	// Wait is the timeout for the file manager (default 10 s).
	Wait time.Duration
}

// Manager is the user's file manager.
type Manager struct{ opt Options }

// New returns a Manager. It starts no program.
func New(o Options) *Manager {
	if o.Getenv == nil {
		o.Getenv = os.Getenv
	}
	if o.Wait <= 0 {
		o.Wait = 10 * time.Second
	}
	return &Manager{o}
}

// Reveal shows the folder of an absolute path and selects the file or folder in it.
func (f *Manager) Reveal(ctx context.Context, path string) error {
	if strings.ContainsAny(path, "\x00\"") && os.PathSeparator == '\\' || strings.ContainsRune(path, 0) {
		return errors.New("invalid file name")
	}
	ctx, cancel := context.WithTimeout(ctx, f.opt.Wait)
	defer cancel()
	return f.revealPath(ctx, path)
}

// fileURL returns the percent-encoded file URL of a path.
func fileURL(path string) string { return (&url.URL{Scheme: "file", Path: path}).String() }
