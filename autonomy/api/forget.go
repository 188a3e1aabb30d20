package api

import (
	"context"
	"time"

	"hob/platform/provenance"
)

// Forgetting deletes permanently. The tool "forget" begins it.
type Forgetting interface {
	// PreviewErasure returns the data that would be deleted and changes nothing: the row Query.Of,
	// the text Query.Text, or the data that came from Query.State; with Query.All also everything
	// that mentions it.
	PreviewErasure(ctx context.Context, q Query) ([]ErasurePreview, error)
	// Erasures lists the deletions. It waits until the one named by Query.Of is done.
	Erasures(ctx context.Context, q Query) ([]Erasure, error)
}

// ErasurePreview is the API view of a deletion plan.
type ErasurePreview struct {
	ErasurePlan

	// Places counts the rows of the database that would be removed or changed,
	// all tables taken together.
	Places int `json:"places"`
}

// ErasurePlan is a preview of an erasure.
type ErasurePlan struct {
	Facts []Fact `json:"facts,omitempty"` // including the facts they replaced
	Docs  []Row  `json:"docs,omitempty"`  // other rows that are removed completely
	// Within counts, by kind, the rows of docs that stay but are redacted.
	Within map[string]int `json:"within,omitempty"`
	// Made lists rows created by a turn that had read the source. They stay unless the request
	// names them.
	Made []Row `json:"made,omitempty"`
	// Turns and Calls count the removed parts of conversations.
	Turns int `json:"turns,omitempty"`
	Calls int `json:"calls,omitempty"`
}

// Erasure reports the progress of an erasure.
type Erasure struct {
	ID       string `json:"id"`
	State    string `json:"state"`
	Rows     int    `json:"rows"`     // removed
	Scrubbed int    `json:"scrubbed"` // rows and files that were redacted
	Files    int    `json:"files"`    // removed
	Backups  int    `json:"backups"`  // older backups that were replaced by a new one
	// Trouble is the error of the last attempt.
	Trouble string    `json:"trouble,omitempty"`
	BegunAt time.Time `json:"begun_at"`
	EndedAt time.Time `json:"ended_at,omitzero"`
}

// Row is one searchable text. Kind and Ref identify it.
type Row struct {
	Kind       string            `json:"kind"`
	Ref        string            `json:"ref"` // the id in the owning table
	Title      string            `json:"title,omitempty"`
	Text       string            `json:"text"`
	At         time.Time         `json:"at"`
	Provenance provenance.Source `json:"provenance"`
	// Origins are the sources of the untrusted text in it. They are stored with the document.
	Origins []provenance.Origin `json:"origins,omitempty"`
	// Realm limits who finds it, see Fact; "" for shared data.
	Realm string `json:"realm,omitempty"`
	// Group is the conversation or document that contains it, and Pos its position there. Rows of a
	// group with consecutive Pos are adjacent.
	Group string `json:"group,omitempty"`
	Pos   int    `json:"pos,omitempty"`
	// Speaker is the author: "owner", "hob" or a name.
	Speaker string `json:"speaker,omitempty"`
	// Source is where it came from; erasure requests name it: "event:ID", "mail:ID", "file:PATH",
	// "url:URL", "import:NAME".
	Source string `json:"source,omitempty"`
}
