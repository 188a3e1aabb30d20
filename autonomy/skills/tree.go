package skills

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash/fnv"
	"io"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"unicode"
)

// manifestFile is the file that makes a folder a skill.
const manifestFile = "SKILL.md"

// Limits of a skill.
const (
	maxFiles = 500
	maxFile  = 8 << 20 // bytes
	maxTotal = 16 << 20
	maxDepth = 8
)

// File is a file of a skill other than SKILL.md.
type File struct {
	Path   string // slash-separated, relative to the skill's folder
	Size   int64
	Script bool // can be run as a program
	sum    [sha256.Size]byte
}

// tree contains the files of a skill by their slash-separated paths.
type tree map[string]treeFile

type treeFile struct {
	data       []byte // nil if only the digest was needed
	size       int64
	executable bool
	sum        [sha256.Size]byte
}

func newTreeFile(data []byte, executable bool) treeFile {
	return treeFile{data: data, size: int64(len(data)), executable: executable, sum: sha256.Sum256(data)}
}

// isIgnoredName reports whether a file or folder is not part of a skill: metadata of version control
// and of file managers.
func isIgnoredName(name string) bool {
	return name == ".git" || name == ".DS_Store" || name == "__MACOSX" || name == "Thumbs.db"
}

// checkPath refuses names that other systems or displays would read differently.
func checkPath(name string) error {
	if !fs.ValidPath(name) || strings.ContainsAny(name, "\\:") || strings.ContainsFunc(name, func(r rune) bool { return !unicode.IsPrint(r) }) {
		return fmt.Errorf("%w: the path %q is not allowed; use letters, digits, dots and hyphens", ErrInvalid, shortValue(name))
	}
	if strings.Count(name, "/") >= maxDepth {
		return fmt.Errorf("%w: %s is nested deeper than %d folders; flatten the folders", ErrInvalid, shortValue(name), maxDepth)
	}
	return nil
}

// walkFiles calls each for the files below root, in order. It refuses links and other special files.
func walkFiles(root *os.Root, each func(name string, info fs.FileInfo) error) error {
	n, total := 0, int64(0)
	return fs.WalkDir(root.FS(), ".", func(name string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case name == ".":
			return nil
		case isIgnoredName(d.Name()) && d.IsDir():
			return fs.SkipDir
		case isIgnoredName(d.Name()):
			return nil
		}
		if err := checkPath(name); err != nil || d.IsDir() {
			return err
		}
		if !d.Type().IsRegular() {
			return fmt.Errorf("%w: %s is a link or a special file; copy the file into the folder instead", ErrInvalid, shortValue(name))
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		n, total = n+1, total+info.Size()
		if err := checkSizes(name, n, info.Size(), total); err != nil {
			return err
		}
		return each(name, info)
	})
}

func checkSizes(name string, n int, size, total int64) error {
	switch {
	case n > maxFiles:
		return fmt.Errorf("%w: more than %d files; remove files that the skill does not need", ErrInvalid, maxFiles)
	case size > maxFile:
		return fmt.Errorf("%w: %s is larger than %d MB; remove or shorten it", ErrInvalid, shortValue(name), maxFile>>20)
	case total > maxTotal:
		return fmt.Errorf("%w: the files of the skill are larger than %d MB together; remove files that the skill does not need", ErrInvalid, maxTotal>>20)
	}
	return nil
}

// readTree reads the files of a folder. If whole is false, it keeps only the contents of SKILL.md.
func readTree(dir string, whole bool) (tree, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, err
	}
	defer func() { _ = root.Close() }()
	out := tree{}
	err = walkFiles(root, func(name string, info fs.FileInfo) error {
		b, err := readFile(root, name)
		if err != nil {
			return err
		}
		f := newTreeFile(b, info.Mode()&0o100 != 0)
		if !whole && name != manifestFile {
			f.data = nil
		}
		out[name] = f
		return nil
	})
	return out, err
}

// readFile reads a regular file below root.
func readFile(root *os.Root, name string) ([]byte, error) {
	f, err := root.Open(filepath.FromSlash(name))
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if info, err := f.Stat(); err != nil || !info.Mode().IsRegular() {
		return nil, errors.Join(err, fmt.Errorf("%w: %s is not a regular file", ErrInvalid, shortValue(name)))
	}
	b, err := io.ReadAll(io.LimitReader(f, maxFile+1))
	if err == nil && len(b) > maxFile {
		err = checkSizes(name, 0, maxFile+1, 0)
	}
	return b, err
}

// stampFolder returns a value that changes when a file below dir is added, removed or written.
func stampFolder(dir string) (uint64, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return 0, err
	}
	defer func() { _ = root.Close() }()
	h := fnv.New64a()
	err = walkFiles(root, func(name string, info fs.FileInfo) error {
		fmt.Fprintf(h, "%s\x00%d\x00%d\x00%o\x00", name, info.Size(), info.ModTime().UnixNano(), info.Mode())
		return nil
	})
	return h.Sum64(), err
}

// digestFiles returns the digest of all files.
func (t tree) digestFiles() string {
	h := sha256.New()
	for _, name := range slices.Sorted(maps.Keys(t)) {
		f := t[name]
		fmt.Fprintf(h, "%s\x00%t\x00%x\n", name, f.executable, f.sum)
	}
	return "sha256:" + hex.EncodeToString(h.Sum(nil))
}

// parseSkill validates the files and returns the skill. folder is the name that the skill must have, ""
// if it may have any.
func (t tree) parseSkill(folder string) (*Skill, error) {
	f, ok := t[manifestFile]
	if !ok {
		return nil, fmt.Errorf("%w: %s is missing; add it with name and description between two lines ---", ErrInvalid, manifestFile)
	}
	m, text, err := ParseManifest(f.data)
	if err != nil {
		return nil, err
	}
	if folder != "" {
		if err := m.CheckFolderName(folder); err != nil {
			return nil, err
		}
	}
	s := &Skill{Manifest: m, Origin: FromFolder, State: StateUntrusted, Digest: t.digestFiles(), text: text}
	for _, name := range slices.Sorted(maps.Keys(t)) {
		if f := t[name]; name != manifestFile {
			s.Files = append(s.Files, File{Path: name, Size: f.size, Script: isScript(name, f.executable), sum: f.sum})
		}
	}
	return s, nil
}

// isScript reports whether a file can be run as a program.
func isScript(name string, executable bool) bool {
	if executable || strings.HasPrefix(name, "scripts/") {
		return true
	}
	return slices.Contains([]string{".sh", ".bash", ".zsh", ".py", ".js", ".mjs", ".ts", ".rb", ".pl", ".ps1", ".bat", ".cmd", ".exe", ".dll", ".so", ".dylib", ".jar"}, strings.ToLower(path.Ext(name)))
}
