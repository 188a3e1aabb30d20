// Package ingest takes documents into the memory: it has them read (package
// platform/document), cuts them into chunks, and keeps these as rows of the
// knowledge, in step with what lies on the disk.
//
// A source (a file, a page, something imported) has one document or many (the
// mails of a mailbox), a document has chunks. What has not changed costs
// nothing; of what has, only the chunks that differ are written. A source is
// whole once its digest is stored: what a crash cut short is done again, and
// finds most of it there.
//
// It decides nothing about trust: whoever hands a text in says whose it is.
package ingest

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	"hob/knowledge"
	"hob/knowledge/store"
	"hob/platform/document"
	"hob/platform/provenance"
)

// Options of New.
type Options struct {
	Base  *knowledge.Base // required
	Store *store.Store    // required
	// Files is the way to files on this machine; nil: there is none.
	Files Files
	// Entities is told who stands in headers and on cards; optional.
	Entities Entities
	// Pictures says what is on a picture; nil: pictures are skipped.
	Pictures Pictures
	// Limits bound what is read of one file.
	Limits document.Limits
	// ChunkSize and ChunkOverlap are in characters (default 1,000 and 200).
	ChunkSize, ChunkOverlap int
	Log                     *slog.Logger
}

// Entities takes persons whom documents name.
type Entities interface {
	// PeopleTx is told for whom people work, and returns the ids of what it keeps
	// of it.
	PeopleTx(tx *store.Tx, list []document.Person, from Origin) ([]string, error)
	// KeepTx takes back what it was told from there, but for these.
	KeepTx(tx *store.Tx, from Origin, ids []string) error
}

// Origin is where something comes from.
type Origin struct {
	Source     string
	Realm      string
	Provenance provenance.Source
	Origins    []provenance.Origin
	At         time.Time
}

// Pictures describes a picture in words: a model that can see. An error that
// wraps ErrLater is no fault of the picture.
type Pictures interface {
	// Ready says why none can be described now, nil when one may be tried.
	Ready(ctx context.Context) error
	Describe(ctx context.Context, data []byte) (string, error)
}

// Errors a caller can act on.
var (
	ErrNotFound  = errors.New("no such document")
	ErrForgotten = errors.New("the document was forgotten and has not changed since")
	// ErrLater: what is wrong may end without a change of the file.
	ErrLater = errors.New("Hob will retry later")
)

// Later is an error that may end without a change of the file.
func Later(err error) error { return later{err} }

type later struct{ error }

func (e later) Unwrap() error { return e.error }

func (later) Is(target error) bool { return target == ErrLater }

// Library takes documents in. Its methods may be called concurrently.
type Library struct {
	opt  Options
	work *sync.Mutex // one source at a time: this is background work on one machine
	held *held
}

// New checks the options.
func New(opt Options) (*Library, error) {
	if opt.Base == nil || opt.Store == nil {
		return nil, errors.New("ingest: options Base and Store are required")
	}
	if opt.ChunkSize <= 0 {
		opt.ChunkSize, opt.ChunkOverlap = 1000, 200
	}
	if opt.ChunkOverlap >= opt.ChunkSize {
		return nil, errors.New("ingest: chunk size must be greater than the overlap")
	}
	if opt.Log == nil {
		opt.Log = slog.New(slog.DiscardHandler)
	}
	return &Library{opt: opt, work: &sync.Mutex{}, held: &held{list: map[*reading]bool{}}}, nil
}

// With is the same library with another way to files.
func (l *Library) With(f Files) *Library {
	opt := l.opt
	opt.Files = f
	return &Library{opt: opt, work: l.work, held: l.held}
}

// Input is one file, page or import to take in.
type Input struct {
	// Source is "file:PATH", "url:URL" or "import:NAME".
	Source string
	Name   string // of the file, for its kind and as a title
	Title  string // "": its own
	Tags   []string
	// Content is the file; Size and Modified what the disk says of it.
	Content  []byte
	Size     int64
	Modified time.Time

	Provenance provenance.Source
	Origins    []provenance.Origin
	Realm      string
	Folder     string // that it is kept in step with, "" for none
	Trust      Trust
	Now        time.Time
	// Asked: somebody asked for this very thing. Then it is taken in although it
	// was forgotten, and tried again although it could not be read.
	Asked bool
	// Dry only says what would be done.
	Dry bool
}

// Trust is why a text counts as the owner's. When it ends, so does that.
type Trust string

// Why a text may count as the owner's.
const (
	NoTrust   Trust = ""
	ByFolder  Trust = "folder" // he trusts the folder
	ByVouched Trust = "owner"  // he vouched for this very content
)

// holds reports whether what was taken in for one reason may stay as it is now
// that it would be taken in for another.
func (t Trust) holds(now Trust) bool { return t == now || t == ByVouched }

// Outcome says what came of an Input.
type Outcome struct {
	Source    string        `json:"source"`
	Title     string        `json:"title,omitempty"`
	Kind      string        `json:"kind,omitempty"`
	Documents int           `json:"documents"`
	Chunks    int           `json:"chunks"`
	Unchanged bool          `json:"unchanged,omitempty"`
	Fresh     bool          `json:"-"` // the source was not known before
	Skipped   []SkippedPart `json:"skipped,omitempty"`
}

// SkippedPart is a file or a part of one that was not taken in, and why.
type SkippedPart struct {
	Name   string `json:"name"`
	Reason string `json:"reason"`
}

// Migrations are the tables of this package. documents_forgotten holds digests
// only: what was forgotten leaves no name. Of a source, trying and tries say what
// is being read of it and how often that began, trust why its text counts as the
// owner's, and asked that somebody asked for this very thing.
func Migrations() []store.Set {
	return []store.Set{{Owner: "ingest", Steps: []string{`
CREATE TABLE doc_sources (
	n INTEGER PRIMARY KEY,
	realm TEXT NOT NULL,
	source TEXT NOT NULL,
	folder TEXT NOT NULL,
	size INTEGER NOT NULL,
	mtime INTEGER NOT NULL,
	digest BLOB NOT NULL,
	error TEXT NOT NULL DEFAULT '',
	UNIQUE (realm, source)
);
CREATE INDEX doc_sources_digest ON doc_sources (digest) WHERE digest <> x'';
CREATE INDEX doc_sources_folder ON doc_sources (folder) WHERE folder <> '';
CREATE TABLE documents (
	n INTEGER PRIMARY KEY,
	id TEXT NOT NULL UNIQUE,
	src INTEGER NOT NULL,
	part TEXT NOT NULL,
	kind TEXT NOT NULL,
	title TEXT NOT NULL,
	author TEXT NOT NULL,
	language TEXT NOT NULL,
	tags TEXT NOT NULL,
	at INTEGER NOT NULL,
	chunks INTEGER NOT NULL,
	provenance TEXT NOT NULL,
	added_at INTEGER NOT NULL,
	UNIQUE (src, part)
);
CREATE TABLE doc_folders (
	path TEXT NOT NULL,
	realm TEXT NOT NULL,
	added_at INTEGER NOT NULL,
	PRIMARY KEY (path, realm)
) WITHOUT ROWID;
CREATE TABLE documents_forgotten (place BLOB PRIMARY KEY, size INTEGER NOT NULL, mtime INTEGER NOT NULL) WITHOUT ROWID;
`, `
ALTER TABLE doc_sources ADD COLUMN trying BLOB NOT NULL DEFAULT x'';
ALTER TABLE doc_sources ADD COLUMN tries INTEGER NOT NULL DEFAULT 0;
ALTER TABLE doc_sources ADD COLUMN asked INTEGER NOT NULL DEFAULT 0;
ALTER TABLE doc_sources ADD COLUMN trust TEXT NOT NULL DEFAULT '';
UPDATE doc_sources SET trust = 'folder' WHERE EXISTS (SELECT 1 FROM documents d WHERE d.src = doc_sources.n AND d.provenance = 'owner');
`}}}
}
