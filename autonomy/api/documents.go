package api

import (
	"context"
	"time"

	"hob/platform/provenance"
)

// Documents are the files that Hob has read into the memory.
type Documents interface {
	// Documents lists the documents; with Query.State "failed" the files that could not be read.
	Documents(ctx context.Context, q Query) ([]Document, error)
	// TrustFile records that the user trusts the current content of a file, or of the files
	// below a folder, as own words.
	TrustFile(ctx context.Context, path string) (TrustedFiles, error)
}

// Document is an ingested document, for lists and exports.
type Document struct {
	ID         string            `json:"id"`
	Title      string            `json:"title"`
	Kind       string            `json:"kind"`
	Source     string            `json:"source"`
	Part       string            `json:"part,omitempty"`
	Author     string            `json:"author,omitempty"`
	Language   string            `json:"language,omitempty"`
	Tags       []string          `json:"tags,omitempty"`
	Folder     string            `json:"folder,omitempty"`
	Realm      string            `json:"realm,omitempty"`
	Provenance provenance.Source `json:"provenance"`
	Chunks     int               `json:"chunks"`
	At         time.Time         `json:"at,omitzero"`
	AddedAt    time.Time         `json:"added_at"`
	// Error is the reason why a file could not be ingested; it has no id then.
	Error string `json:"error,omitempty"`
}

// TrustedFiles is the result of TrustFile.
type TrustedFiles struct {
	Path  string `json:"path"`
	Files int    `json:"files"`
	// Left is true if some files were not read: they are too large or too many.
	Left bool `json:"left,omitempty"`
}
