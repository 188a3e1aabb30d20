package files

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"

	"hob/platform/text/textnorm"
	"hob/tools"
)

// maxPath is the maximum length of a path in bytes, and maxLinks the maximum number of links in it.
const (
	maxPath  = 4096
	maxLinks = 40
)

// expandHome replaces a leading "~".
func (f *Files) expandHome(path string) (string, error) {
	switch {
	case path == "~":
		return f.home, nil
	case strings.HasPrefix(path, "~/"), runtime.GOOS == "windows" && strings.HasPrefix(path, `~\`):
		return filepath.Join(f.home, path[2:]), nil
	case strings.HasPrefix(path, "~"):
		return "", tools.Errorf(tools.InvalidArguments, "%s: only ~/ is supported, not the home folders of other users", tools.Clean(textnorm.Ellipsize(path, 60)))
	}
	return path, nil
}

// cleanPath converts a path to an absolute path without "." and "..". A relative path is relative
// to the first allowed folder.
func (f *Files) cleanPath(path string) (string, error) {
	path = strings.TrimSpace(path)
	switch {
	case path == "":
		return "", tools.Errorf(tools.InvalidArguments, "the path is empty")
	case len(path) > maxPath:
		return "", tools.Errorf(tools.InvalidArguments, "the path is longer than %d bytes", maxPath)
	case strings.ContainsRune(path, 0):
		return "", tools.Errorf(tools.InvalidArguments, "the path contains a NUL byte")
	}
	path, err := f.expandHome(path)
	if err != nil {
		return "", err
	}
	if !filepath.IsAbs(path) {
		// Windows paths such as "\x" and "C:x" are neither absolute nor relative to a folder.
		if filepath.VolumeName(path) != "" || os.IsPathSeparator(path[0]) {
			return "", tools.Errorf(tools.InvalidArguments, "%s: give the absolute path with its drive", tools.Clean(textnorm.Ellipsize(path, 60)))
		}
		if len(f.allowed) == 0 {
			return "", f.notAllowed(path, "")
		}
		path = filepath.Join(f.allowed[0], path)
	}
	return filepath.Clean(path), nil
}

// findAllowedFolder returns the outermost allowed folder that contains abs, and the path relative
// to it. It also compares the resolved name of a folder, because /tmp is /private/tmp on macOS.
func (f *Files) findAllowedFolder(abs string) (folder, rel string, ok bool) {
	for _, a := range f.allowed {
		r, in := relativeTo(a, abs)
		if !in {
			if real, err := filepath.EvalSymlinks(a); err == nil {
				r, in = relativeTo(real, abs)
			}
		}
		if in && (!ok || len(a) < len(folder)) {
			folder, rel, ok = a, r, true
		}
	}
	return folder, rel, ok
}

// relativeTo returns the path of abs relative to folder, or "." for folder itself.
func relativeTo(folder, abs string) (string, bool) {
	if len(abs) < len(folder) || !sameName(abs[:len(folder)], folder) {
		return "", false
	}
	rest := abs[len(folder):]
	if rest == "" {
		return ".", true
	}
	if os.IsPathSeparator(folder[len(folder)-1]) {
		return rest, true
	}
	if !os.IsPathSeparator(rest[0]) {
		return "", false
	}
	return rest[1:], true
}

// sameName compares names as the platform's usual file system does.
func sameName(a, b string) bool {
	if runtime.GOOS == "windows" || runtime.GOOS == "darwin" {
		return strings.EqualFold(a, b)
	}
	return a == b
}

func splitPath(rel string) []string {
	if rel == "." || rel == "" {
		return nil
	}
	return strings.Split(filepath.ToSlash(rel), "/")
}

// resolvedPath is a path below a root. None of its components is a link.
type resolvedPath struct {
	rel    string
	info   fs.FileInfo // nil if the item does not exist
	linked bool        // the last component of the requested path is a link
}

// resolveLinks follows the links in rel, so that the path that is checked is the path that is
// opened. It rejects links to targets outside the folder.
func (f *Files) resolveLinks(root *os.Root, abs, rel string) (resolvedPath, error) {
	base := root.Name()
	todo := splitPath(rel)
	given := len(todo)
	out := resolvedPath{rel: "."}
	info, err := root.Lstat(".")
	if err != nil {
		return out, err
	}
	out.info = info
	for links := 0; len(todo) > 0; {
		c := todo[0]
		todo = todo[1:]
		if !checkComponent(c) {
			return out, tools.Errorf(tools.InvalidArguments, "%q cannot be part of a path", textnorm.Ellipsize(c, 60))
		}
		next := filepath.Join(out.rel, c)
		fi, err := root.Lstat(next)
		if errors.Is(err, fs.ErrNotExist) {
			for _, t := range todo {
				if !checkComponent(t) {
					return out, tools.Errorf(tools.InvalidArguments, "%q cannot be part of a path", textnorm.Ellipsize(t, 60))
				}
			}
			return resolvedPath{rel: filepath.Join(append([]string{next}, todo...)...)}, nil
		}
		if err != nil {
			return out, err
		}
		if fi.Mode()&fs.ModeSymlink == 0 {
			out.rel, out.info = next, fi
			continue
		}
		out.linked = len(todo) == 0 && links == 0 && given > 0
		if links++; links > maxLinks {
			return out, f.notAllowed(abs, "too many links in the path")
		}
		target, err := root.Readlink(next)
		if err != nil {
			return out, err
		}
		if target, err = relativeLinkTarget(base, out.rel, target); err != nil {
			return out, f.notAllowed(abs, "a link in the path leads out of the folder")
		}
		todo = append(splitPath(target), todo...)
		out.rel, out.info = ".", info
	}
	return out, nil
}

var errOutward = errors.New("the link leads out of the folder")

// relativeLinkTarget returns the target of a link relative to base. It fails if the target is
// outside base.
func relativeLinkTarget(base, dir, target string) (string, error) {
	if filepath.IsAbs(target) {
		rel, ok := relativeTo(base, filepath.Clean(target))
		if !ok {
			return "", errOutward
		}
		return rel, nil
	}
	rel := filepath.Join(dir, target)
	if filepath.VolumeName(target) != "" || !filepath.IsLocal(rel) {
		return "", errOutward
	}
	return rel, nil
}

// checkComponent reports whether c has the same meaning on all systems. It returns false for names
// that Windows interprets differently: streams ("a:b"), short names ("PROGRA~1"), and names with
// trailing dots or spaces.
func checkComponent(c string) bool {
	if c == "" || c == "." || c == ".." {
		return false
	}
	if runtime.GOOS != "windows" {
		return true
	}
	if i := strings.LastIndexByte(c, '~'); i >= 0 && i+1 < len(c) && c[i+1] >= '0' && c[i+1] <= '9' {
		return false
	}
	return !strings.ContainsAny(c, `:*?"<>|`) && strings.TrimRight(c, ". ") == c && filepath.IsLocal(c)
}

// Watchable returns an error if a folder that the owner named must not be watched. All folders
// except protected folders may be watched, including folders outside the allowed folders.
func (f *Files) Watchable(path string) error {
	abs, err := f.expandHome(path)
	if err != nil {
		return err
	}
	if real, err := filepath.EvalSymlinks(abs); err == nil {
		abs = real
	}
	return f.checkProtected(abs, f.displayPath(abs))
}
