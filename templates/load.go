package templates

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"

	"hob/platform/host/unpack"
)

// Names of the files of a template.
const (
	manifestFile = "template.toml"
	soulFile     = "SOUL.md"
	skillFile    = "SKILL.md" // in skills/NAME
)

// files contains the contents of a template's files, by their slash-separated paths.
type files map[string][]byte

// wantedSize returns the maximum size of a template file in bytes, or 0 if no template file has
// this name.
func wantedSize(name string) int {
	dir, file := path.Split(name)
	switch {
	case name == manifestFile:
		return maxManifest
	case name == soulFile:
		return maxSoul
	case file == skillFile && path.Dir(path.Clean(dir)) == "skills":
		return maxSkill
	}
	return 0
}

// parseTemplate builds a template from its files.
func (f files) parseTemplate(origin Origin, from string) (*Template, error) {
	text, ok := f[manifestFile]
	if !ok {
		return nil, fmt.Errorf("%w: %s is missing", ErrInvalid, manifestFile)
	}
	t, err := Parse(text, f[soulFile])
	if err != nil {
		return nil, err
	}
	t.Origin, t.Path = origin, from
	skills := map[string][]byte{}
	for name, raw := range f {
		if path.Base(name) == skillFile {
			skills[path.Base(path.Dir(name))] = raw
		}
	}
	if t.Bodies, err = skillsOf(skills); err != nil {
		return nil, err
	}
	for _, s := range t.Bodies {
		t.Skills = append(t.Skills, s.Name)
	}
	if origin != Builtin && IsBuiltin(t.Name) {
		return nil, fmt.Errorf("%w: the name %q belongs to a built-in template; choose another name in %s", ErrInvalid, t.Name, manifestFile)
	}
	return t, nil
}

// Load reads a template from a folder or an archive (.tar.gz, .tgz, .zip).
func Load(from string) (*Template, error) {
	fi, err := os.Stat(from)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%w: %s", ErrNotFound, sanitizeExcerpt(from, 200))
	}
	if err != nil {
		return nil, err
	}
	abs, err := filepath.Abs(from)
	if err != nil {
		return nil, err
	}
	if fi.IsDir() {
		f, err := readFolder(from)
		if err != nil {
			return nil, err
		}
		return f.parseTemplate(Folder, abs)
	}
	f, err := readArchive(from, fi)
	if err != nil {
		return nil, err
	}
	return f.parseTemplate(Archive, abs)
}

// readFolder reads only the files that belong to a template. It refuses all links, including links
// to targets inside the folder.
func readFolder(dir string) (files, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, err
	}
	defer func() { _ = root.Close() }()
	out := files{}
	names := []string{manifestFile, soulFile}
	switch fi, err := root.Lstat("skills"); {
	case errors.Is(err, fs.ErrNotExist):
	case err != nil:
		return nil, err
	case !fi.IsDir():
		return nil, fmt.Errorf("%w: skills is not a folder", ErrInvalid)
	default:
		list, err := fs.ReadDir(root.FS(), "skills")
		if err != nil {
			return nil, err
		}
		if len(list) > 2*maxThings {
			return nil, fmt.Errorf("%w: more than %d skills", ErrInvalid, maxThings)
		}
		for _, d := range list {
			if d.Type()&fs.ModeSymlink != 0 {
				return nil, notPlain(path.Join("skills", d.Name()))
			}
			if d.IsDir() {
				names = append(names, path.Join("skills", d.Name(), skillFile))
			}
		}
	}
	for _, name := range names {
		b, err := readPlain(root, name)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, err
		}
		out[name] = b
	}
	return out, nil
}

func notPlain(name string) error {
	return fmt.Errorf("%w: %s is not a regular file", ErrInvalid, sanitizeExcerpt(name, 120))
}

func readPlain(root *os.Root, name string) ([]byte, error) {
	fi, err := root.Lstat(filepath.FromSlash(name))
	if err != nil {
		return nil, err
	}
	if !fi.Mode().IsRegular() {
		return nil, notPlain(name)
	}
	f, err := root.Open(filepath.FromSlash(name))
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return readBounded(f, name, wantedSize(name))
}

// readBounded reads r. It fails if r contains more than limit bytes.
func readBounded(r io.Reader, name string, limit int) ([]byte, error) {
	b, err := unpack.ReadBounded(r, name, limit)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrInvalid, err)
	}
	return b, nil
}
