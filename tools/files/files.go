// Package files provides the tools for the owner's files: read_file, write_file, list_directory,
// search_files, move_file and trash_file.
//
// The tools access only the allowed folders. A path is resolved component by component below an
// os.Root, including links. Then the parent folder is opened through the same components. If a
// component has become a link in the meantime, the call fails. All file operations use the handle
// of the parent folder. Locations that contain keys or start programs cannot be read or written,
// even inside an allowed folder. The guard decides whether a call needs approval.
package files

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"hob/platform/host/denypaths"
	"hob/platform/host/trash"
	"hob/platform/provenance"
	"hob/platform/store"
	"hob/tools"
)

// Trash moves files to the trash; *trash.Store implements it.
type Trash interface {
	Put(dir *os.Root, name string, at time.Time) (trash.Item, error)
	Restore(item trash.Item, dir *os.Root, name string) error
}

// Options of New. Paths are absolute or begin with "~/".
type Options struct {
	Allowed []string // folders that may be read and changed; a relative path is relative to the first
	Trusted []string // folders whose files count as the owner's own words
	// Drop is the folder for new files that Hob writes. It is also an allowed folder.
	Drop string
	// Protected are additional folders that are inaccessible even inside an allowed folder, such as
	// Hob's own home folder.
	Protected []string
	Home      string // folder to which "~" expands (default os.UserHomeDir)
	// UndoDir contains the earlier contents of overwritten files. If it is empty, nothing is saved,
	// and overwriting cannot be undone.
	UndoDir string
	MaxFile int64 // maximum size of a file to read, write or save for undo, in bytes (default 10 MB)
	Trash   Trash // default: the trash of the desktop
	// Index finds files through the system's index. If it is nil, the folders are walked.
	Index Index
	// Store, opened with Migrations, records which files Hob wrote while the conversation contained
	// untrusted text. Without it, such a file in a trusted folder would count as trusted.
	Store *store.Store
}

// Files resolves paths and provides the tools. It is safe for concurrent use.
type Files struct {
	opt     Options
	home    string
	allowed []string
	trusted []string
	undo    contentStore
	marks   provenanceMarks
	places  *denypaths.Places
	mu      sync.Mutex // serializes writes, moves and trash operations
	runs    sync.Map   // ids of the tracked runs; see TrackChanges

	guidesMu sync.Mutex
	guides   map[string]readGuide // keyed by absolute path
}

// New validates the options and returns the file tools.
func New(opt Options) (*Files, error) {
	if opt.Home == "" {
		home, err := os.UserHomeDir()
		if err != nil {
			return nil, fmt.Errorf("files: %w; set HOME", err)
		}
		opt.Home = home
	}
	if opt.MaxFile <= 0 {
		opt.MaxFile = 10 << 20
	}
	if opt.Trash == nil {
		can, err := trash.New(trash.Options{Home: opt.Home})
		if err != nil {
			return nil, fmt.Errorf("files: open the trash: %w", err)
		}
		opt.Trash = can
	}
	f := &Files{opt: opt, home: filepath.Clean(opt.Home), undo: contentStore{dir: opt.UndoDir, max: opt.MaxFile}, marks: provenanceMarks{opt.Store}}
	for _, list := range []struct {
		from []string
		to   *[]string
	}{{append(slices.Clone(opt.Allowed), opt.Drop), &f.allowed}, {opt.Trusted, &f.trusted}} {
		for _, p := range list.from {
			if strings.TrimSpace(p) == "" {
				continue
			}
			abs, err := f.expandHome(p)
			if err != nil || !filepath.IsAbs(abs) {
				return nil, fmt.Errorf("files: the folder %q must be an absolute path or begin with ~/", p)
			}
			*list.to = append(*list.to, filepath.Clean(abs))
		}
	}
	own := make([]string, 0, len(opt.Protected))
	for _, p := range opt.Protected {
		if abs, err := f.expandHome(p); err == nil && abs != "" {
			own = append(own, filepath.Clean(abs))
		}
	}
	f.places = denypaths.New(denypaths.Options{Home: f.home, Own: own, Allowed: f.allowed})
	return f, nil
}

// Tools returns the category's tools.
func (f *Files) Tools() []tools.Tool {
	return []tools.Tool{f.readFile(), f.writeFile(), f.listDirectory(), f.searchFiles(), f.moveFile(), f.trashFile()}
}

// Place describes a path for the guard's rules.
type Place struct {
	Path    string // absolute, links resolved
	Exists  bool
	Folder  bool
	Trusted bool // the path is in a trusted folder
	Drop    bool // the path is in the drop folder
	// Inert is true if the path is not a dot-file, is not in a dot-folder and is not inside a
	// repository.
	Inert bool
}

// Locate resolves a path with the same checks as Inspect. It returns the absolute path, and whether
// the item is a folder.
func (f *Files) Locate(path string) (abs string, folder bool, err error) {
	p, err := f.Inspect(path)
	return p.Path, p.Folder, err
}

// Inspect resolves a path as the tools do and returns the same errors, including ErrNotAllowed and
// ErrProtected.
func (f *Files) Inspect(path string) (Place, error) {
	s, err := f.openSpot(path)
	if err != nil {
		return Place{}, err
	}
	defer s.Close()
	p := Place{Path: s.abs, Exists: s.info != nil, Folder: s.info != nil && s.info.IsDir(), Trusted: f.provenanceOf(s) == provenance.Owner}
	if f.opt.Drop != "" {
		if drop, err := f.expandHome(f.opt.Drop); err == nil {
			p.Drop = f.isInside(drop, s.abs)
		}
	}
	p.Inert = isInertPath(s)
	return p, nil
}

// ResolveExisting resolves the path of an existing file, for example of a file that an application
// will open. It returns the same errors as Inspect, and NotFound if the file does not exist.
func (f *Files) ResolveExisting(path string) (string, error) {
	p, err := f.Inspect(path)
	if err != nil {
		return "", err
	}
	if !p.Exists {
		return "", tools.Errorf(tools.NotFound, "there is no %s", f.Show(p.Path))
	}
	return p.Path, nil
}

// provenanceOf returns the provenance of the item at s. Names and contents are untrusted unless the
// owner trusts their folder.
func (f *Files) provenanceOf(s *openPath) provenance.Source {
	if f.isTrusted(s.abs) {
		return provenance.Owner
	}
	return provenance.Outside
}

// isTrusted reports whether a resolved path is in a trusted folder.
func (f *Files) isTrusted(abs string) bool {
	return slices.ContainsFunc(f.trusted, func(t string) bool { return f.isInside(t, abs) })
}

// isInside reports whether the resolved path abs is folder or a path below folder.
func (f *Files) isInside(folder, abs string) bool {
	if _, ok := relativeTo(folder, abs); ok {
		return true
	}
	real, err := filepath.EvalSymlinks(folder)
	if err != nil {
		return false
	}
	_, ok := relativeTo(real, abs)
	return ok
}

// displayPath shortens a path for the user: "~/Documents/a.txt".
func (f *Files) displayPath(abs string) string {
	if rel, ok := relativeTo(f.home, abs); ok {
		return filepath.Join("~", rel)
	}
	if real, err := filepath.EvalSymlinks(f.home); err == nil {
		if rel, ok := relativeTo(real, abs); ok {
			return filepath.Join("~", rel)
		}
	}
	return abs
}

// describeFileError converts a file system error to a tool error.
func (f *Files) describeFileError(what string, s *openPath, err error) error {
	if e, ok := errors.AsType[*tools.Error](err); ok {
		return e
	}
	name := s.errorLabel()
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return tools.Errorf(tools.NotFound, "there is no %s", name)
	case errors.Is(err, fs.ErrPermission):
		return &tools.Error{Code: tools.Failed, Source: provenance.Tool, Message: "no permission to " + what + " " + string(name), Remedy: "check the file's permissions", Err: err}
	case errors.Is(err, fs.ErrExist):
		return tools.Errorf(tools.Conflict, "%s already exists; nothing was changed", name)
	}
	return tools.Errorf(tools.CodeOf(err), "could not %s %s: %w", tools.Clean(what), name, err)
}
