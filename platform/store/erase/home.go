package erase

import (
	"context"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
)

// HomeFiles lists the files in Hob's own folders that may contain text to erase. Write replaces a
// file atomically.
type HomeFiles struct {
	// Texts are the paths of files that the user wrote for models, and MoreTexts is a pattern
	// (filepath.Glob) for more of them. They are rewritten.
	Texts     []string
	MoreTexts string
	// Templates is the folder of the user's templates, which also contains the files that were
	// saved before a template was applied. Its files are rewritten.
	Templates string
	// Pictures is the folder of pictures. Pictures that contain the text are removed.
	Pictures string
	// Logs is the folder of logs, which should not contain such text. They are rewritten in place,
	// because the daemon keeps them open.
	Logs string
	// Settings are files and folders with the user's settings. They are not changed, because this
	// could break a feature or allow a denied call. Instead, a warning is written to Log.
	Settings []string
	Write    func(path string, b []byte) error
	Log      *slog.Logger
}

// Erase removes erased text from the files.
func (f HomeFiles) Erase(ctx context.Context, s *Scrubber) (n Erased, err error) {
	more, err := filepath.Glob(f.MoreTexts)
	if err != nil {
		return n, err
	}
	for _, path := range slices.Concat(f.Texts, more) {
		m, err := ScrubFile(path, s, f.Write)
		if err != nil {
			return n, err
		}
		n = n.Add(m)
	}
	m, err := RemoveFiles(ctx, f.Pictures, s)
	if err != nil {
		return n, err
	}
	n = n.Add(m)
	if m, err = ScrubFiles(ctx, f.Templates, s, f.Write); err != nil {
		return n, err
	}
	n = n.Add(m)
	if m, err = ScrubFiles(ctx, f.Logs, s, overwriteFile); err != nil {
		return n, err
	}
	f.reportSettings(s)
	return n.Add(m), nil
}

// overwriteFile overwrites the content of the existing file.
func overwriteFile(path string, b []byte) error { return os.WriteFile(path, b, 0o600) }

// reportSettings reports settings that contain erased text.
func (f HomeFiles) reportSettings(s *Scrubber) {
	for _, root := range f.Settings {
		_ = filepath.WalkDir(root, func(path string, e fs.DirEntry, err error) error {
			if err != nil || !e.Type().IsRegular() {
				return nil //nolint:nilerr // a missing file contains no text
			}
			if has, err := s.FileHas(path); err == nil && has {
				f.Log.Warn("one of your settings files contains deleted text; it was not changed, so remove the text yourself", "file", filepath.Base(path))
			}
			return nil
		})
	}
}
