package graph

import "hob/platform/store"

// Migrations returns the tables of this package. They refer to tables of package knowledge.
func Migrations() store.MigrationSet {
	return store.MigrationSet{Owner: "graph", RowChanges: map[int][]string{4: {"derived"}}, Steps: []string{schema1, schema2, schema3, schema4, schema5}}
}

// schema1: triggers delete the data derived from a row of docs when the row is deleted.
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

// schema2: earlier rows are searched for new names (fresh). A name is deleted with the last row
// that contains it, and an entity with its last name. The links of a fact are deleted with the
// fact. merged_into is derived from the aliases and recomputed after they change (regroup).
const schema2 = `
ALTER TABLE entity_aliases ADD COLUMN fresh INTEGER NOT NULL DEFAULT 0;
CREATE INDEX entity_aliases_fresh ON entity_aliases (text) WHERE fresh = 1;
CREATE INDEX entity_aliases_kind ON entity_aliases (kind, key);
CREATE INDEX relations_fact ON relations (fact) WHERE doc = 0 AND fact <> '';
ALTER TABLE graph_state ADD COLUMN regroup INTEGER NOT NULL DEFAULT 1;
` + aliasesMade + aliasesGone + `
DROP TRIGGER docs_graph_gone;
` + docsGone + `
DROP TRIGGER entities_gone;
` + entitiesGone

// schema3: a manual name (doc is 0) has a source. An entity with a manual name is kept even if no
// row mentions it.
const schema3 = `
DROP TRIGGER docs_graph_gone;
DROP TRIGGER entities_gone;
DROP TRIGGER mentions_gone;
CREATE TABLE aliases (
	entity TEXT NOT NULL, key TEXT NOT NULL, text TEXT NOT NULL, kind TEXT NOT NULL, doc INTEGER NOT NULL, source TEXT NOT NULL DEFAULT '', fresh INTEGER NOT NULL DEFAULT 0,
	PRIMARY KEY (entity, key, doc, source)) WITHOUT ROWID;
INSERT INTO aliases SELECT entity, key, text, kind, doc, CASE doc WHEN 0 THEN coalesce((SELECT source FROM entities WHERE id = entity), '') ELSE '' END, fresh FROM entity_aliases;
DROP TABLE entity_aliases;
ALTER TABLE aliases RENAME TO entity_aliases;
CREATE INDEX entity_aliases_key ON entity_aliases (key);
CREATE INDEX entity_aliases_doc ON entity_aliases (doc);
CREATE INDEX entity_aliases_fresh ON entity_aliases (text) WHERE fresh = 1;
CREATE INDEX entity_aliases_kind ON entity_aliases (kind, key);
CREATE INDEX entity_aliases_source ON entity_aliases (source) WHERE source <> '';
` + aliasesMade + aliasesGone + docsGone + entitiesGone + `
CREATE TRIGGER mentions_gone AFTER DELETE ON mentions BEGIN
	DELETE FROM entities WHERE id = old.entity AND by_hand = 0 AND id <> 'owner' AND NOT EXISTS (SELECT 1 FROM mentions WHERE entity = old.entity)
		AND NOT EXISTS (SELECT 1 FROM relations WHERE from_id = old.entity) AND NOT EXISTS (SELECT 1 FROM relations WHERE to_id = old.entity)
		AND NOT EXISTS (SELECT 1 FROM entity_aliases WHERE entity = old.entity AND doc = 0);
END;`

// schema4: registers the graph as a consumer, so that changes that it has not processed are kept.
const schema4 = `INSERT INTO derived (name, seq) SELECT '` + Name + `', seq FROM graph_state WHERE true ON CONFLICT (name) DO NOTHING;`

// schema5: the user decides that two entities are the same, or are not.
const schema5 = `
CREATE TABLE entity_pairs (a TEXT NOT NULL, b TEXT NOT NULL, same INTEGER NOT NULL, created_at INTEGER NOT NULL, PRIMARY KEY (a, b)) WITHOUT ROWID;
CREATE INDEX entity_pairs_b ON entity_pairs (b);
CREATE TRIGGER entity_pairs_gone AFTER DELETE ON entities BEGIN
	DELETE FROM entity_pairs WHERE a = old.id;
	DELETE FROM entity_pairs WHERE b = old.id;
END;`

// Triggers that run when rows change. They cover all code that changes rows.
const (
	aliasesMade = `
CREATE TRIGGER aliases_made AFTER INSERT ON entity_aliases WHEN new.kind IN ('mail', 'phone', 'role', 'called') BEGIN
	UPDATE graph_state SET regroup = 1;
END;`
	aliasesGone = `
CREATE TRIGGER aliases_gone AFTER DELETE ON entity_aliases BEGIN
	DELETE FROM entity_aliases WHERE entity = old.entity AND doc = old.doc AND kind = 'first' AND NOT EXISTS (SELECT 1 FROM entity_aliases b
		WHERE b.entity = old.entity AND b.doc = old.doc AND b.kind = 'name' AND b.key > entity_aliases.key || ' ' AND b.key < entity_aliases.key || '!');
	UPDATE graph_state SET regroup = 1 WHERE old.kind IN ('mail', 'phone', 'role', 'called');
	UPDATE entities SET name = (SELECT text FROM entity_aliases WHERE entity = old.entity ORDER BY kind <> 'name', length(text) DESC, text LIMIT 1)
		WHERE id = old.entity AND id <> 'owner' AND EXISTS (SELECT 1 FROM entity_aliases WHERE entity = old.entity)
		AND NOT EXISTS (SELECT 1 FROM entity_aliases WHERE entity = old.entity AND text = entities.name);
	DELETE FROM mentions WHERE entity = old.entity AND entity <> 'owner' AND NOT EXISTS (SELECT 1 FROM entity_aliases WHERE entity = old.entity);
END;`
	docsGone = `
CREATE TRIGGER docs_graph_gone AFTER DELETE ON docs BEGIN
	DELETE FROM relations WHERE doc = old.n;
	DELETE FROM relations WHERE doc = 0 AND fact <> '' AND fact = old.ref AND old.kind IN ('fact', 'retired');
	DELETE FROM entity_aliases WHERE doc = old.n;
	DELETE FROM mentions WHERE doc = old.n;
END;`
	entitiesGone = `
CREATE TRIGGER entities_gone AFTER DELETE ON entities BEGIN
	DELETE FROM entity_aliases WHERE entity = old.id;
	DELETE FROM relations WHERE from_id = old.id OR to_id = old.id;
	DELETE FROM mentions WHERE entity = old.id;
	UPDATE entities SET merged_into = '' WHERE merged_into = old.id;
	UPDATE graph_state SET regroup = 1 WHERE old.merged_into <> '';
END;`
)
