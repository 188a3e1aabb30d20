// Package ingest adds documents to the memory. It parses them (package platform/text/document),
// splits them into chunks, stores the chunks as rows of the knowledge base, and keeps the chunks in
// sync with the files.
//
// A source (a file, page or import) contains one or more documents, such as the messages of a
// mailbox. A document consists of chunks. Unchanged sources cost nothing. For a changed source,
// only the chunks that differ are written. A source is complete when its digest is stored. After a
// crash, an incomplete source is ingested again, and its stored chunks are reused.
//
// The package makes no trust decisions: the caller states the provenance of each text.
package ingest

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	"hob/knowledge"
	"hob/platform/provenance"
	"hob/platform/store"
	"hob/platform/text/document"
)

// Options configures New.
type Options struct {
	Base  *knowledge.Base // required
	Store *store.Store    // required
	// Files gives access to files. If it is nil, there is no access.
	Files Files
	// Open gives access to other folders, for Import.
	Open func(folders []string) (Files, error)
	// Entities receives the people named in headers and on contact cards. It may be nil.
	Entities Entities
	// Pictures describes images. If it is nil, images are skipped.
	Pictures Pictures
	// Limits are the size limits for parsing a file.
	Limits document.Limits
	// ChunkSize and ChunkOverlap are in characters (default 1,000 and 200).
	ChunkSize, ChunkOverlap int
	Log                     *slog.Logger
}

// Entities stores people that documents name.
type Entities interface {
	// PeopleTx stores people with their employers and returns the ids of the stored items.
	PeopleTx(tx *store.Tx, list []document.Person, from knowledge.TextOrigin) ([]string, error)
	// KeepTx deletes the items that PeopleTx stored for a source, except those with the given ids.
	KeepTx(tx *store.Tx, realm, source string, ids []string) error
}

// Pictures describes images with a vision model. Errors that the image did not cause wrap ErrLater.
type Pictures interface {
	// Ready returns nil, or the reason why no image can be described now.
	Ready(ctx context.Context) error
	Describe(ctx context.Context, data []byte) (string, error)
}

// Errors that callers handle.
var (
	ErrNotFound  = errors.New("no such document")
	ErrForgotten = errors.New("the document was forgotten and has not changed since")
	// ErrLater means that a retry may succeed even if the file has not changed.
	ErrLater = errors.New("retrying later")
)

// Retryable marks err as retryable even if the file has not changed.
func Retryable(err error) error { return retryableError{err} }

type retryableError struct{ error }

func (e retryableError) Unwrap() error { return e.error }

func (retryableError) Is(target error) bool { return target == ErrLater }

// Library ingests documents. Its methods may be called concurrently.
type Library struct {
	opt  Options
	work *sync.Mutex // held while a source is ingested: one at a time, because this is background work
	held *activeReadings
}

// New validates the options.
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
	return &Library{opt: opt, work: &sync.Mutex{}, held: &activeReadings{list: map[*activeReading]bool{}}}, nil
}

// WithFiles returns the same library with other access to files.
func (l *Library) WithFiles(f Files) *Library {
	opt := l.opt
	opt.Files = f
	return &Library{opt: opt, work: l.work, held: l.held}
}

// Input is one file, page or import to ingest.
type Input struct {
	// Source is "file:PATH", "url:URL" or "import:NAME".
	Source string
	Name   string // file name, used to detect the type and as a title
	Title  string // "" uses the document's own title
	Tags   []string
	// Content is the file content. Size and Modified are from the file system.
	Content  []byte
	Size     int64
	Modified time.Time

	Provenance provenance.Source
	Origins    []provenance.Origin
	Realm      string
	Folder     string // synced folder that contains the source; "" if there is none
	Trust      Trust
	Now        time.Time
	// Asked is true if the user requested this particular item. It is then ingested even if it was
	// erased or could not be read before.
	Asked bool
	// Dry computes the changes without making them.
	Dry bool
}

// Trust is the reason why text counts as the user's own. The text is trusted only while the reason
// applies.
type Trust string

// Reasons for trust.
const (
	NoTrust   Trust = ""
	ByFolder  Trust = "folder" // the user trusts the folder
	ByVouched Trust = "owner"  // the user vouched for this exact content
)

// stillApplies reports whether a document that was stored with trust t may stay unchanged if it is
// now ingested with trust now.
func (t Trust) stillApplies(now Trust) bool { return t == now || t == ByVouched }

// Outcome is the result of ingesting an Input.
type Outcome struct {
	Source    string                  `json:"source"`
	Title     string                  `json:"title,omitempty"`
	Kind      string                  `json:"kind,omitempty"`
	Documents int                     `json:"documents"`
	Chunks    int                     `json:"chunks"`
	Unchanged bool                    `json:"unchanged,omitempty"`
	Fresh     bool                    `json:"-"` // the source is new
	Skipped   []knowledge.SkippedPart `json:"skipped,omitempty"`
}

// Migrations returns the tables of this package. documents_forgotten contains only digests, so that
// no name of an erased source remains. In doc_sources, trying and tries record which content is
// being read and how many attempts were started, trust records why the text counts as the user's
// own, and asked records whether the user explicitly requested this item.
func Migrations() []store.MigrationSet {
	return []store.MigrationSet{{Owner: "ingest", Steps: []string{`
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
