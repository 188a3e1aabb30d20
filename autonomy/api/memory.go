package api

import (
	"context"
	"io"
	"time"

	"hob/platform/provenance"
)

// Memory gives access to the long-term memory.
type Memory interface {
	// Facts lists the newest facts, and if all is set also retired ones.
	Facts(ctx context.Context, limit int, all bool) ([]Fact, error)
	// MemorySearch lists the entries that match a query, best match first. A last row of the kind
	// "withheld" contains the number of omitted entries that look like credentials.
	MemorySearch(ctx context.Context, q MemoryQuery) ([]MemoryRow, error)
	// ExplainSearch is like MemorySearch, but includes the reasons for the result.
	ExplainSearch(ctx context.Context, q MemoryQuery) (ExplainedSearch, error)
	// MemoryItem returns the details of one entry: a fact with its history, an entity with its
	// relations, or another row. It returns ErrNotFound if there is no such entry.
	MemoryItem(ctx context.Context, id string) (MemoryItem, error)
	// MemoryGraph returns the entities related to name, or the most connected ones if name is "",
	// and the relations between them.
	MemoryGraph(ctx context.Context, name string, limit int) (MemoryGraph, error)
	// MemoryStats returns the numbers of entries and the state of the data derived from them.
	MemoryStats(ctx context.Context) (MemoryStats, error)
	// MemoryConsolidate tidies the memory now, as Hob does each night.
	MemoryConsolidate(ctx context.Context) (Consolidation, error)
	// MemoryFlush extracts the facts from the messages of a session that still wait for that, or of
	// all sessions if session is "".
	MemoryFlush(ctx context.Context, session string) (MemoryFlush, error)
	// PinFact sets whether tidying may change a fact. It returns ErrNotFound if there is no such fact.
	PinFact(ctx context.Context, id string, pinned bool) (Fact, error)
	// MemoryExport writes the whole memory as "jsonl" or "markdown". If the request is invalid, it
	// returns an error before it writes anything.
	MemoryExport(ctx context.Context, w io.Writer, format string, conversations bool) error
	// MemoryImport imports a file or folder and calls step to report the progress.
	MemoryImport(ctx context.Context, in MemoryImport, step func(MemoryProgress)) (ImportResult, error)
	// MemoryReindex rebuilds the derived data. step is called as in MemoryImport.
	MemoryReindex(ctx context.Context, step func(MemoryProgress)) error
}

// MemoryQuery is a query for the memory.
type MemoryQuery struct {
	Text         string
	Kinds        []string
	Speaker      string
	Since, Until time.Time
	Limit        int
	History      bool // whether to include former values
	Meaning      bool // whether the embedder and the model may be used
}

// IsEmpty reports whether the query has no condition. The HTTP API responds to such a query with
// the list of facts.
func (q MemoryQuery) IsEmpty() bool {
	return q.Text == "" && len(q.Kinds) == 0 && q.Speaker == "" && q.Since.IsZero() && q.Until.IsZero()
}

// MemoryImport describes an import by its path on this machine.
type MemoryImport struct {
	Path   string `json:"path"`
	Name   string `json:"name,omitempty"`    // name of the source, if the path is not meaningful
	Format string `json:"format,omitempty"`  // required format; "" accepts any
	Trust  bool   `json:"trust,omitempty"`   // whether the content counts as the user's own words
	DryRun bool   `json:"dry_run,omitempty"` // whether to only report what would be imported
}

// MemoryProgress is one progress step of a long operation.
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
	Counts  map[string]int `json:"added"` // number of rows added, by kind
	Added   int            `json:"total"`
	Known   int            `json:"known"`
	Skipped []string       `json:"skipped,omitempty"`
	More    int            `json:"skipped_more,omitempty"`
}

// MemoryRow is a row of the memory in a list.
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
	Until      time.Time           `json:"until,omitzero"` // when the fact stopped being true
	Past       bool                `json:"past,omitempty"` // whether the fact was true in the past but no longer is
}

// ExplainedSearch is the result of a search with the reasons for it.
type ExplainedSearch struct {
	Query string      `json:"query"`
	Route Route       `json:"route"`
	Hits  []MemoryRow `json:"hits"`
	// Withheld is the number of omitted rows that look like credentials.
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

// MemoryItem holds all details of one entry.
type MemoryItem struct {
	MemoryRow

	// For a fact: the time to which it refers, the fact that it replaced, and the fact that
	// replaced it.
	Event      string    `json:"event,omitempty"`
	FactKind   string    `json:"fact_kind,omitempty"`
	Pinned     bool      `json:"pinned,omitempty"`
	ValidFrom  time.Time `json:"valid_from,omitzero"`
	ValidUntil time.Time `json:"valid_until,omitzero"`
	RetiredAt  time.Time `json:"retired_at,omitzero"`
	History    []Fact    `json:"history,omitempty"`
	ReplacedBy *Fact     `json:"replaced_by,omitempty"`
	// About lists the entities named in the fact.
	About []Entity `json:"about,omitempty"`
	// Set for an entity.
	Entity    *Entity     `json:"entity,omitempty"`
	Relations []GraphEdge `json:"relations,omitempty"`
	// Near lists the rows about an entity, or the rows next to a row in its conversation or
	// document.
	Near []MemoryRow `json:"near,omitempty"`
}

// MemoryStats holds the numbers of stored rows and the state of the derived indexes.
type MemoryStats struct {
	Rows      int        `json:"rows"`
	Counts    []RowCount `json:"counts"` // row counts by kind and realm, highest count first
	Entities  int        `json:"entities"`
	Relations int        `json:"relations"`
	Documents int        `json:"documents"`
	// Behind is the number of messages that are not indexed yet.
	Behind int `json:"messages_behind"`
	// Junk counts the facts that are of no use.
	Junk JunkStats `json:"junk"`
	// Derived lists the state of each kind of derived data.
	Derived  []DerivedStats   `json:"derived"`
	Database int64            `json:"database_bytes"`
	OnDisk   map[string]int64 `json:"bytes_on_disk"` // size of each folder or file in the home
}

// JunkStats counts the current facts that are of no use, by reason. A fact can have several reasons.
type JunkStats struct {
	Facts      int `json:"facts"`      // all current facts
	Unused     int `json:"unused"`     // no search or message needed the fact for 30 days
	Duplicates int `json:"duplicates"` // the fact says nothing more than another one
	Questions  int `json:"questions"`  // the text asks something
	Fragments  int `json:"fragments"`  // the text is a part of a sentence
	Junk       int `json:"junk"`       // facts with at least one reason
	// Share is Junk divided by Facts, from 0 to 1.
	Share float64 `json:"share"`
}

// MemoryFlush is the result of extracting facts from the waiting messages.
type MemoryFlush struct {
	Turns int    `json:"turns"` // number of turns that were waiting
	Left  int    `json:"left"`  // number of them for which the model failed; Hob tries again later
	Facts []Fact `json:"facts" schema:"notnull"`
}

// Consolidation is the result of tidying the memory.
type Consolidation struct {
	Merged  int `json:"merged"`  // duplicates merged into another fact
	Closed  int `json:"closed"`  // facts that a newer one contradicts
	Expired int `json:"expired"` // events whose date has passed
	// Summarized is the number of conclusions of Hob that a model summarized. Only nightly runs do
	// that.
	Summarized int `json:"summarized"`
	// Event is the id that undoes the changes, or "" if there are none.
	Event string `json:"event,omitempty"`
}

// RowCount is the number of rows of one kind in one realm.
type RowCount struct {
	Kind  string `json:"kind"`
	Realm string `json:"realm"`
	Rows  int    `json:"rows"`
}

// DerivedStats is the state of data that is derived from the rows.
type DerivedStats struct {
	Name      string         `json:"name"`
	State     string         `json:"state"` // "ready", "behind", "building", "held" or "off"
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
	// Origins lists the sources of the untrusted text in the fact.
	Origins []provenance.Origin `json:"origins,omitempty"`
	Event   string              `json:"event,omitempty"` // inbox event in which the fact was stated
	// Realm is the memory namespace of the fact; "" means the main agent. An agent with its own
	// realm sees no other realm.
	Realm     string    `json:"realm,omitempty"`
	CreatedAt time.Time `json:"created_at"`
	RetiredAt time.Time `json:"retired_at,omitzero"`
	RetiredBy string    `json:"retired_by,omitempty"` // id of the fact that replaced it
	// Kind is "fact", "preference", "procedure", "event" or "decision", or "observation" for a
	// conclusion by Hob.
	Kind string `json:"kind,omitempty"`
	// Source is the origin of the row, as in Row.
	Source string `json:"source,omitempty"`
	// ValidFrom and ValidUntil are the validity period, or zero if the text states none.
	ValidFrom  time.Time `json:"valid_from,omitzero"`
	ValidUntil time.Time `json:"valid_until,omitzero"`
	// Pinned means that Hob does not merge or retire the fact when it tidies the memory.
	Pinned bool `json:"pinned,omitempty"`
}

// Entity is a person, place or other subject in the stored rows.
type Entity struct {
	ID         string            `json:"id"`
	Name       string            `json:"name"`
	Kind       string            `json:"kind"`
	Aliases    []string          `json:"aliases,omitempty"` // other names, email addresses, phone numbers in E.164 format
	Realm      string            `json:"realm,omitempty"`
	Provenance provenance.Source `json:"provenance"`
	Source     string            `json:"source,omitempty"`
	// ByHand reports whether a user created the entity. Other entities are derived from rows and
	// deleted with them.
	ByHand    bool      `json:"by_hand,omitempty"`
	CreatedAt time.Time `json:"created_at"`
	UpdatedAt time.Time `json:"updated_at"`
}

// Relation is a directed edge between two entities, read as "From Name To" ("Ana" "works at"
// "Initech").
type Relation struct {
	ID         string            `json:"id"`
	From       string            `json:"from"` // From and To are ids of entities
	Name       string            `json:"name"`
	To         string            `json:"to"`
	Fact       string            `json:"fact,omitempty"` // the fact that states the relation
	Realm      string            `json:"realm,omitempty"`
	Provenance provenance.Source `json:"provenance"`
	Source     string            `json:"source,omitempty"`
	ByHand     bool              `json:"by_hand,omitempty"` // has the same meaning as in Entity
	// ValidFrom and ValidUntil are the validity period, or zero if unknown.
	ValidFrom  time.Time `json:"valid_from,omitzero"`
	ValidUntil time.Time `json:"valid_until,omitzero"`
	CreatedAt  time.Time `json:"created_at"`
}

// GraphEdge is a relation with the names of the entities at both ends.
type GraphEdge struct {
	Relation

	FromName string `json:"from_name"`
	ToName   string `json:"to_name"`
	Over     bool   `json:"over,omitempty"` // whether the relation is no longer true
}

// MemoryGraph is a part of the graph of people and other entities.
type MemoryGraph struct {
	// Root is the requested entity, or "" if none was requested.
	Root      string      `json:"root,omitempty"`
	Entities  []Entity    `json:"entities"`
	Relations []GraphEdge `json:"relations"`
}
