package knowledge

import (
	"time"

	"hob/platform/provenance"
)

// File is a file of this machine that can be ingested.
type File struct {
	Path     string // absolute, links resolved
	Size     int64
	Modified time.Time
	Trusted  bool   // the user trusts the file's folder; only set during a walk
	Content  []byte // not set during a walk; the same applies to Source and Origins
	Source   provenance.Source
	Origins  []provenance.Origin
}

// TextOrigin is the origin of a text that names people or other entities.
type TextOrigin struct {
	Source     string
	Realm      string
	Provenance provenance.Source
	Origins    []provenance.Origin
	At         time.Time
}

// DocumentRequest names the document to ingest by Path or URL.
type DocumentRequest struct {
	Path, URL, Title string
	Tags             []string
}

// DocumentResult is the result of ingesting a document. Its fields are also the undo data.
type DocumentResult struct {
	Documents int           `json:"documents"`
	Chunks    int           `json:"chunks"`
	Unchanged int           `json:"unchanged"`
	Skipped   []SkippedPart `json:"skipped,omitempty"`
	// Fresh lists the new sources. Folder is the folder that is kept in sync.
	Fresh  []string `json:"fresh,omitempty"`
	Folder string   `json:"folder,omitempty"`
	// More is true if the time limit was reached. The remaining files are ingested in the
	// background.
	More    bool                `json:"more,omitempty"`
	Origins []provenance.Origin `json:"-"`
}

// SkippedPart is a file, or a part of a file, that was not ingested, with the reason.
type SkippedPart struct {
	Name   string `json:"name"`
	Reason string `json:"reason"`
}

// IngestReport counts the results of ingesting some files.
type IngestReport struct {
	Documents int `json:"documents"`
	Chunks    int `json:"chunks"`
	Files     int `json:"files"`
	Unchanged int `json:"unchanged"` // number of files
	// Same and SameChunks count the documents and chunks of unchanged files. They are included in
	// the counts above.
	Same       int           `json:"-"`
	SameChunks int           `json:"-"`
	Fresh      []string      `json:"fresh,omitempty"` // new sources, at most 1,000
	Titles     []string      `json:"titles,omitempty"`
	Skipped    []SkippedPart `json:"skipped,omitempty"`
}
