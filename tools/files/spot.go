package files

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"hob/platform/provenance"
	"hob/tools"
)

// openPath is a resolved path with an open handle of its allowed folder.
type openPath struct {
	f      *Files
	root   *os.Root // the allowed folder
	rel    string   // relative to root, without links
	abs    string
	given  string      // absolute path as given by the caller, links not resolved
	info   fs.FileInfo // nil if the item does not exist
	linked bool
}

// openSpot resolves a path from a model or the owner and opens its allowed folder. The caller must
// close the result.
func (f *Files) openSpot(path string) (*openPath, error) { return f.locateSpot(path, false) }

// folderAt works like openSpot, for tools that operate on a folder.
func (f *Files) folderAt(path string) (*openPath, error) { return f.locateSpot(path, true) }

func (f *Files) locateSpot(path string, isFolder bool) (*openPath, error) {
	abs, err := f.cleanPath(path)
	if err != nil {
		return nil, err
	}
	folder, rel, ok := f.findAllowedFolder(abs)
	switch {
	case !ok && isFolder:
		return nil, f.folderNotAllowed(abs)
	case !ok:
		return nil, f.notAllowed(abs, "")
	}
	real, err := filepath.EvalSymlinks(folder)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, &tools.Error{
			Code: tools.NotFound, Source: provenance.Tool, Err: err, Message: "the allowed folder " + f.displayPath(folder) + " does not exist",
			Remedy: "create the folder, or remove it from files.allowed",
		}
	}
	if err != nil {
		return nil, tools.Errorf(tools.Failed, "could not open %s: %w", tools.Clean(f.displayPath(folder)), err)
	}
	root, err := os.OpenRoot(real)
	if err != nil {
		return nil, tools.Errorf(tools.Failed, "could not open %s: %w", tools.Clean(f.displayPath(folder)), err)
	}
	s := &openPath{f: f, root: root, abs: abs, given: abs}
	r, err := f.resolveLinks(root, abs, rel)
	if err == nil {
		s.rel, s.info, s.linked = r.rel, r.info, r.linked
		s.abs = filepath.Join(real, r.rel)
		err = f.checkProtected(s.abs, s.errorLabel())
	}
	if err != nil {
		s.Close()
		return nil, f.describeFileError("access", s, err)
	}
	return s, nil
}

// Close closes the handle of the allowed folder.
func (s *openPath) Close() { _ = s.root.Close() }

// displayName returns the path as given by the caller. It does not contain names to which links
// lead, because other people may have chosen them.
func (s *openPath) displayName() string { return s.f.displayPath(s.given) }

// errorLabel returns the path for error messages. It contains only text from the caller.
func (s *openPath) errorLabel() tools.Clean { return tools.Clean(s.displayName()) }

// dirName returns the path of the parent folder relative to the root, and the name of the item in
// the parent folder.
func (s *openPath) dirName() (dir, name string) { return filepath.Dir(s.rel), filepath.Base(s.rel) }

var errMoved = errors.New("a folder in the path was replaced during the call")

// openDir opens a folder below root. Its components must not be links: each component must be the
// same folder before and after it is opened.
func openDir(root *os.Root, rel string) (*os.Root, error) {
	cur, err := root.OpenRoot(".")
	if err != nil {
		return nil, err
	}
	for _, c := range splitPath(rel) {
		next, err := openSubfolder(cur, c)
		_ = cur.Close()
		if err != nil {
			return nil, err
		}
		cur = next
	}
	return cur, nil
}

func openSubfolder(dir *os.Root, name string) (*os.Root, error) {
	before, err := dir.Lstat(name)
	if err != nil {
		return nil, err
	}
	if !before.IsDir() {
		return nil, &fs.PathError{Op: "open", Path: name, Err: errors.New("not a folder")}
	}
	next, err := dir.OpenRoot(name)
	if err != nil {
		return nil, err
	}
	after, err := next.Stat(".")
	if err == nil && !os.SameFile(before, after) {
		err = errMoved
	}
	if err != nil {
		_ = next.Close()
		return nil, err
	}
	return next, nil
}

// openParent opens the parent folder of the path. If create is set, it creates missing folders and
// returns their paths relative to the root, outermost first.
func (s *openPath) openParent(create bool) (dir *os.Root, made []string, err error) {
	rel, _ := s.dirName()
	if create {
		done := "."
		for _, c := range splitPath(rel) {
			done = filepath.Join(done, c)
			switch err := s.root.Mkdir(done, 0o777); {
			case err == nil:
				made = append(made, done)
			case !errors.Is(err, fs.ErrExist):
				s.removeCreated(made)
				return nil, nil, err
			}
		}
	}
	dir, err = openDir(s.root, rel)
	if err != nil {
		s.removeCreated(made)
		return nil, nil, err
	}
	return dir, made, nil
}

// removeCreated removes the folders that openParent created, unless they contain items.
func (s *openPath) removeCreated(made []string) {
	for i := len(made) - 1; i >= 0; i-- {
		if s.root.Remove(made[i]) != nil {
			return
		}
	}
}

// openFolder opens the path itself as a folder.
func (s *openPath) openFolder() (*os.Root, error) {
	switch {
	case s.info == nil:
		return nil, fs.ErrNotExist
	case !s.info.IsDir():
		return nil, tools.Errorf(tools.InvalidArguments, "%s is a file, not a folder", s.errorLabel())
	}
	return openDir(s.root, s.rel)
}

// readContent returns the complete content of a file. It fails if the file is larger than limit
// bytes.
func (s *openPath) readContent(limit int64) ([]byte, error) {
	file, err := s.openFile(limit)
	if err != nil {
		return nil, err
	}
	return readAndClose(file, limit)
}

// openFile opens a file. It fails if the file is larger than limit bytes.
func (s *openPath) openFile(limit int64) (*os.File, error) {
	if s.info == nil {
		return nil, fs.ErrNotExist
	}
	if s.info.IsDir() {
		return nil, tools.Errorf(tools.InvalidArguments, "%s is a folder; list_directory shows its content", s.errorLabel())
	}
	dir, _, err := s.openParent(false)
	if err != nil {
		return nil, err
	}
	defer func() { _ = dir.Close() }()
	_, name := s.dirName()
	return openIn(dir, name, s.errorLabel(), limit)
}

// readRegular reads a regular file in the open folder dir.
func readRegular(dir *os.Root, name string, label any, limit int64) ([]byte, error) {
	file, err := openIn(dir, name, label, limit)
	if err != nil {
		return nil, err
	}
	return readAndClose(file, limit)
}

// readAndClose reads a file and closes it.
func readAndClose(file *os.File, limit int64) ([]byte, error) {
	defer file.Close()
	b, err := io.ReadAll(io.LimitReader(file, limit+1))
	if err == nil && int64(len(b)) > limit {
		err = errTooLarge
	}
	return b, err
}

// openIn opens a regular file in the open folder dir. It checks the file before and after opening
// it. If the file has become a pipe, opening does not block.
func openIn(dir *os.Root, name string, label any, limit int64) (*os.File, error) {
	before, err := dir.Lstat(name)
	if err != nil {
		return nil, err
	}
	if !before.Mode().IsRegular() {
		return nil, specialFileError(label)
	}
	if err := oneName(dir, name, label, before, "copy the file and read the copy"); err != nil {
		return nil, err
	}
	if before.Size() > limit {
		e := tools.Errorf(tools.Unsupported, "%s is %s; at most %s can be read", label, tools.Clean(formatSize(before.Size())), tools.Clean(formatSize(limit)))
		e.Err = errTooLarge
		return nil, e
	}
	file, err := dir.OpenFile(name, os.O_RDONLY|openFlags, 0)
	if err != nil {
		return nil, err
	}
	after, err := file.Stat()
	if err == nil && (!os.SameFile(before, after) || !after.Mode().IsRegular()) {
		err = errMoved
	}
	if err != nil {
		return nil, errors.Join(err, file.Close())
	}
	return file, nil
}

var errTooLarge = errors.New("the file is too large")
