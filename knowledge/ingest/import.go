package ingest

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"hob/autonomy/api"
	"hob/knowledge"
	"hob/platform/host/system"
	"hob/platform/provenance"
)

// Import ingests the file, or the files below the folder, that the user named. The path may be
// anywhere. The content is untrusted unless the user trusts the folder or the import.
func (l *Library) Import(ctx context.Context, in api.MemoryImport, step func(done, total int, name string)) (knowledge.IngestReport, error) {
	if in.Name != "" {
		return l.importContent(ctx, in)
	}
	path := resolveLinks(in.Path)
	files, err := l.opt.Open([]string{filepath.Dir(path)})
	if err != nil {
		return knowledge.IngestReport{}, err
	}
	r, err := l.WithFiles(files).Ingest(ctx, FileOptions{Path: path, Trust: in.Trust, Dry: in.DryRun, Asked: true, Now: time.Now(), Provenance: provenance.Owner, Progress: step})
	return r.IngestReport, err
}

// importContent imports the content of one file that has no permanent path.
func (l *Library) importContent(ctx context.Context, in api.MemoryImport) (_ knowledge.IngestReport, err error) {
	f, err := os.Open(in.Path)
	if err != nil {
		return knowledge.IngestReport{}, err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	b, err := io.ReadAll(io.LimitReader(f, l.opt.Limits.File+1)) // the reader rejects longer files
	if err != nil {
		return knowledge.IngestReport{}, err
	}
	want := Input{
		Source: "import:" + in.Name, Name: in.Name, Content: b, Size: int64(len(b)), Provenance: provenance.Outside, Now: time.Now(), Asked: true, Dry: in.DryRun,
	}
	if in.Trust {
		want.Provenance, want.Trust = provenance.Owner, ByVouched
	}
	r, err := l.PutAndReport(ctx, want)
	return r.IngestReport, err
}

// ResolveFolders returns absolute paths with resolved links, because the paths of files below them
// have this form. home replaces "~"; "" means the user's home folder.
func ResolveFolders(list []string, home string) []string {
	var out []string
	for _, p := range list {
		if rest, ok := strings.CutPrefix(p, "~"); ok && home != "" {
			p = filepath.Join(home, rest)
		} else if abs, err := system.Expand(p); err == nil {
			p = abs
		}
		out = append(out, resolveLinks(p))
	}
	return out
}

// resolveLinks returns p with its links resolved, the prefix of the paths of files below p.
func resolveLinks(p string) string {
	if real, err := filepath.EvalSymlinks(p); err == nil {
		return real
	}
	return filepath.Clean(p)
}
