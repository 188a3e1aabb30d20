// Package memory provides tools for facts (remember, recall, forget), notes (create_note,
// list_notes, read_note, append_note, delete_note), the search in all stored knowledge
// (search_knowledge) and the search in past messages (search_conversations).
//
// Facts are stored in package knowledge, notes in a table of this package. Every row has the
// provenance of its source text, and a result that shows an untrusted row is untrusted. Notes in
// the owner's apps are listed together with Hob's notes and are untrusted.
package memory

import (
	"context"
	"errors"
	"strings"

	"hob/knowledge"
	"hob/platform/pim"
	"hob/platform/provenance"
	"hob/platform/store"
	"hob/tools"
)

// Deps are the dependencies of the tools.
type Deps struct {
	Knowledge *knowledge.Base
	// Conversations searches past messages. If it is nil, its tool is omitted.
	Conversations Conversations
	// Forgetting removes forgotten text from all other stores. If it is nil, the caller must do
	// this.
	Forgetting Forgetting
	// Linker is the knowledge graph. If it is nil, its tools are omitted.
	Linker Graph
	// Documents ingests documents. If it is nil, its tool is omitted.
	Documents Documents
	Store     *store.Store
	// Shelves returns the owner's notes apps. It may be nil.
	Shelves func() []pim.Notes
	// NewIn selects the store of new notes: "" or "hob" selects Hob's own store, any other value
	// names one of Shelves.
	NewIn string
	// Track records the changes in trusted folders while the conversation contains untrusted text
	// (see files.TrackChanges), because notes may be files in these folders. It is optional.
	Track func(ctx context.Context, id string, list []provenance.Origin) (settle func(context.Context) (changed int, err error), err error)
}

// Tools returns the category's tools.
func Tools(d Deps) []tools.Tool {
	out := []tools.Tool{
		d.rememberTool(), d.recallTool(), d.searchKnowledge(), d.smartRecall(), d.forgetTool(),
		d.createNote(), d.listNotes(), d.readNote(), d.appendNote(), d.deleteNote(),
	}
	if d.Conversations != nil {
		out = append(out, d.searchConversations())
	}
	if d.Linker != nil {
		out = append(out, d.linkEntities(), d.graphSearch(), d.graphRelated(), d.graphUpsertEntity(), d.mergeEntities(), d.splitEntity())
	}
	if d.Documents != nil {
		out = append(out, d.ingestDocument())
	}
	return out
}

// Migrations returns the tables of this package.
func Migrations() []store.MigrationSet {
	return []store.MigrationSet{{Owner: "notes", Steps: []string{`
CREATE TABLE notes (
	n INTEGER PRIMARY KEY,
	id TEXT NOT NULL UNIQUE,
	title TEXT NOT NULL,
	text TEXT NOT NULL,
	provenance TEXT NOT NULL,
	created_at INTEGER NOT NULL,
	updated_at INTEGER NOT NULL
);
CREATE INDEX notes_updated ON notes (updated_at);`}}}
}

// limitOr validates the maximum number of results. It returns otherwise if limit is 0.
func limitOr(limit, otherwise int) (int, error) {
	switch {
	case limit < 0:
		return 0, tools.Errorf(tools.InvalidArguments, "limit must be positive")
	case limit == 0:
		return otherwise, nil
	}
	return min(limit, 100), nil
}

// callProvenance returns the provenance of a new row.
func callProvenance(c tools.Call) provenance.Source { return provenance.Worst(c.Provenance) }

// sourceOf returns the provenance of a result that shows the given rows.
func sourceOf[T any](rows []T, of func(T) provenance.Source) provenance.Source {
	for _, r := range rows {
		if of(r).Tainted() {
			return provenance.Outside
		}
	}
	return provenance.Tool
}

// classifyError maps errors of package knowledge to tool errors.
func classifyError(err error) error {
	switch {
	case errors.Is(err, knowledge.ErrEmpty), errors.Is(err, knowledge.ErrTooLong), errors.Is(err, knowledge.ErrTooCommon), errors.Is(err, knowledge.ErrQueryTooLong), errors.Is(err, knowledge.ErrSourceUnknown),
		errors.Is(err, knowledge.ErrOneOf), errors.Is(err, knowledge.ErrFactKind):
		return tools.Errorf(tools.InvalidArguments, "%w", tools.CleanErr(err))
	case errors.Is(err, knowledge.ErrNotFound):
		return tools.Errorf(tools.NotFound, "%w", tools.CleanErr(err))
	}
	return err
}

// quoteLine puts s in quotation marks, on one line.
func quoteLine(s string) string {
	return `"` + strings.TrimRight(strings.Join(strings.Fields(s), " "), ".") + `"`
}
