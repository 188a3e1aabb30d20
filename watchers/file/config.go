package file

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"hob/watchers"
)

// The events.
const (
	created  = "created"
	modified = "modified"
	removed  = "removed"
)

// config is the configuration of a watcher.
type config struct {
	Path      string   `json:"path"`                // a folder or a file; ~ means the home folder
	Pattern   string   `json:"pattern,omitempty"`   // patterns for file names such as "*.pdf;*.{doc,docx}", case-insensitive
	Events    []string `json:"events,omitempty"`    // created, modified, removed; default created
	Recursive bool     `json:"recursive,omitempty"` // include all subfolders
}

// settings is a validated configuration.
type settings struct {
	root      string // absolute
	patterns  []string
	events    []string
	recursive bool
}

func (c settings) wantsEvent(event string) bool { return slices.Contains(c.events, event) }

func (d *Driver) parseConfig(raw json.RawMessage) (settings, error) {
	var c config
	if err := watchers.Decode(raw, &c); err != nil {
		return settings{}, fmt.Errorf("file: %w", err)
	}
	if d.mapPath != nil {
		c.Path = d.mapPath(c.Path)
	}
	root, err := expandPath(c.Path)
	if err != nil {
		return settings{}, err
	}
	s := settings{root: root, recursive: c.Recursive}
	if s.patterns, err = parsePatterns(c.Pattern); err != nil {
		return settings{}, err
	}
	for _, e := range c.Events {
		if e != created && e != modified && e != removed {
			return settings{}, fmt.Errorf("file: unknown event %q; use created, modified or removed", e)
		}
		if !slices.Contains(s.events, e) {
			s.events = append(s.events, e)
		}
	}
	if len(s.events) == 0 {
		s.events = []string{created}
		if fi, err := os.Stat(root); err == nil && !fi.IsDir() {
			s.events = []string{created, modified} // for a single file, watch its changes
		}
	}
	return s, nil
}

// expandPath returns the absolute form of a path; "~" means the user's home folder.
func expandPath(path string) (string, error) {
	switch {
	case path == "":
		return "", fmt.Errorf(`file: "path" is missing; it is the folder to watch, such as "~/Downloads"`)
	case strings.ContainsRune(path, 0):
		return "", fmt.Errorf("file: the path contains a zero byte")
	}
	rest, ok := strings.CutPrefix(path, "~")
	if ok && (rest == "" || os.IsPathSeparator(rest[0])) {
		home, err := os.UserHomeDir()
		if err != nil {
			return "", fmt.Errorf("file: %q: home folder unknown: %w", path, err)
		}
		return filepath.Join(home, rest), nil
	}
	if !filepath.IsAbs(path) {
		return "", fmt.Errorf(`file: %q is not an absolute path; start it with the root or with "~/"`, path)
	}
	return filepath.Clean(path), nil
}

// tildePath formats a path for the user, with ~ for the home folder.
func tildePath(path string) string {
	home, err := os.UserHomeDir()
	if err != nil || home == "" || home == string(filepath.Separator) {
		return plainText(path)
	}
	if rel, ok := relativeTo(home, path); ok {
		return plainText(filepath.Join("~", rel))
	}
	return plainText(path)
}

// relativeTo returns path relative to dir ("." for dir itself), and false if path is not in dir.
func relativeTo(dir, path string) (string, bool) {
	if path == dir {
		return ".", true
	}
	if !os.IsPathSeparator(dir[len(dir)-1]) {
		dir += string(filepath.Separator)
	}
	return strings.CutPrefix(path, dir)
}

// rejectPath rejects folders of virtual files and Hob's own folder. In Hob's folder each notice
// would change files, which would cause the next notice.
func rejectPath(path, home string) error {
	real := path
	if r, err := filepath.EvalSymlinks(path); err == nil {
		real = r
	}
	if isVirtual(path) || isVirtual(real) {
		return fmt.Errorf("file: cannot watch %s: it is a virtual file system", plainText(path))
	}
	if samePlace(path, home) {
		return fmt.Errorf("file: %s is Hob's own folder; watch another folder", plainText(path))
	}
	return nil
}

// samePlace reports whether both paths exist and refer to the same file or folder.
func samePlace(a, b string) bool {
	fa, err := os.Stat(a)
	if err != nil {
		return false
	}
	fb, err := os.Stat(b)
	return err == nil && os.SameFile(fa, fb)
}

func isVirtual(path string) bool {
	for _, dir := range []string{"/proc", "/sys", "/dev"} {
		if _, in := relativeTo(dir, filepath.ToSlash(path)); in {
			return true
		}
	}
	return false
}
