// Package graph keeps who and what the rows of docs are about: entities with
// the names they go by, how they are related and since when, and in which rows
// they are mentioned. It implements knowledge.Graph.
//
// What it reads out of facts derives from them: it follows the changes of docs,
// off the path of a turn, and goes with its row when that is removed, in the
// same transaction. What the owner linked by hand (LinkTx) is its own. Two
// entities are one as long as they have a mail address or a telephone number in
// common, or one is called what the other is (see regroupTx). No model is called
// here.
package graph

import (
	"cmp"
	"errors"
	"log/slog"
	"strings"
	"sync"
	"time"

	"hob/knowledge"
	"hob/knowledge/store"
	"hob/platform/phrase"
)

// Options of New; Store is required.
type Options struct {
	Store *store.Store
	// Region is the ISO 3166 code of the country by which telephone numbers
	// without one are read, "" for none.
	Region func() string
	// Follow is how many changes are taken in at once (default 200).
	Follow int
	Log    *slog.Logger
}

// Graph is the entities and their relations. Its methods may be called
// concurrently.
type Graph struct {
	o    Options
	wake chan struct{}

	following sync.Mutex // one at a time: each begins where the last one ended

	mu    sync.Mutex
	names names // that are looked for in texts; nil: to be read again
}

// New checks the options.
func New(o Options) (*Graph, error) {
	if o.Store == nil {
		return nil, errors.New("graph: a store is required")
	}
	if o.Region == nil {
		o.Region = func() string { return "" }
	}
	o.Follow = cmp.Or(o.Follow, 200)
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	return &Graph{o: o, wake: make(chan struct{}, 1)}, nil
}

// Migrations of the package's tables. They refer to those of package knowledge.
func Migrations() store.Set { return store.Set{Owner: "graph", Steps: []string{schema1, schema2}} }

// schema1: what was made from a row of docs goes with it, whoever removes it.
const schema1 = `
CREATE TABLE entities (
	id TEXT PRIMARY KEY, name TEXT NOT NULL, kind TEXT NOT NULL, realm TEXT NOT NULL, provenance TEXT NOT NULL, source TEXT NOT NULL DEFAULT '',
	by_hand INTEGER NOT NULL DEFAULT 0, merged_into TEXT NOT NULL DEFAULT '', created_at INTEGER NOT NULL, updated_at INTEGER NOT NULL) WITHOUT ROWID;
CREATE INDEX entities_merged ON entities (merged_into) WHERE merged_into <> '';
CREATE INDEX entities_recent ON entities (updated_at);
CREATE TABLE entity_aliases (
	entity TEXT NOT NULL, key TEXT NOT NULL, text TEXT NOT NULL, kind TEXT NOT NULL, doc INTEGER NOT NULL, PRIMARY KEY (entity, key, doc)) WITHOUT ROWID;
CREATE INDEX entity_aliases_key ON entity_aliases (key);
CREATE INDEX entity_aliases_doc ON entity_aliases (doc);
CREATE TABLE relations (
	id TEXT PRIMARY KEY, from_id TEXT NOT NULL, name TEXT NOT NULL, to_id TEXT NOT NULL, fact TEXT NOT NULL DEFAULT '', doc INTEGER NOT NULL DEFAULT 0,
	realm TEXT NOT NULL, provenance TEXT NOT NULL, source TEXT NOT NULL DEFAULT '', valid_from INTEGER NOT NULL DEFAULT 0, valid_until INTEGER NOT NULL DEFAULT 0,
	over INTEGER NOT NULL DEFAULT 0, created_at INTEGER NOT NULL) WITHOUT ROWID;
CREATE INDEX relations_from ON relations (from_id, over);
CREATE INDEX relations_to ON relations (to_id, over);
CREATE INDEX relations_doc ON relations (doc) WHERE doc <> 0;
CREATE TABLE mentions (doc INTEGER NOT NULL, entity TEXT NOT NULL, PRIMARY KEY (doc, entity)) WITHOUT ROWID;
CREATE INDEX mentions_entity ON mentions (entity, doc);
CREATE TABLE graph_state (seq INTEGER NOT NULL);
INSERT INTO graph_state (seq) VALUES (0);
CREATE TRIGGER docs_graph_gone AFTER DELETE ON docs BEGIN
	DELETE FROM relations WHERE doc = old.n;
	DELETE FROM entity_aliases WHERE doc = old.n;
	DELETE FROM mentions WHERE doc = old.n;
END;
CREATE TRIGGER mentions_gone AFTER DELETE ON mentions BEGIN
	DELETE FROM entities WHERE id = old.entity AND by_hand = 0 AND id <> 'owner' AND NOT EXISTS (SELECT 1 FROM mentions WHERE entity = old.entity)
		AND NOT EXISTS (SELECT 1 FROM relations WHERE from_id = old.entity OR to_id = old.entity);
END;
CREATE TRIGGER entities_gone AFTER DELETE ON entities BEGIN
	DELETE FROM entity_aliases WHERE entity = old.id;
	DELETE FROM relations WHERE from_id = old.id OR to_id = old.id;
	UPDATE entities SET merged_into = '' WHERE merged_into = old.id;
END;`

// schema2: a name is looked for in earlier rows until that is done (fresh). A
// name goes with the last row that gives it, and an entity with its last name.
// What was linked because of a fact goes with the fact. merged_into derives from
// the aliases, and is made anew when these changed (regroup).
const schema2 = `
ALTER TABLE entity_aliases ADD COLUMN fresh INTEGER NOT NULL DEFAULT 0;
CREATE INDEX entity_aliases_fresh ON entity_aliases (text) WHERE fresh = 1;
CREATE INDEX entity_aliases_kind ON entity_aliases (kind, key);
CREATE INDEX relations_fact ON relations (fact) WHERE doc = 0 AND fact <> '';
ALTER TABLE graph_state ADD COLUMN regroup INTEGER NOT NULL DEFAULT 1;
CREATE TRIGGER aliases_made AFTER INSERT ON entity_aliases WHEN new.kind IN ('mail', 'phone', 'role', 'called') BEGIN
	UPDATE graph_state SET regroup = 1;
END;
CREATE TRIGGER aliases_gone AFTER DELETE ON entity_aliases BEGIN
	DELETE FROM entity_aliases WHERE entity = old.entity AND doc = old.doc AND kind = 'first' AND NOT EXISTS (SELECT 1 FROM entity_aliases b
		WHERE b.entity = old.entity AND b.doc = old.doc AND b.kind = 'name' AND b.key > entity_aliases.key || ' ' AND b.key < entity_aliases.key || '!');
	UPDATE graph_state SET regroup = 1 WHERE old.kind IN ('mail', 'phone', 'role', 'called');
	UPDATE entities SET name = (SELECT text FROM entity_aliases WHERE entity = old.entity ORDER BY kind <> 'name', length(text) DESC, text LIMIT 1)
		WHERE id = old.entity AND id <> 'owner' AND EXISTS (SELECT 1 FROM entity_aliases WHERE entity = old.entity)
		AND NOT EXISTS (SELECT 1 FROM entity_aliases WHERE entity = old.entity AND text = entities.name);
	DELETE FROM mentions WHERE entity = old.entity AND entity <> 'owner' AND NOT EXISTS (SELECT 1 FROM entity_aliases WHERE entity = old.entity);
END;
DROP TRIGGER docs_graph_gone;
CREATE TRIGGER docs_graph_gone AFTER DELETE ON docs BEGIN
	DELETE FROM relations WHERE doc = old.n;
	DELETE FROM relations WHERE doc = 0 AND fact <> '' AND fact = old.ref AND old.kind IN ('fact', 'retired');
	DELETE FROM entity_aliases WHERE doc = old.n;
	DELETE FROM mentions WHERE doc = old.n;
END;
DROP TRIGGER entities_gone;
CREATE TRIGGER entities_gone AFTER DELETE ON entities BEGIN
	DELETE FROM entity_aliases WHERE entity = old.id;
	DELETE FROM relations WHERE from_id = old.id OR to_id = old.id;
	DELETE FROM mentions WHERE entity = old.id;
	UPDATE entities SET merged_into = '' WHERE merged_into = old.id;
	UPDATE graph_state SET regroup = 1 WHERE old.merged_into <> '';
END;`

// OwnerID is the entity that is the owner.
const OwnerID = "owner"

// Kinds of aliases.
const (
	byName  = "name"
	byFirst = "first"  // the first of several names
	byRole  = "role"   // "my sister", of whoever is said to be one
	byCall  = "called" // the same, of whoever is said to be she
	byMail  = "mail"
	byPhone = "phone"
)

// nameKey is a name as it is compared.
func nameKey(name string) string { return strings.Join(phrase.Split(name), " ") }

// Wake says that docs have changed: the graph need not wait for its clock.
func (g *Graph) Wake() {
	select {
	case g.wake <- struct{}{}:
	default:
	}
}

func (g *Graph) forgetNames() {
	g.mu.Lock()
	g.names = nil
	g.mu.Unlock()
}

func placeholders(n int) string { return "?" + strings.Repeat(", ?", max(0, n-1)) }

func anys[T any](list []T) []any {
	out := make([]any, len(list))
	for i, x := range list {
		out[i] = x
	}
	return out
}

var (
	_ knowledge.Graph  = (*Graph)(nil)
	_ knowledge.Linker = (*Graph)(nil)
)

func millis(t time.Time) int64 { return store.Millis(t) }
