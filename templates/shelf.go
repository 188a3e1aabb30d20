package templates

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"hob/platform/host/unpack"
	"hob/platform/text/sorting"
)

// Registry finds templates by name or path: built-in templates, templates in Hob's own folder, and
// templates in other folders and archives.
type Registry struct {
	Dir string // Hob's own folder for templates
}

// Listed is a template in a list, or the error for a template that cannot be read.
type Listed struct {
	*Template
	Err error
}

// List returns the built-in templates and the templates in Hob's folder, sorted by name. For an
// unreadable template, the entry contains an error and the name of the folder.
func (s Registry) List() ([]Listed, error) {
	all, err := Builtins()
	if err != nil {
		return nil, err
	}
	var out []Listed
	for _, t := range all {
		out = append(out, Listed{Template: t})
	}
	list, err := os.ReadDir(s.Dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	for _, d := range list {
		if !d.IsDir() || strings.HasPrefix(d.Name(), ".") {
			continue
		}
		t, err := s.readInstalled(d.Name())
		if err != nil {
			t = &Template{Name: sanitizeExcerpt(d.Name(), 60), Origin: Own, Path: filepath.Join(s.Dir, d.Name())}
		}
		out = append(out, Listed{t, err})
	}
	sorting.StableByFunc(out, func(a, b Listed) int { return strings.Compare(a.Name, b.Name) })
	return out, nil
}

// readInstalled reads a template from Hob's folder. The name of the template must equal the name of
// its folder.
func (s Registry) readInstalled(name string) (*Template, error) {
	if err := CheckName(name); err != nil {
		return nil, err
	}
	f, err := readFolder(filepath.Join(s.Dir, name))
	if err != nil {
		return nil, err
	}
	t, err := f.parseTemplate(Own, filepath.Join(s.Dir, name))
	if err == nil && t.Name != name {
		err = fmt.Errorf("%w: the folder is named %q, but the template is named %q; use the same name for both", ErrInvalid, name, t.Name)
	}
	return t, err
}

// Find returns the template with the given name, or at the given path of a folder or an archive.
func (s Registry) Find(ref string) (*Template, error) {
	if IsBuiltin(ref) {
		return readBuiltin(ref)
	}
	if CheckName(ref) == nil {
		switch _, err := os.Stat(filepath.Join(s.Dir, ref)); {
		case err == nil:
			return s.readInstalled(ref)
		case !errors.Is(err, fs.ErrNotExist):
			return nil, err
		}
	}
	if strings.ContainsAny(ref, `/\`) || unpack.IsArchive(ref) {
		return Load(ref)
	}
	return nil, fmt.Errorf("%w: %q; choose one from: hob template list, or give the path of a folder or an archive", ErrNotFound, sanitizeExcerpt(ref, 60))
}

// ErrThere is returned, wrapped, if a template with the same name already exists.
var ErrThere = errors.New("a template with this name already exists")

// Create writes a template to a subfolder, named after the template, of Hob's folder for templates.
// It returns the path of the subfolder. write creates a private file and its parent folders.
func (s Registry) Create(t *Template, write func(path string, data []byte) error) (string, error) {
	if err := CheckName(t.Name); err != nil {
		return "", err
	}
	dir := filepath.Join(s.Dir, t.Name)
	if IsBuiltin(t.Name) {
		return "", fmt.Errorf("%w: %s is a built-in template", ErrThere, t.Name)
	}
	if _, err := os.Lstat(dir); !errors.Is(err, fs.ErrNotExist) {
		return "", fmt.Errorf("%w: %s", ErrThere, dir)
	}
	text, err := t.Encode()
	if err != nil {
		return "", err
	}
	if _, err := Parse(text, []byte(t.Soul)); err != nil {
		return "", err
	}
	if t.Soul != "" {
		if err := write(filepath.Join(dir, soulFile), []byte(t.Soul)); err != nil {
			return "", err
		}
	}
	return dir, write(filepath.Join(dir, manifestFile), text)
}

// Remove deletes a template from Hob's folder.
func (s Registry) Remove(name string) error {
	if IsBuiltin(name) {
		return fmt.Errorf("%s is built in and cannot be removed", name)
	}
	if err := CheckName(name); err != nil {
		return err
	}
	if err := os.MkdirAll(s.Dir, 0o700); err != nil {
		return err
	}
	root, err := os.OpenRoot(s.Dir) // os.Root confines the deletion to this folder
	if err != nil {
		return err
	}
	defer func() { _ = root.Close() }()
	if _, err := root.Lstat(name); errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("%w: %s", ErrNotFound, name)
	}
	return root.RemoveAll(name)
}
