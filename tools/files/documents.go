package files

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"hob/knowledge"
	"hob/platform/pim"
)

// Document is a complete file with the provenance of its text.
type Document struct {
	Path     string // absolute, links resolved
	Hidden   bool   // the file is hidden, or is in a hidden folder within the allowed folder
	Size     int64
	Modified time.Time
}

// maxDocuments limits the files that one walk visits.
const maxDocuments = 200_000

// WalkDocuments visits a file, or the files below a folder. Like search_files, it skips hidden
// files, links and folders with generated files (heavyFolders). left describes the omitted items.
// The error wraps fs.ErrNotExist if the path does not exist.
func (f *Files) WalkDocuments(ctx context.Context, path string, visit func(knowledge.File) error) (left string, err error) {
	s, err := f.openSpot(path)
	if err != nil {
		return "", err
	}
	defer s.Close()
	if s.info == nil {
		return "", errors.Join(f.describeFileError("read", s, fs.ErrNotExist), fs.ErrNotExist)
	}
	if !s.info.IsDir() {
		return "", visit(knowledge.File{Path: s.abs, Size: s.info.Size(), Modified: s.info.ModTime(), Trusted: f.trustedNow(ctx, s.abs)})
	}
	dir, err := s.openFolder()
	if err != nil {
		return "", f.describeFileError("list", s, err)
	}
	defer func() { _ = dir.Close() }()
	w := &treeWalk{f: f, recursive: true, limit: maxDocuments, visit: func(e walkEntry) error {
		if !e.info.Mode().IsRegular() {
			return nil
		}
		return visit(knowledge.File{Path: e.abs, Size: e.info.Size(), Modified: e.info.ModTime(), Trusted: f.trustedNow(ctx, e.abs)})
	}}
	if err := w.walkTree(ctx, dir, s.abs); err != nil {
		return "", err
	}
	delete(w.left, "hidden item") // hidden files do not have to be mentioned
	delete(w.left, "protected item")
	if w.stopped == "" && len(w.left) == 0 {
		return "", nil
	}
	return w.skippedText(), nil
}

// Reached reports whether WalkDocuments would visit a file below a folder. It only considers names.
func Reached(folder, path string) bool {
	rel, ok := relativeTo(folder, path)
	if !ok {
		return false
	}
	parts := splitPath(rel)
	for i, c := range parts {
		if strings.HasPrefix(c, ".") || i < len(parts)-1 && slices.Contains(heavyFolders, strings.ToLower(c)) {
			return false
		}
	}
	return len(parts) > 0 && len(parts) <= maxDepth
}

// ReadDocument reads a file. It fails if the file is larger than limit bytes.
func (f *Files) ReadDocument(ctx context.Context, path string, limit int64) (knowledge.File, error) {
	s, err := f.openSpot(path)
	if err != nil {
		return knowledge.File{}, err
	}
	defer s.Close()
	b, err := s.readContent(limit)
	if err != nil {
		return knowledge.File{}, f.describeFileError("read", s, err)
	}
	d := knowledge.File{Path: s.abs, Size: s.info.Size(), Modified: s.info.ModTime(), Content: b}
	d.Source, d.Origins = f.contentProvenance(ctx, s, contentDigest(b))
	return d, nil
}

// OpenDocument opens a readable file of at most limit bytes for streaming. The caller must close
// it.
func (f *Files) OpenDocument(path string, limit int64) (Document, io.ReadCloser, error) {
	s, err := f.openSpot(path)
	if err != nil {
		return Document{}, nil, err
	}
	defer s.Close()
	file, err := s.openFile(limit)
	if err != nil {
		return Document{}, nil, f.describeFileError("read", s, err)
	}
	hidden := slices.ContainsFunc(splitPath(s.rel), func(c string) bool { return strings.HasPrefix(c, ".") })
	return Document{Path: s.abs, Hidden: hidden, Size: s.info.Size(), Modified: s.info.ModTime()}, file, nil
}

// Exists reports whether a path exists.
func (f *Files) Exists(path string) (bool, error) {
	s, err := f.openSpot(path)
	if err != nil {
		return false, err
	}
	defer s.Close()
	return s.info != nil, nil
}

// Show shortens a path for the user: "~/Documents/a.txt".
func (f *Files) Show(path string) string { return f.displayPath(filepath.Clean(path)) }

// ReadAttachment reads a file that will be attached to an email.
func (f *Files) ReadAttachment(ctx context.Context, path string) (pim.Attachment, error) {
	doc, err := f.ReadDocument(ctx, path, pim.MaxFileBytes)
	if err != nil {
		return pim.Attachment{}, err
	}
	return pim.Attachment{Name: filepath.Base(doc.Path), Data: doc.Content}, nil
}
