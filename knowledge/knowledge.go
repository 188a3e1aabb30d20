// Package knowledge stores what Hob remembers. Base contains facts (Remember, Recall, Forget) and a
// full-text index of all searchable data. Packages that own notes, tasks or expenses add their rows
// to the index (Index, Unindex, Search).
//
// The SQLite tables in this package are the source of truth. They are written in the same
// transaction as the data that they describe. Other indexes, vectors and the graph are derived from
// them by row id. The package makes no access decisions. Every fact and document has a provenance.
package knowledge

import (
	"errors"
	"sync/atomic"
	"time"

	"hob/platform/provenance"
	"hob/platform/provenance/origins"
	"hob/platform/store"
)

// Kinds of documents that this package stores. Other packages use their own names ("note", "task").
const (
	KindFact = "fact"
	// KindRetired is a fact that a newer one replaced. It is kept as history, and a search finds it
	// only if the search names this kind.
	KindRetired = "retired"
	// KindTurn is one message of a conversation. Group is the conversation.
	KindTurn = "turn"
	// KindChunk is a part of a document. Group is the document.
	KindChunk = "chunk"
)

// Errors that callers handle.
var (
	ErrEmpty    = errors.New("cannot remember: the text is empty")
	ErrTooLong  = errors.New("the text is longer than 10,000 bytes, the limit for a fact; save it as a note or a file")
	ErrNotFound = errors.New("no such fact")
)

// MaxFact is the maximum length of a fact in bytes.
const MaxFact = 10_000

// Fact is a fact that the user stated or that Hob concluded.
type Fact struct {
	ID         string            `json:"id"`
	Text       string            `json:"text"`
	Provenance provenance.Source `json:"provenance"`
	// Origins are the sources of the untrusted text in the fact.
	Origins []provenance.Origin `json:"origins,omitempty"`
	Event   string              `json:"event,omitempty"` // inbox event that stated the fact
	// Realm is the memory namespace of the fact; "" is the main agent's. An agent with its own
	// realm sees no other realm.
	Realm     string    `json:"realm,omitempty"`
	CreatedAt time.Time `json:"created_at"`
	RetiredAt time.Time `json:"retired_at,omitzero"`
	RetiredBy string    `json:"retired_by,omitempty"` // id of the fact that replaced this one
	// Kind is one of FactKinds, or "observation" for a conclusion that Hob drew.
	Kind string `json:"kind,omitempty"`
	// Source is the origin of the row, as in Doc.
	Source string `json:"source,omitempty"`
	// ValidFrom and ValidUntil are the validity period. They are zero if the text states none.
	ValidFrom  time.Time `json:"valid_from,omitzero"`
	ValidUntil time.Time `json:"valid_until,omitzero"`
	// Pinned means that no consolidation changes the fact.
	Pinned bool `json:"pinned,omitempty"`
}

// Doc is one searchable text. Kind and Ref identify it.
type Doc struct {
	Kind       string            `json:"kind"`
	Ref        string            `json:"ref"` // id in the table that owns the row
	Title      string            `json:"title,omitempty"`
	Text       string            `json:"text"`
	At         time.Time         `json:"at"`
	Provenance provenance.Source `json:"provenance"`
	// Origins are the sources of the untrusted text in the document. They are stored with it.
	Origins []provenance.Origin `json:"origins,omitempty"`
	// Realm limits which agents find the document; see Fact. "" means shared data.
	Realm string `json:"realm,omitempty"`
	// Group is the conversation or document that contains the text, and Pos is its position in the
	// group. Rows of a group with consecutive Pos are adjacent.
	Group string `json:"group,omitempty"`
	Pos   int    `json:"pos,omitempty"`
	// Speaker is the author: "owner", "hob" or a name.
	Speaker string `json:"speaker,omitempty"`
	// Source is the origin of the row. Erasure requests use it to name the row: "event:ID",
	// "mail:ID", "file:PATH", "url:URL", "import:NAME".
	Source string `json:"source,omitempty"`
}

// Hit is a matching document; a higher Score is better.
type Hit struct {
	Doc
	N     int64   `json:"-"` // row number
	Score float64 `json:"score"`
	// Parts are the components of the score; see Base.Retrieve.
	Parts []Part `json:"parts,omitempty"`
	// Until is the time at which a fact in the history became invalid.
	Until time.Time `json:"until,omitzero"`
	// Replaced lists the older facts that this one corrects.
	Replaced []Fact `json:"replaced,omitempty"`
}

// SearchOptions filters a search. The zero value is ready to use.
type SearchOptions struct {
	Limit int      // default 10, at most 1,000
	Kinds []string // empty means all kinds except retired facts
	// All disables the looser search rounds: a document must contain every content word, or the
	// exact query.
	All bool
	// Realm selects the facts to search. Documents without a realm are always searched.
	Realm string
	// EveryRealm includes the facts of all realms, for the user's own view.
	EveryRealm bool
}

// Options configures New. The zero value is ready to use.
type Options struct {
	// HalfLife is the age at which the recency bonus is halved (default 30 days).
	HalfLife time.Duration
	// Events lists the events of a conversation, so that facts from the conversation can be erased
	// with it. If it is nil, no events are known.
	Events func(q store.Querier, session string) ([]string, error)
	// Below lists the events of tasks that a turn delegated, so that they can be erased with the
	// turn. If it is nil, they are not erased.
	Below func(q store.Querier, event string) ([]string, error)
	// Calls lists the tool calls of events, so that their results can be erased with the events. If
	// it is nil, no calls are known.
	Calls func(q store.Querier, events []string) ([]string, error)
	// Parts lists the documents (Doc.Group) of a source that is part of another source, such as a
	// message in a mailbox file. If it is nil, such sources are not supported.
	Parts func(q store.Querier, source string) ([]string, error)
	// Quoted returns the texts of rows of other packages that an erasure deletes and that
	// conversations may quote (erase.Quoter). If it is nil, such quotes are not redacted.
	Quoted func(q store.Querier, e *Erasure) ([]string, error)
	// Home replaces "~" in the path of a source. If it is "", the path is not changed.
	Home string
	// ForgetMost is the maximum number of facts and rows that one erasure request may remove or
	// change (default 500).
	ForgetMost int
	// Index, Vectors and Graph are derived from the documents. They may be nil.
	Index   Index
	Vectors Vectors
	Graph   Graph
	// Changed is called after each commit that changed documents, so that derived indexes can
	// follow. It must not block. It may be nil.
	Changed func()
	// FactsChanged is like Changed, but only for facts.
	FactsChanged func()
	// Corrector and Reranker improve the results of Retrieve. They may be nil.
	Corrector Corrector
	Reranker  Reranker
	// RerankHits is the minimum number of hits passed to the Reranker, if there are that many.
	RerankHits int
	// Tuning sets the thresholds and weights of Retrieve.
	Tuning Tuning
}

// Base stores Hob's memory. Its methods may be called concurrently. Methods ending in Tx run in the
// caller's transaction.
type Base struct {
	st    *store.Store
	opt   Options
	tune  Tuning
	read  atomic.Bool   // the current version of the parser has parsed all facts
	timed chan struct{} // receives a value after a fact with a validity period is stored
	uses  *factUses
}

// New returns a Base on st, which must have been opened with this package's Migrations.
func New(st *store.Store, opt Options) (*Base, error) {
	if st == nil {
		return nil, errors.New("knowledge: a store is required")
	}
	if opt.HalfLife <= 0 {
		opt.HalfLife = 30 * 24 * time.Hour
	}
	return &Base{st: st, opt: opt, tune: opt.Tuning.withDefaults(), timed: make(chan struct{}, 1), uses: &factUses{}}, nil
}

// Migrations returns the tables of this package, including the origins of stored rows.
func Migrations() []store.MigrationSet {
	return []store.MigrationSet{{Owner: "knowledge", RowChanges: map[int][]string{5: {"docs_fts"}}, Steps: []string{schema1, schema2, schema3, schema4, schema5, schema6, schema7, schema8}}, {Owner: "claims", Steps: []string{claims1}}, origins.Migrations(), {Owner: "erasures", Steps: []string{erasuresTable}}}
}

// schema1: docs_fts is the old full-text index, which schema5 replaces.
const schema1 = `
CREATE TABLE facts (
	n INTEGER PRIMARY KEY,
	id TEXT NOT NULL UNIQUE,
	text TEXT NOT NULL,
	same TEXT NOT NULL,
	head TEXT NOT NULL,
	provenance TEXT NOT NULL,
	event TEXT NOT NULL DEFAULT '',
	created_at INTEGER NOT NULL,
	retired_at INTEGER NOT NULL DEFAULT 0,
	retired_by TEXT NOT NULL DEFAULT ''
);
CREATE INDEX facts_same ON facts (same);
CREATE INDEX facts_head ON facts (head) WHERE head <> '';
CREATE INDEX facts_retired_by ON facts (retired_by) WHERE retired_by <> '';
CREATE TABLE docs (
	n INTEGER PRIMARY KEY,
	kind TEXT NOT NULL,
	ref TEXT NOT NULL,
	title TEXT NOT NULL,
	text TEXT NOT NULL,
	at INTEGER NOT NULL,
	provenance TEXT NOT NULL,
	UNIQUE (kind, ref)
);
CREATE INDEX docs_at ON docs (at);
CREATE VIRTUAL TABLE docs_fts USING fts5(title, text, content='docs', content_rowid='n', tokenize='porter unicode61 remove_diacritics 2');
INSERT INTO docs_fts (docs_fts, rank) VALUES ('secure-delete', 1);
CREATE TRIGGER docs_insert AFTER INSERT ON docs BEGIN
	INSERT INTO docs_fts (rowid, title, text) VALUES (new.n, new.title, new.text);
END;
CREATE TRIGGER docs_delete AFTER DELETE ON docs BEGIN
	INSERT INTO docs_fts (docs_fts, rowid, title, text) VALUES ('delete', old.n, old.title, old.text);
END;
CREATE TRIGGER docs_update AFTER UPDATE OF title, text ON docs BEGIN
	INSERT INTO docs_fts (docs_fts, rowid, title, text) VALUES ('delete', old.n, old.title, old.text);
	INSERT INTO docs_fts (rowid, title, text) VALUES (new.n, new.title, new.text);
END;`

// schema2: facts belong to a realm.
const schema2 = `
ALTER TABLE facts ADD COLUMN realm TEXT NOT NULL DEFAULT '';
ALTER TABLE docs ADD COLUMN realm TEXT NOT NULL DEFAULT '';`

// schema3: rows have a group, a source and a validity period. Triggers write doc_changes, which
// derived indexes follow, so that no code that writes rows can omit a change. AUTOINCREMENT ensures
// that a Seq is never reused.
const schema3 = `
ALTER TABLE facts ADD COLUMN kind TEXT NOT NULL DEFAULT '';
ALTER TABLE facts ADD COLUMN source TEXT NOT NULL DEFAULT '';
ALTER TABLE facts ADD COLUMN valid_from INTEGER NOT NULL DEFAULT 0;
ALTER TABLE facts ADD COLUMN valid_until INTEGER NOT NULL DEFAULT 0;
CREATE INDEX facts_source ON facts (source) WHERE source <> '';
CREATE INDEX facts_event ON facts (event) WHERE event <> '';
ALTER TABLE docs ADD COLUMN grp TEXT NOT NULL DEFAULT '';
ALTER TABLE docs ADD COLUMN pos INTEGER NOT NULL DEFAULT 0;
ALTER TABLE docs ADD COLUMN speaker TEXT NOT NULL DEFAULT '';
ALTER TABLE docs ADD COLUMN source TEXT NOT NULL DEFAULT '';
CREATE INDEX docs_grp ON docs (grp, pos) WHERE grp <> '';
CREATE INDEX docs_source ON docs (source) WHERE source <> '';
CREATE TABLE doc_changes (seq INTEGER PRIMARY KEY AUTOINCREMENT, doc INTEGER NOT NULL);
CREATE TABLE derived (name TEXT PRIMARY KEY, seq INTEGER NOT NULL) WITHOUT ROWID;
INSERT INTO doc_changes (doc) SELECT n FROM docs ORDER BY n;
CREATE TRIGGER docs_inserted AFTER INSERT ON docs BEGIN INSERT INTO doc_changes (doc) VALUES (new.n); END;
CREATE TRIGGER docs_deleted AFTER DELETE ON docs BEGIN INSERT INTO doc_changes (doc) VALUES (old.n); END;
CREATE TRIGGER docs_updated AFTER UPDATE ON docs BEGIN INSERT INTO doc_changes (doc) VALUES (new.n); END;`

// schema4: indexes to find realms and speakers without a full scan.
const schema4 = `
CREATE INDEX docs_realm ON docs (realm) WHERE realm <> '';
CREATE INDEX docs_speaker ON docs (speaker COLLATE NOCASE) WHERE speaker <> '';`

// schema5: an Index derived from docs replaces the full-text table.
const schema5 = `
DROP TRIGGER docs_insert;
DROP TRIGGER docs_delete;
DROP TRIGGER docs_update;
DROP TABLE docs_fts;`

// schema6: an index to find the speakers in a realm without reading other realms.
const schema6 = `
DROP INDEX docs_speaker;
CREATE INDEX docs_speaker ON docs (realm, kind, speaker COLLATE NOCASE) WHERE speaker <> '';`

// schema7: each change has a mark. With it, derived indexes detect that the database was replaced
// by another copy whose changes have the same numbers.
const schema7 = `
ALTER TABLE doc_changes ADD COLUMN mark INTEGER NOT NULL DEFAULT 0;
ALTER TABLE derived ADD COLUMN mark INTEGER NOT NULL DEFAULT 0;
DROP TRIGGER docs_inserted;
DROP TRIGGER docs_deleted;
DROP TRIGGER docs_updated;
CREATE TRIGGER docs_inserted AFTER INSERT ON docs BEGIN INSERT INTO doc_changes (doc, mark) VALUES (new.n, random()); END;
CREATE TRIGGER docs_deleted AFTER DELETE ON docs BEGIN INSERT INTO doc_changes (doc, mark) VALUES (old.n, random()); END;
CREATE TRIGGER docs_updated AFTER UPDATE ON docs BEGIN INSERT INTO doc_changes (doc, mark) VALUES (new.n, random()); END;`

// schema8: facts that the consolidation of the memory must not change, facts that it merged into
// others, and the time at which a fact was last found. Facts that exist already count as used at
// the time of the migration.
const schema8 = `
ALTER TABLE facts ADD COLUMN pinned INTEGER NOT NULL DEFAULT 0;
ALTER TABLE facts ADD COLUMN merged INTEGER NOT NULL DEFAULT 0;
ALTER TABLE facts ADD COLUMN used_at INTEGER NOT NULL DEFAULT 0;
UPDATE facts SET used_at = unixepoch() * 1000;
CREATE INDEX facts_events ON facts (valid_until) WHERE kind = 'event' AND retired_at = 0;`

// Values of Speaker that are not names, in conversations with Hob and with other programs.
const (
	ByOwner   = "owner"
	ByHob     = "hob"
	ByTool    = "tool"
	ByOutside = "outside" // guests, and text that was forwarded
	ByYou     = "you"
	ByChatGPT = "chatgpt"
	ByClaude  = "claude"
)

// IsPersonName reports whether a speaker is a person's name.
func IsPersonName(speaker string) bool {
	switch speaker {
	case "", ByOwner, ByHob, ByTool, ByOutside, ByYou, ByChatGPT, ByClaude:
		return false
	}
	return true
}
