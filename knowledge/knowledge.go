// Package knowledge is the contract of what Hob remembers: Base keeps facts
// (Remember, Recall, Forget) and a full-text index over everything worth
// searching, in which the packages that own notes, tasks or expenses put their
// rows (Index, Unindex, Search).
//
// The SQLite tables here are the truth and are written in the same transaction
// as what they describe. Richer indexes, vectors and the graph derive from them
// by their row ids. The package decides nothing about who may see what; every
// fact and document carries the provenance it came with.
package knowledge

import (
	"errors"
	"sync/atomic"
	"time"

	"hob/knowledge/store"
	"hob/platform/origins"
	"hob/platform/provenance"
)

// Kinds of documents that this package itself keeps. Other packages use names
// of their own ("note", "task").
const (
	KindFact = "fact"
	// KindRetired is a fact that a newer one replaced: kept as history, found
	// only when this kind is asked for.
	KindRetired = "retired"
	// KindTurn is one message of a conversation; Group is the conversation.
	KindTurn = "turn"
	// KindChunk is a part of a document; Group is the document.
	KindChunk = "chunk"
)

// Errors a caller can act on.
var (
	ErrEmpty    = errors.New("cannot remember: the text is empty")
	ErrTooLong  = errors.New("the text is longer than a fact can be (10,000 characters); save it as a note or a file")
	ErrNotFound = errors.New("no such fact")
)

// MaxFact is the longest fact in bytes.
const MaxFact = 10_000

// Fact is one thing Hob was told or concluded.
type Fact struct {
	ID         string            `json:"id"`
	Text       string            `json:"text"`
	Provenance provenance.Source `json:"provenance"`
	// Origins are from where the outside text in it came.
	Origins []provenance.Origin `json:"origins,omitempty"`
	Event   string              `json:"event,omitempty"` // inbox event it came with
	// Realm is whose memory it belongs to, "" for that of the main agent: an
	// agent with a realm of its own sees no other.
	Realm     string    `json:"realm,omitempty"`
	CreatedAt time.Time `json:"created_at"`
	RetiredAt time.Time `json:"retired_at,omitzero"`
	RetiredBy string    `json:"retired_by,omitempty"` // the fact that replaced it
	// Kind is "" for what was said to be so, else "preference" or "observation"
	// (what Hob concluded).
	Kind string `json:"kind,omitempty"`
	// Source is where it came from, as in Doc.
	Source string `json:"source,omitempty"`
	// ValidFrom and ValidUntil bound when it holds, as far as it says.
	ValidFrom  time.Time `json:"valid_from,omitzero"`
	ValidUntil time.Time `json:"valid_until,omitzero"`
}

// Doc is one searchable text. Kind and Ref identify it.
type Doc struct {
	Kind       string            `json:"kind"`
	Ref        string            `json:"ref"` // the id in the owning table
	Title      string            `json:"title,omitempty"`
	Text       string            `json:"text"`
	At         time.Time         `json:"at"`
	Provenance provenance.Source `json:"provenance"`
	// Origins are from where the outside text in it came; they are kept with it.
	Origins []provenance.Origin `json:"origins,omitempty"`
	// Realm narrows who finds it, see Fact; "" for what is nobody's memory.
	Realm string `json:"realm,omitempty"`
	// Group is the conversation or document of which it is a part, and Pos its
	// place there; rows of one group with neighbouring Pos stand together.
	Group string `json:"group,omitempty"`
	Pos   int    `json:"pos,omitempty"`
	// Speaker is who said it: "owner", "hob" or a name.
	Speaker string `json:"speaker,omitempty"`
	// Source is where it came from, to be forgotten by: "event:ID", "mail:ID",
	// "file:PATH", "url:URL", "import:NAME".
	Source string `json:"source,omitempty"`
}

// Hit is a document that matched; a higher Score is better.
type Hit struct {
	Doc
	N     int64   `json:"-"` // its row
	Score float64 `json:"score"`
	// Parts are what the score is made of, see Base.Retrieve.
	Parts []Part `json:"parts,omitempty"`
	// Until is when it ceased to be so: of what is history, or tells it.
	Until time.Time `json:"until,omitzero"`
	// Replaced are the older facts that this one corrects.
	Replaced []Fact `json:"replaced,omitempty"`
}

// SearchOptions narrow a search; the zero value is useful.
type SearchOptions struct {
	Limit int      // default 10, at most 1,000
	Kinds []string // empty: everything but retired facts
	// All leaves out the looser rounds: only documents with every telling word
	// of the query, or with the query as it stands, count.
	All bool
	// Realm is whose facts are searched. What is no fact is found in each.
	Realm string
	// EveryRealm is the owner's view: it searches the facts of all of them.
	EveryRealm bool
}

// Options of New; the zero value is useful.
type Options struct {
	// HalfLife is the age at which the bonus for being recent is halved
	// (default 30 days).
	HalfLife time.Duration
	// Events lists the events of a conversation, so that what was remembered in
	// them can be forgotten with it; nil: none are known.
	Events func(q store.Querier, session string) ([]string, error)
	// Below lists the events of the tasks that were handed on in a turn, which go
	// with it; nil: there are none.
	Below func(q store.Querier, event string) ([]string, error)
	// Calls lists the tool calls of events, whose results go with them; nil: none
	// are known.
	Calls func(q store.Querier, events []string) ([]string, error)
	// Parts lists the documents (Doc.Group) that a source names which is a part of
	// another one, such as a mail of a mailbox; nil: there are none.
	Parts func(q store.Querier, source string) ([]string, error)
	// Home is what "~" stands for in the path of a source; "" leaves it as it is.
	Home string
	// ForgetMost is how many facts and rows one request to forget may remove or
	// change (default 500).
	ForgetMost int
	// Index, Vectors and Graph derive from the documents; what is nil is done
	// without.
	Index   Index
	Vectors Vectors
	Graph   Graph
	// Changed, when set, is called after each commit that changed the documents,
	// so that what derives from them follows. It must be quick.
	Changed func()
	// Corrector and Reranker improve what Retrieve finds; nil is off.
	Corrector Corrector
	Reranker  Reranker
	// RerankHits is how many hits the Reranker gets at least, when there are so many.
	RerankHits int
	// Tuning are the thresholds and weights of Retrieve.
	Tuning Tuning
}

// Base is Hob's memory. Its methods may be called concurrently; those ending
// in Tx take part in the caller's transaction.
type Base struct {
	st    *store.Store
	opt   Options
	tune  Tuning
	read  atomic.Bool   // every fact was read by this version once
	timed chan struct{} // a fact that holds for a time was kept
}

// New returns the base kept in st, which must have been opened with this
// package's Migrations.
func New(st *store.Store, opt Options) (*Base, error) {
	if st == nil {
		return nil, errors.New("knowledge: a store is required")
	}
	if opt.HalfLife <= 0 {
		opt.HalfLife = 30 * 24 * time.Hour
	}
	return &Base{st: st, opt: opt, tune: opt.Tuning.filled(), timed: make(chan struct{}, 1)}, nil
}

// Migrations are the tables of this package, and that of the origins of what it
// keeps.
func Migrations() []store.Set {
	return []store.Set{{Owner: "knowledge", Steps: []string{schema1, schema2, schema3, schema4, schema5, schema6, schema7}}, {Owner: "claims", Steps: []string{claims1}}, origins.Migrations(), {Owner: "erasures", Steps: []string{erasuresTable}}}
}

// schema1: docs_fts was the index before there was another; see schema5.
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

// schema3: rows are parts of something, come from somewhere and hold for a time;
// what derives from docs follows doc_changes, which triggers write, so that no
// writer can leave it out. AUTOINCREMENT: a Seq is never given twice.
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

// schema4: whose memory and whose words there are is found without reading all
// rows.
const schema4 = `
CREATE INDEX docs_realm ON docs (realm) WHERE realm <> '';
CREATE INDEX docs_speaker ON docs (speaker COLLATE NOCASE) WHERE speaker <> '';`

// schema5: words are found by an Index that derives from docs.
const schema5 = `
DROP TRIGGER docs_insert;
DROP TRIGGER docs_delete;
DROP TRIGGER docs_update;
DROP TABLE docs_fts;`

// schema6: who has said something in a realm is found without looking at others.
const schema6 = `
DROP INDEX docs_speaker;
CREATE INDEX docs_speaker ON docs (realm, kind, speaker COLLATE NOCASE) WHERE speaker <> '';`

// schema7: each change has a mark of its own, so that what derives is told from
// what derives from another copy of the database, which has gone on since with
// changes of the same numbers.
const schema7 = `
ALTER TABLE doc_changes ADD COLUMN mark INTEGER NOT NULL DEFAULT 0;
ALTER TABLE derived ADD COLUMN mark INTEGER NOT NULL DEFAULT 0;
DROP TRIGGER docs_inserted;
DROP TRIGGER docs_deleted;
DROP TRIGGER docs_updated;
CREATE TRIGGER docs_inserted AFTER INSERT ON docs BEGIN INSERT INTO doc_changes (doc, mark) VALUES (new.n, random()); END;
CREATE TRIGGER docs_deleted AFTER DELETE ON docs BEGIN INSERT INTO doc_changes (doc, mark) VALUES (old.n, random()); END;
CREATE TRIGGER docs_updated AFTER UPDATE ON docs BEGIN INSERT INTO doc_changes (doc, mark) VALUES (new.n, random()); END;`

// Speakers of conversations with other programs.
const (
	ByYou     = "you"
	ByChatGPT = "chatgpt"
	ByClaude  = "claude"
)

// Named reports whether a speaker is called by a name, as people are.
func Named(speaker string) bool {
	switch speaker {
	case "", "owner", "hob", "tool", "outside", ByYou, ByChatGPT, ByClaude:
		return false
	}
	return true
}
