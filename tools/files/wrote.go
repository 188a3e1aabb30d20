package files

import (
	"context"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"hob/platform/provenance"
)

// maxWrote bounds the files that Wrote looks at.
const maxWrote = 20_000

// Wrote marks what was changed below a folder since a time, by a command that
// ran with outside text in view: in a folder that the owner trusts it would
// otherwise be read as his own words.
func (f *Files) Wrote(ctx context.Context, list []provenance.Origin, dir string, since time.Time) error {
	trusted := false
	for _, t := range f.trusted {
		trusted = trusted || f.inside(t, dir) || f.inside(dir, t)
	}
	if !trusted {
		return nil
	}
	since = since.Add(-2 * time.Second) // file systems round their times
	n := 0
	return filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if n++; err != nil || n > maxWrote || !d.Type().IsRegular() {
			return nil //nolint:nilerr // what cannot be read now is not read as anybody's words either
		}
		info, err := d.Info()
		if err != nil || changed(info).Before(since) || info.Size() > f.opt.MaxFile {
			return nil //nolint:nilerr // it is gone, or too large to be read
		}
		content, err := os.ReadFile(path)
		if err != nil {
			return nil //nolint:nilerr // as above
		}
		return f.marks.note(ctx, path, content, list)
	})
}
