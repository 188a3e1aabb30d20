// Package markdown implements pim.Notes for a folder of Markdown files, such as an Obsidian vault.
// It never follows links out of the folder, and ignores hidden files and folders, which contain
// data of other programs.
//
// A new note is a new file. The file is written atomically and never replaces another file.
package markdown

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"
	"unicode/utf8"

	"hob/platform/pim"
	"hob/platform/text/sorting"
)

// Name is the name that users give to this driver.
const Name = "folder"

// Limits of a folder.
const (
	maxFiles = 20_000
	maxFile  = 4 << 20   // bytes of one note
	maxRead  = 256 << 20 // maximum bytes to search
	maxDepth = 20
	maxText  = 100_000 // characters of a note that is read
	begins   = 300     // characters of a note in a list
)

// Notes reads and creates the notes in a folder.
type Notes struct{ dir string }

// New returns the notes of dir, an absolute path.
func New(dir string) *Notes { return &Notes{dir} }

// Name implements pim.Driver.
func (*Notes) Name() string { return Name }

func (n *Notes) openRoot() (*os.Root, error) {
	r, err := os.OpenRoot(n.dir)
	if err != nil {
		return nil, fmt.Errorf("notes folder %s: %w; set pim.notes_folder", n.dir, unwrapPathError(err))
	}
	return r, nil
}

func unwrapPathError(err error) error {
	if e, is := errors.AsType[*fs.PathError](err); is {
		return e.Err
	}
	return err
}

// isNote reports whether a file name is the name of a note.
func isNote(name string) bool {
	ext := strings.ToLower(path.Ext(name))
	return !strings.HasPrefix(path.Base(name), ".") && (ext == ".md" || ext == ".markdown")
}

// file is a note that has not been read yet.
type file struct {
	path string
	info fs.FileInfo
}

// listNotes returns all notes, newest first. Warnings name the notes that could not be read.
func listNotes(ctx context.Context, r *os.Root, deep bool) (out []file, warnings []string, err error) {
	missed := 0
	err = fs.WalkDir(r.FS(), ".", func(p string, d fs.DirEntry, err error) error {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err != nil {
			if p == "." {
				return err
			}
			missed++
			return nil
		}
		if d.IsDir() {
			if p != "." && (!deep || strings.HasPrefix(d.Name(), ".")) || strings.Count(p, "/") >= maxDepth {
				return fs.SkipDir
			}
			return nil
		}
		if !isNote(d.Name()) {
			return nil
		}
		if len(out) >= maxFiles {
			return fs.SkipAll
		}
		// a link may lead to another note in the folder; other links are not followed
		info, err := r.Stat(p)
		if err != nil || !info.Mode().IsRegular() {
			missed++
			return nil
		}
		out = append(out, file{p, info})
		return nil
	})
	if err != nil {
		return nil, nil, err
	}
	if missed > 0 {
		warnings = append(warnings, fmt.Sprintf("notes folder: %d entries could not be read", missed))
	}
	if len(out) >= maxFiles {
		warnings = append(warnings, fmt.Sprintf("notes folder: only the first %d entries were read", maxFiles))
	}
	sorting.StableByFunc(out, func(a, b file) int {
		return cmp.Or(b.info.ModTime().Compare(a.info.ModTime()), strings.Compare(a.path, b.path))
	})
	return out, warnings, nil
}

// FindNotes implements pim.Notes.
func (n *Notes) FindNotes(ctx context.Context, words string, limit int) ([]pim.Note, error) {
	r, err := n.openRoot()
	if err != nil {
		return nil, err
	}
	defer func() { _ = r.Close() }()
	return findNotes(ctx, r, "", words, limit)
}

// FindInFolder implements pim.Folders: it reads notes directly in the folder, not
// in its subfolders.
func (n *Notes) FindInFolder(ctx context.Context, folder, words string, limit int) ([]pim.Note, error) {
	dir, err := folderPath(folder)
	if err != nil {
		return nil, err
	}
	r, err := n.openRoot()
	if err != nil {
		return nil, err
	}
	defer func() { _ = r.Close() }()
	sub, err := r.OpenRoot(dir)
	if err != nil {
		return nil, fmt.Errorf("%w: %q in the notes folder", pim.ErrNoFolder, pim.SanitizeLine(folder, 100))
	}
	defer func() { _ = sub.Close() }()
	return findNotes(ctx, sub, dir, words, limit)
}

// findNotes searches one folder of the notes, or all if in is "".
func findNotes(ctx context.Context, r *os.Root, in, words string, limit int) ([]pim.Note, error) {
	files, warnings, err := listNotes(ctx, r, in == "")
	if err != nil {
		return nil, fmt.Errorf("notes folder: %w", err)
	}
	want := strings.Fields(strings.ToLower(words))
	out := []pim.Note{}
	read, missed := 0, 0
	for _, f := range files {
		if len(out) >= limit {
			break
		}
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		if read > maxRead {
			warnings = append(warnings, fmt.Sprintf("notes folder: searched only the newest %d MB", maxRead>>20))
			break
		}
		text, err := readNoteText(r, f.path)
		if read += len(text); err != nil {
			missed++
			continue
		}
		f.path = path.Join(in, f.path)
		if containsAll(f.path+"\n"+text, want) {
			x := f.toNote(text)
			x.Text, x.Cut = truncateRunes(x.Text, begins)
			out = append(out, x)
		}
	}
	if missed > 0 {
		warnings = append(warnings, fmt.Sprintf("notes folder: %d notes could not be read", missed))
	}
	return out, pim.Partial(warnings...)
}

func containsAll(text string, want []string) bool {
	text = strings.ToLower(text)
	return !slices.ContainsFunc(want, func(w string) bool { return !strings.Contains(text, w) })
}

// readNoteText reads a file as text, without its front matter. It returns an error for files that
// are too large or binary.
func readNoteText(r *os.Root, p string) (string, error) {
	f, err := r.Open(p)
	if err != nil {
		return "", unwrapPathError(err)
	}
	defer func() { _ = f.Close() }()
	if info, err := f.Stat(); err != nil || !info.Mode().IsRegular() {
		return "", errors.New("not a regular file")
	}
	b, err := io.ReadAll(io.LimitReader(f, maxFile+1))
	switch {
	case err != nil:
		return "", unwrapPathError(err)
	case len(b) > maxFile:
		return "", pim.ErrTooLarge
	case strings.ContainsRune(string(b), 0) || !utf8.Valid(b):
		return "", errors.New("not a text file")
	}
	return string(b), nil
}

// toNote returns a file with its text. The file name is the title, as in Obsidian.
func (f file) toNote(text string) pim.Note {
	x := pim.Note{Ref: f.path, Title: pim.SanitizeLine(strings.TrimSuffix(path.Base(f.path), path.Ext(f.path)), 300), Text: stripFrontMatter(pim.SanitizeText(text)), Changed: f.info.ModTime().UTC()}
	if dir := path.Dir(f.path); dir != "." {
		x.Folder = pim.SanitizeLine(dir, 200)
	}
	return x
}

// stripFrontMatter returns text without its front matter.
func stripFrontMatter(text string) string {
	if rest, ok := strings.CutPrefix(text, "---\n"); ok {
		if _, after, ended := strings.Cut(rest, "\n---\n"); ended {
			text = after
		}
	}
	return strings.TrimSpace(text)
}

func truncateRunes(s string, n int) (string, bool) {
	if r := []rune(s); len(r) > n {
		return string(r[:n]), true
	}
	return s, false
}

// ReadNote implements pim.Notes.
func (n *Notes) ReadNote(_ context.Context, ref string) (pim.Note, error) {
	if !fs.ValidPath(ref) || !isNote(ref) || isHiddenPath(ref) {
		return pim.Note{}, fmt.Errorf("%w: note %q", pim.ErrNotFound, pim.SanitizeLine(ref, 100))
	}
	r, err := n.openRoot()
	if err != nil {
		return pim.Note{}, err
	}
	defer func() { _ = r.Close() }()
	info, err := r.Stat(ref)
	if errors.Is(err, fs.ErrNotExist) {
		return pim.Note{}, fmt.Errorf("%w: note %q", pim.ErrNotFound, pim.SanitizeLine(ref, 100))
	}
	if err != nil {
		return pim.Note{}, fmt.Errorf("note %q: %w", pim.SanitizeLine(ref, 100), unwrapPathError(err))
	}
	text, err := readNoteText(r, ref)
	if err != nil {
		return pim.Note{}, fmt.Errorf("note %q: %w", pim.SanitizeLine(ref, 100), err)
	}
	x := file{ref, info}.toNote(text)
	x.Text, x.Cut = truncateRunes(x.Text, maxText)
	return x, nil
}

func isHiddenPath(p string) bool {
	return slices.ContainsFunc(strings.Split(p, "/"), func(s string) bool { return strings.HasPrefix(s, ".") })
}
