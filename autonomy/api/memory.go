package api

import (
	"context"
	"io"
	"time"

	"hob/platform/provenance"
)

// Memory is the long-term memory.
type Memory interface {
	// Facts lists the newest facts; with all also retired ones.
	Facts(ctx context.Context, limit int, all bool) ([]Fact, error)
	// MemorySearch lists the entries about a text, best match first. A last row of the kind
	// "withheld" counts the omitted ones that look like a credential.
	MemorySearch(ctx context.Context, q MemoryQuery) ([]MemoryRow, error)
	// ExplainSearch is MemorySearch with the reasons for the result.
	ExplainSearch(ctx context.Context, q MemoryQuery) (ExplainedSearch, error)
	// MemoryItem returns the details of one entry: a fact with its history, an entity with its
	// relations, or another row. ErrNotFound.
	MemoryItem(ctx context.Context, id string) (MemoryItem, error)
	// MemoryGraph returns the entities related to a name, or the most connected ones (""), and
	// their relations.
	MemoryGraph(ctx context.Context, name string, limit int) (MemoryGraph, error)
	// MemoryStats counts the entries and the data derived from them.
	MemoryStats(ctx context.Context) (MemoryStats, error)
	// MemoryExport writes everything, as "jsonl" or "markdown". Errors of the request are
	// returned before anything is written.
	MemoryExport(ctx context.Context, w io.Writer, format string, conversations bool) error
	// MemoryImport imports a file or folder and calls step with the progress.
	MemoryImport(ctx context.Context, in MemoryImport, step func(MemoryProgress)) (ImportResult, error)
	// MemoryReindex rebuilds the derived data; step as in MemoryImport.
	MemoryReindex(ctx context.Context, step func(MemoryProgress)) error
}

// MemoryQuery is a query of the memory.
type MemoryQuery struct {
	Text         string
	Kinds        []string
	Speaker      string
	Since, Until time.Time
	Limit        int
	History      bool // include former values
	Meaning      bool // the embedder and the model may be used
}

// IsEmpty reports whether the query has no condition. The HTTP API answers such a query with the
// list of facts.
func (q MemoryQuery) IsEmpty() bool {
	return q.Text == "" && len(q.Kinds) == 0 && q.Speaker == "" && q.Since.IsZero() && q.Until.IsZero()
}

// MemoryImport describes an import, by its path on this machine.
type MemoryImport struct {
	Path   string `json:"path"`
	Name   string `json:"name,omitempty"`    // the name of the source, if the path has no meaning
	Format string `json:"format,omitempty"`  // the required format, "" for any
	Trust  bool   `json:"trust,omitempty"`   // the content counts as the user's own words
	DryRun bool   `json:"dry_run,omitempty"` // only report what would be imported
}

// MemoryProgress is one step of a long operation.
type MemoryProgress struct {
	Doing string `json:"doing"`
	Done  int64  `json:"done"`
	Total int64  `json:"total"`
}

// ImportResult is the result of an import.
type ImportResult struct {
	Text    string         `json:"text"`
	Format  string         `json:"format"`
	Sealed  bool           `json:"sealed"`
	DryRun  bool           `json:"dry_run,omitempty"`
	Counts  map[string]int `json:"added"` // by kind
	Added   int            `json:"total"`
	Known   int            `json:"known"`
	Skipped []string       `json:"skipped,omitempty"`
	More    int            `json:"skipped_more,omitempty"`
}

// MemoryRow is a row of the memory in the form for lists.
type MemoryRow struct {
	ID         string              `json:"id"`
	Kind       string              `json:"kind"`
	Title      string              `json:"title,omitempty"`
	Text       string              `json:"text"`
	At         time.Time           `json:"at"`
	Provenance provenance.Source   `json:"provenance"`
	Origins    []provenance.Origin `json:"origins,omitempty"`
	Realm      string              `json:"realm,omitempty"`
	Group      string              `json:"group,omitempty"`
	Pos        int                 `json:"pos,omitempty"`
	Speaker    string              `json:"speaker,omitempty"`
	Source     string              `json:"source,omitempty"`
	Score      float64             `json:"score,omitempty"`
	Parts      []ScorePart         `json:"parts,omitempty"`
	Replaced   []Fact              `json:"replaced,omitempty"`
	Until      time.Time           `json:"until,omitzero"` // when the fact ceased to be true
	Past       bool                `json:"past,omitempty"` // the fact was true before, but no longer is
}

// ExplainedSearch is the result of a search with its reasons.
type ExplainedSearch struct {
	Query string      `json:"query"`
	Route Route       `json:"route"`
	Hits  []MemoryRow `json:"hits"`
	// Withheld counts omitted rows that look like a credential.
	Withheld int `json:"withheld,omitempty"`
}

// Route describes how the search interpreted the query.
type Route struct {
	Kind    string   `json:"kind"`
	Reasons []string `json:"reasons,omitempty"`
}

// ScorePart is one component of a score.
type ScorePart struct {
	Name  string  `json:"name"`
	Value float64 `json:"value"`
}

// MemoryItem contains everything about one item.
type MemoryItem struct {
	MemoryRow

	// For facts: the time it refers to, the fact it replaced, and the fact that replaced it.
	Event      string    `json:"event,omitempty"`
	FactKind   string    `json:"fact_kind,omitempty"`
	ValidFrom  time.Time `json:"valid_from,omitzero"`
	ValidUntil time.Time `json:"valid_until,omitzero"`
	RetiredAt  time.Time `json:"retired_at,omitzero"`
	History    []Fact    `json:"history,omitempty"`
	ReplacedBy *Fact     `json:"replaced_by,omitempty"`
	// About lists the entities that the fact names.
	About []Entity `json:"about,omitempty"`
	// Of an entity.
	Entity    *Entity     `json:"entity,omitempty"`
	Relations []GraphEdge `json:"relations,omitempty"`
	// Near contains the rows about an entity, or next to a row in its conversation or document.
	Near []MemoryRow `json:"near,omitempty"`
}

// MemoryStats contains the numbers of stored rows and derived indexes.
type MemoryStats struct {
	Rows      int        `json:"rows"`
	Counts    []RowCount `json:"counts"` // by kind and realm, highest count first
	Entities  int        `json:"entities"`
	Relations int        `json:"relations"`
	Documents int        `json:"documents"`
	// Behind is the number of messages that are not indexed yet.
	Behind int `json:"messages_behind"`
	// Derived lists the states of the derived data.
	Derived  []DerivedStats   `json:"derived"`
	Database int64            `json:"database_bytes"`
	OnDisk   map[string]int64 `json:"bytes_on_disk"` // of each folder or file of the home
}

// RowCount is the number of rows of a kind in a realm.
type RowCount struct {
	Kind  string `json:"kind"`
	Realm string `json:"realm"`
	Rows  int    `json:"rows"`
}

// DerivedStats is the state of data that is derived from the rows.
type DerivedStats struct {
	Name      string         `json:"name"`
	State     string         `json:"state"` // "ready", "behind", "building", "held", "off"
	Cause     string         `json:"cause,omitempty"`
	Rows      int            `json:"rows"`
	Behind    int            `json:"behind"`
	Bytes     int64          `json:"bytes"`
	Languages map[string]int `json:"languages,omitempty"`
}

// Fact is a fact that the user stated or that Hob concluded.
type Fact struct {
	ID         string            `json:"id"`
	Text       string            `json:"text"`
	Provenance provenance.Source `json:"provenance"`
	// Origins are the sources of the untrusted text in it.
	Origins []provenance.Origin `json:"origins,omitempty"`
	Event   string              `json:"event,omitempty"` // inbox event that stated it
	// Realm is the memory namespace of the fact, "" for the main agent. An agent with its own realm
	// sees no other realm.
	Realm     string    `json:"realm,omitempty"`
	CreatedAt time.Time `json:"created_at"`
	RetiredAt time.Time `json:"retired_at,omitzero"`
	RetiredBy string    `json:"retired_by,omitempty"` // the fact that replaced it
	// Kind is "" for a statement, "preference", or "observation" for a conclusion of Hob.
	Kind string `json:"kind,omitempty"`
	// Source is the origin of the row, as in Row.
	Source string `json:"source,omitempty"`
	// ValidFrom and ValidUntil are the validity period, zero if the text states none.
	ValidFrom  time.Time `json:"valid_from,omitzero"`
	ValidUntil time.Time `json:"valid_until,omitzero"`
}

// Entity is a person, place or other subject of the stored rows.
type Entity struct {
	ID         string            `json:"id"`
	Name       string            `json:"name"`
	Kind       string            `json:"kind"`
	Aliases    []string          `json:"aliases,omitempty"` // other names, mail addresses, phone numbers in E.164
	Realm      string            `json:"realm,omitempty"`
	Provenance provenance.Source `json:"provenance"`
	Source     string            `json:"source,omitempty"`
	// ByHand is set if a user created the entity. Other entities are derived from rows and deleted
	// with them.
	ByHand    bool      `json:"by_hand,omitempty"`
	CreatedAt time.Time `json:"created_at"`
	UpdatedAt time.Time `json:"updated_at"`
}

// Relation is a directed edge between two entities: From is Name of To ("Ana" "works at"
// "Initech").
type Relation struct {
	ID         string            `json:"id"`
	From       string            `json:"from"` // ids
	Name       string            `json:"name"`
	To         string            `json:"to"`
	Fact       string            `json:"fact,omitempty"` // the fact that states the relation
	Realm      string            `json:"realm,omitempty"`
	Provenance provenance.Source `json:"provenance"`
	Source     string            `json:"source,omitempty"`
	ByHand     bool              `json:"by_hand,omitempty"` // as in Entity
	// ValidFrom and ValidUntil are the validity period; zero if unknown.
	ValidFrom  time.Time `json:"valid_from,omitzero"`
	ValidUntil time.Time `json:"valid_until,omitzero"`
	CreatedAt  time.Time `json:"created_at"`
}

// GraphEdge is a relation with the names of both ends.
type GraphEdge struct {
	Relation

	FromName string `json:"from_name"`
	ToName   string `json:"to_name"`
	Over     bool   `json:"over,omitempty"` // the relation is no longer true
}

// MemoryGraph is a part of the graph of people and other entities.
type MemoryGraph struct {
	// Root is the requested entity, "" for all.
	Root      string      `json:"root,omitempty"`
	Entities  []Entity    `json:"entities"`
	Relations []GraphEdge `json:"relations"`
}
