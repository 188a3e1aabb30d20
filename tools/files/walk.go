package files

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"hob/platform/text/sorting"
	"hob/platform/text/textnorm"
)

// heavyFolders lists the names of folders with generated or third-party files. Searches skip them.
var heavyFolders = []string{"node_modules", "bower_components", "__pycache__", "site-packages", "venv", "$recycle.bin", "system volume information"}

// maxDepth limits the depth of a walk, and maxNames limits the names read from one folder.
const (
	maxDepth = 16
	maxNames = 20_000
)

// walkEntry is one item that a walk found. dir is the open folder that contains the item.
type walkEntry struct {
	dir  *os.Root
	name string
	rel  string // path relative to the start of the walk, with slashes
	abs  string
	info fs.FileInfo
}

// treeWalk visits the files and folders below an open folder in order of their names. It does not
// follow links. It counts all omitted entries, so that an incomplete result is always recognizable.
type treeWalk struct {
	f         *Files
	recursive bool
	hidden    bool
	limit     int // maximum number of visited entries; 0 means no limit
	visit     func(e walkEntry) error

	seen    int
	left    map[string]int // number of omitted entries by reason
	heavies []string
	stopped string // reason why the walk ended early; "" if it did not
}

var errStop = errors.New("stop")

func (w *treeWalk) walkTree(ctx context.Context, dir *os.Root, abs string) error {
	w.left = map[string]int{}
	err := w.walkFolder(ctx, dir, abs, "", 0)
	if errors.Is(err, errStop) {
		return nil
	}
	return err
}

func (w *treeWalk) walkFolder(ctx context.Context, dir *os.Root, abs, rel string, depth int) error {
	names, err := w.readNames(dir)
	if err != nil {
		return err
	}
	for _, name := range names {
		if err := ctx.Err(); err != nil {
			return err
		}
		info, err := dir.Lstat(name)
		if err != nil {
			w.left["unreadable item"]++
			continue
		}
		e := walkEntry{dir: dir, name: name, rel: path.Join(rel, name), abs: filepath.Join(abs, name), info: info}
		if !w.isIncluded(e) {
			continue
		}
		if w.limit > 0 && w.seen >= w.limit {
			w.stopped = "the search stopped after " + textnorm.CountNoun(w.limit, "entry", "entries")
			return errStop
		}
		w.seen++
		if err := w.visit(e); err != nil {
			return err
		}
		if info.IsDir() && w.recursive {
			if err := w.descendInto(ctx, e, depth); err != nil {
				return err
			}
		}
	}
	return nil
}

func (w *treeWalk) readNames(dir *os.Root) ([]string, error) {
	d, err := dir.Open(".")
	if err != nil {
		return nil, err
	}
	defer d.Close()
	names, err := d.Readdirnames(maxNames)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	if len(names) == maxNames {
		if more, _ := d.Readdirnames(1); len(more) > 0 {
			w.left["names beyond the first 20,000 of a folder"]++
		}
	}
	sorting.ByFunc(names, func(a, b string) int {
		if c := strings.Compare(strings.ToLower(a), strings.ToLower(b)); c != 0 {
			return c
		}
		return strings.Compare(a, b)
	})
	return names, nil
}

// isIncluded reports whether a walk includes an entry. It counts the entries that are not included.
func (w *treeWalk) isIncluded(e walkEntry) bool {
	switch {
	case w.f.checkProtected(e.abs, e.rel) != nil:
		w.left["protected item"]++
	case !w.hidden && strings.HasPrefix(e.name, "."):
		w.left["hidden item"]++
	case e.info.Mode()&(fs.ModeDevice|fs.ModeNamedPipe|fs.ModeSocket) != 0:
		w.left["special item"]++
	default:
		return true
	}
	return false
}

func (w *treeWalk) descendInto(ctx context.Context, e walkEntry, depth int) error {
	if depth+1 >= maxDepth {
		w.left["deeper than 16 folders"]++
		return nil
	}
	if slices.Contains(heavyFolders, strings.ToLower(e.name)) {
		w.leaveOut(e.name)
		return nil
	}
	sub, err := openSubfolder(e.dir, e.name)
	if err != nil {
		w.left["unreadable item"]++
		return nil //nolint:nilerr // the result mentions unreadable items
	}
	defer func() { _ = sub.Close() }()
	if _, err := sub.Lstat("CACHEDIR.TAG"); err == nil { // https://bford.info/cachedir/
		w.leaveOut(e.name)
		return nil
	}
	err = w.walkFolder(ctx, sub, e.abs, e.rel, depth+1)
	if err != nil && !errors.Is(err, errStop) && ctx.Err() == nil && errors.Is(err, fs.ErrPermission) {
		w.left["unreadable item"]++
		return nil
	}
	return err
}

func (w *treeWalk) leaveOut(name string) {
	if !slices.Contains(w.heavies, name) && len(w.heavies) < 5 {
		w.heavies = append(w.heavies, name)
	}
	w.left["heavy"]++
}

// manySkipped returns the plural of a reason in treeWalk.left.
var manySkipped = strings.NewReplacer("item", "items", "match in a file", "matches in files")

// skippedText describes the omitted items. It returns "" if there are none.
func (w *treeWalk) skippedText() string {
	var parts []string
	if w.stopped != "" {
		parts = append(parts, w.stopped)
	}
	for _, k := range slices.Sorted(func(yield func(string) bool) {
		for k := range w.left {
			if !yield(k) {
				return
			}
		}
	}) {
		switch k {
		case "heavy":
			parts = append(parts, "the content of "+strings.Join(w.heavies, ", ")+" was left out")
		case "names beyond the first 20,000 of a folder", "deeper than 16 folders":
			parts = append(parts, "everything "+strings.TrimPrefix(k, "names ")+" was left out")
		default:
			parts = append(parts, textnorm.CountNoun(w.left[k], k+" was", manySkipped.Replace(k)+" were")+" left out")
		}
	}
	if len(parts) == 0 {
		return ""
	}
	return "(Not complete: " + strings.Join(parts, "; ") + ".)"
}
