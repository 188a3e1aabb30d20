package ingest

import (
	"context"
	"errors"
	"path/filepath"
	"time"

	"hob/knowledge"
	"hob/platform/provenance"
	"hob/platform/text/document"
	"hob/tools"
)

// Files gives access to files on this machine. Paths are as the user writes them. The
// implementation decides which files may be read and which are trusted. After an error that wraps
// ErrLater, or a tool error with the code Failed or TimedOut, a retry may succeed even if the file
// has not changed.
type Files interface {
	// WalkDocuments visits a file, or the files below a folder except hidden files and
	// dependencies. left describes the skipped items; it is "" if there are none.
	WalkDocuments(ctx context.Context, path string, visit func(knowledge.File) error) (left string, err error)
	// ReadDocument returns a file with at most limit bytes of content.
	ReadDocument(ctx context.Context, path string, limit int64) (knowledge.File, error)
	// Exists reports whether a path exists.
	Exists(path string) (bool, error)
}

// walkFiles visits the files below a path. It marks the errors after which a retry may succeed.
func (l *Library) walkFiles(ctx context.Context, path string, visit func(knowledge.File) error) (string, error) {
	var own error
	left, err := l.opt.Files.WalkDocuments(ctx, path, func(f knowledge.File) error {
		own = visit(f)
		return own
	})
	if own != nil {
		return left, own
	}
	return left, markTransient(err)
}

// markTransient marks errors that may be resolved without a change to the file.
func markTransient(err error) error {
	if code := tools.CodeOf(err); err != nil && (code == tools.Failed || code == tools.TimedOut) {
		return Retryable(err)
	}
	return err
}

// FileOptions holds the options of Ingest.
type FileOptions struct {
	Path   string
	Title  string
	Tags   []string
	Realm  string
	Folder string // synced folder that contains the file
	Asked  bool   // see Input; does not apply to the files in a folder
	Dry    bool
	Trust  bool // the user vouches for the content
	Now    time.Time
	// Provenance and Origins describe the request's context. A title chosen in that context is
	// untrusted if the context is.
	Provenance provenance.Source
	Origins    []provenance.Origin
	// Progress receives the progress. It may be nil.
	Progress func(done, total int, name string)
}

// Report is the result of ingesting a file or folder.
type Report struct {
	knowledge.IngestReport

	again bool            // some of the skipped files can be retried unchanged
	later map[string]bool // names of skipped files that are not reported to the user
}

// maxTold limits the lists of a Report.
const maxTold = 1000

func (r *Report) addOutcome(o Outcome) {
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

func (r *Report) addSkipped(name string, err error) {
	if len(r.Skipped) < maxTold {
		r.Skipped = append(r.Skipped, knowledge.SkippedPart{Name: name, Reason: errorReason(err)})
	}
	r.again = r.again || errors.Is(err, ErrLater)
	if errors.Is(err, ErrLater) && isFileFault(err) {
		if r.later == nil {
			r.later = map[string]bool{}
		}
		r.later[name] = true
	}
}

// Ingest ingests a file or the files below a folder. It skips and reports unreadable files. It
// returns an error only if the path itself is not accessible.
func (l *Library) Ingest(ctx context.Context, w FileOptions) (Report, error) {
	var r Report
	if l.opt.Files == nil {
		return r, errors.New("ingest: file access is not configured")
	}
	var list []knowledge.File
	left, err := l.walkFiles(ctx, w.Path, func(e knowledge.File) error {
		list = append(list, e)
		return nil
	})
	if err != nil {
		return r, err
	}
	if left != "" {
		r.addSkipped(w.Path, errors.New(left))
	}
	w.Asked = w.Asked && len(list) == 1
	for i, e := range list {
		if err := ctx.Err(); err != nil {
			return r, err
		}
		if w.Progress != nil {
			w.Progress(i, len(list), filepath.Base(e.Path))
		}
		o, err := l.ingestFile(ctx, w, e)
		if ctx.Err() != nil {
			return r, ctx.Err()
		}
		if err != nil {
			if !errors.Is(err, ErrForgotten) && !isFileFault(err) && (len(list) == 1 || !affectsOneFile(err)) {
				return r, err
			}
			r.addSkipped(e.Path, err)
			continue
		}
		r.addOutcome(o)
	}
	if w.Progress != nil {
		w.Progress(len(list), len(list), "")
	}
	return r, nil
}

// isFileFault reports whether the cause of an error is the file itself and not the access to it.
func isFileFault(err error) bool {
	for _, e := range []error{document.ErrUnsupported, document.ErrBroken, document.ErrEncrypted, document.ErrNoText, document.ErrTooLarge} {
		if errors.Is(err, e) {
			return true
		}
	}
	return false
}

// unreadError wraps an error from reading a file.
type unreadError struct{ error }

func (e unreadError) Unwrap() error { return e.error }

// affectsOneFile reports whether the error affects only one file.
func affectsOneFile(err error) bool {
	var u unreadError
	return isFileFault(err) || errors.Is(err, ErrLater) || errors.As(err, &u)
}

// ingestFile ingests one file, unless its size and time are unchanged.
func (l *Library) ingestFile(ctx context.Context, w FileOptions, e knowledge.File) (Outcome, error) {
	name := "file:" + e.Path
	k, err := readSource(l.opt.Store.Reader(ctx), w.Realm, name)
	if err != nil {
		return Outcome{}, err
	}
	in := Input{
		Source: name, Name: filepath.Base(e.Path), Title: w.Title, Tags: w.Tags, Size: e.Size, Modified: e.Modified,
		Realm: w.Realm, Folder: w.Folder, Trust: w.trustFor(e), Now: w.Now, Asked: w.Asked, Dry: w.Dry,
	}
	if k != nil && !(w.Asked && k.failed != "") && len(k.digest) > 0 && k.size == e.Size && k.mtime == unixNanos(e.Modified) && w.Title == "" && (k.failed != "" || k.trust.stillApplies(in.Trust)) {
		if k.failed != "" {
			return Outcome{}, storedError(k.failed)
		}
		return l.updateFileTimes(ctx, k, in, Outcome{Source: name})
	}
	if err := l.deferralError(ctx, k, e); err != nil && !w.Asked {
		return Outcome{}, err
	}
	if gone, err := isSourceForgotten(l.opt.Store.Reader(ctx), w.Realm, name, e.Size, unixNanos(e.Modified)); err != nil || gone && !w.Asked {
		return Outcome{}, errors.Join(err, errIf(gone, ErrForgotten))
	}
	held := l.held.addReading(w.Realm, name, e.Size, unixNanos(e.Modified))
	defer l.held.removeReading(held)
	limit := l.opt.Limits.File
	if limit <= 0 {
		limit = 10 << 20
	}
	f, err := l.opt.Files.ReadDocument(ctx, e.Path, limit)
	err = markTransient(err)
	if err != nil {
		return Outcome{}, unreadError{err}
	}
	if w.Trust {
		f.Source, f.Origins = provenance.Owner, nil
	}
	if w.Provenance.Tainted() {
		f.Source, f.Origins = provenance.Outside, provenance.Join(f.Origins, w.Origins)
	}
	in.Content, in.Size, in.Modified, in.Provenance, in.Origins = f.Content, f.Size, f.Modified, f.Source, f.Origins
	return l.putSource(ctx, held, in)
}

func (w FileOptions) trustFor(e knowledge.File) Trust {
	switch {
	case w.Trust:
		return ByVouched
	case e.Trusted:
		return ByFolder
	}
	return NoTrust
}
