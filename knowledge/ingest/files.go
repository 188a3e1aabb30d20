package ingest

import (
	"context"
	"errors"
	"path/filepath"
	"time"

	"hob/platform/document"
	"hob/platform/provenance"
)

// Files is the way to the files of this machine. A path is given as the owner
// writes it; what may be read, and whose text it is, is decided there.
type Files interface {
	// Walk visits a file, or those below a folder, without those that nobody
	// looks for (hidden ones, dependencies). left says in words what was left
	// out, "" when nothing was.
	Walk(ctx context.Context, path string, visit func(Entry) error) (left string, err error)
	// Read returns a file; at most limit bytes.
	Read(ctx context.Context, path string, limit int64) (File, error)
	// There reports whether something is at a path.
	There(ctx context.Context, path string) (bool, error)
}

// Entry is a file that Walk came to.
type Entry struct {
	Path     string // absolute
	Size     int64
	Modified time.Time
}

// File is a file as it was read.
type File struct {
	Entry
	Content []byte
	Source  provenance.Source
	Origins []provenance.Origin
}

// Want says how files are taken in.
type Want struct {
	Path   string
	Title  string
	Tags   []string
	Realm  string
	Folder string // that it is kept in step with
	Asked  bool   // see Input; of a folder it does not hold for what is in it
	Dry    bool
	Trust  bool // the owner vouches for what is in them
	Now    time.Time
	// Provenance and Origins are of what was in view when it was asked for: a
	// title that was chosen then is no better.
	Provenance provenance.Source
	Origins    []provenance.Origin
	// Progress is told how far it is; may be nil.
	Progress func(done, total int, name string)
}

// Report sums up what came of a file or folder.
type Report struct {
	Documents int `json:"documents"`
	Chunks    int `json:"chunks"`
	Files     int `json:"files"`
	Unchanged int `json:"unchanged"` // files
	// Same and SameChunks are of those, and counted above as well.
	Same       int           `json:"-"`
	SameChunks int           `json:"-"`
	Fresh      []string      `json:"fresh,omitempty"` // sources that were not known before, at most 1,000
	Titles     []string      `json:"titles,omitempty"`
	Skipped    []SkippedPart `json:"skipped,omitempty"`

	later map[string]bool // names of those skipped that are tried again
}

// maxTold bounds the lists of a Report.
const maxTold = 1000

func (r *Report) add(o Outcome) {
	r.Files++
	r.Documents += o.Documents
	r.Chunks += o.Chunks
	if o.Unchanged {
		r.Unchanged++
		r.Same += o.Documents
		r.SameChunks += o.Chunks
	}
	if o.Fresh && len(r.Fresh) < maxTold {
		r.Fresh = append(r.Fresh, o.Source)
	}
	if o.Title != "" && len(r.Titles) < 5 {
		r.Titles = append(r.Titles, o.Title)
	}
	r.Skipped = append(r.Skipped, o.Skipped...)
}

func (r *Report) skip(name string, err error) {
	if len(r.Skipped) < maxTold {
		r.Skipped = append(r.Skipped, SkippedPart{name, reason(err)})
	}
	if errors.Is(err, ErrLater) {
		if r.later == nil {
			r.later = map[string]bool{}
		}
		r.later[name] = true
	}
}

// Ingest takes in a file or the files below a folder. A file that cannot be read
// is skipped and reported; errors are those of the place itself.
func (l *Library) Ingest(ctx context.Context, w Want) (Report, error) {
	var r Report
	if l.opt.Files == nil {
		return r, errors.New("ingest: there is no way to files")
	}
	var list []Entry
	left, err := l.opt.Files.Walk(ctx, w.Path, func(e Entry) error {
		list = append(list, e)
		return nil
	})
	if err != nil {
		return r, err
	}
	if left != "" {
		r.skip(w.Path, errors.New(left))
	}
	w.Asked = w.Asked && len(list) == 1
	for i, e := range list {
		if err := ctx.Err(); err != nil {
			return r, err
		}
		if w.Progress != nil {
			w.Progress(i, len(list), filepath.Base(e.Path))
		}
		o, err := l.file(ctx, w, e)
		if ctx.Err() != nil {
			return r, ctx.Err()
		}
		if err != nil {
			if len(list) == 1 && !errors.Is(err, ErrForgotten) && !known(err) {
				return r, err
			}
			r.skip(e.Path, err)
			continue
		}
		r.add(o)
	}
	if w.Progress != nil {
		w.Progress(len(list), len(list), "")
	}
	return r, nil
}

// known: the file is at fault, and not the way to it.
func known(err error) bool {
	for _, e := range []error{document.ErrUnsupported, document.ErrBroken, document.ErrEncrypted, document.ErrNoText, document.ErrTooLarge} {
		if errors.Is(err, e) {
			return true
		}
	}
	return false
}

// file takes in one file, unless size and time say that nothing has changed.
func (l *Library) file(ctx context.Context, w Want, e Entry) (Outcome, error) {
	name := "file:" + e.Path
	k, err := source(l.opt.Store.Reader(ctx), w.Realm, name)
	if err != nil {
		return Outcome{}, err
	}
	if k != nil && !(w.Asked && k.failed != "") && len(k.digest) > 0 && k.size == e.Size && k.mtime == stamp(e.Modified) && w.Title == "" && (w.Folder == "" || w.Folder == k.folder) {
		if k.failed != "" {
			return Outcome{}, told(k.failed)
		}
		return l.same(ctx, k, Input{Source: name, Size: e.Size, Modified: e.Modified, Dry: true}, Outcome{Source: name})
	}
	if err := l.waiting(ctx, k, e); err != nil && !w.Asked {
		return Outcome{}, err
	}
	if gone, err := forgotten(l.opt.Store.Reader(ctx), w.Realm, name, e.Size, stamp(e.Modified)); err != nil || gone && !w.Asked {
		return Outcome{}, errors.Join(err, errIf(gone, ErrForgotten))
	}
	limit := l.opt.Limits.File
	if limit <= 0 {
		limit = 10 << 20
	}
	f, err := l.opt.Files.Read(ctx, e.Path, limit)
	if err != nil {
		return Outcome{}, err
	}
	if w.Trust {
		f.Source, f.Origins = provenance.Owner, nil
	}
	if w.Provenance.Tainted() {
		f.Source, f.Origins = provenance.Outside, provenance.Join(f.Origins, w.Origins)
	}
	return l.Put(ctx, Input{
		Source: name, Name: filepath.Base(e.Path), Title: w.Title, Tags: w.Tags, Content: f.Content, Size: f.Size, Modified: f.Modified,
		Provenance: f.Source, Origins: f.Origins, Realm: w.Realm, Folder: w.Folder, Now: w.Now, Asked: w.Asked, Dry: w.Dry,
	})
}
