// Package erase defines how data is permanently deleted. An Erasure describes the data to delete,
// an Eraser deletes it from the tables and files of one package, and a Scrubber replaces phrases in
// any encoding. Package knowledge plans an Erasure, and the daemon lists the erasers. Package erase
// does not decide what is deleted.
package erase

import (
	"context"
	"slices"

	"hob/platform/store"
)

// Mark replaces deleted text.
const Mark = "[forgotten]"

// Doc identifies a row of the searchable documents.
type Doc struct {
	Kind string `json:"kind"`
	Ref  string `json:"ref"`
}

// Erasure describes the data to delete. It is computed only once, so that a retry after a crash
// deletes the same data.
type Erasure struct {
	// ID identifies the erasure. Without an ID, the erasure is a dry run whose changes are rolled
	// back.
	ID string `json:"id"`
	// Facts and Docs are removed as whole rows.
	Facts []string `json:"facts,omitempty"`
	Docs  []Doc    `json:"docs,omitempty"`
	// Sources are sources from which all data is deleted ("mail:ID", "file:PATH"). If Realm is set,
	// the data is deleted only from the memory of that agent.
	Sources []string `json:"sources,omitempty"`
	Realm   string   `json:"realm,omitempty"`
	// Events are inbox events whose text is deleted, together with all messages and actions of
	// their turns. Sessions are conversations that are deleted completely.
	Events   []string `json:"events,omitempty"`
	Sessions []string `json:"sessions,omitempty"`
	// Calls are tool calls whose arguments and results are deleted.
	Calls []string `json:"calls,omitempty"`
	// Phrases are replaced by Mark everywhere.
	Phrases []string `json:"phrases,omitempty"`
}

// Empty reports whether there is nothing to delete.
func (e *Erasure) Empty() bool {
	return len(e.Facts)+len(e.Docs)+len(e.Sources)+len(e.Events)+len(e.Sessions)+len(e.Calls)+len(e.Phrases) == 0
}

// From reports whether the stored data that comes from a source must be deleted.
func (e *Erasure) From(source, realm string) bool {
	return slices.Contains(e.Sources, source) && (e.Realm == "" || e.Realm == realm)
}

// Whole reports whether an item must be deleted completely, because its event, conversation or call
// is listed in the Erasure.
func (e *Erasure) Whole(event, session, call string) bool {
	return event != "" && slices.Contains(e.Events, event) || session != "" && slices.Contains(e.Sessions, session) ||
		call != "" && slices.Contains(e.Calls, call)
}

// Erased counts the changes of an Eraser.
type Erased struct {
	Rows     int // number of removed rows
	Scrubbed int // number of rows and files in which text was replaced
	Files    int // number of removed files
}

// Add returns the sum of two counts.
func (n Erased) Add(m Erased) Erased {
	return Erased{n.Rows + m.Rows, n.Scrubbed + m.Scrubbed, n.Files + m.Files}
}

// Eraser deletes the data of an Erasure from one package. Both methods may be called again for an
// Erasure that was already executed: after a crash, or because a turn still had the text in its
// context. They then delete the data that remains or was written again. They must not modify the
// Erasure.
type Eraser interface {
	// Tables returns the names of the tables that belong to the Eraser.
	Tables() []string
	// EraseTx deletes the data of the Erasure from the database.
	EraseTx(tx *store.Tx, e *Erasure, s *Scrubber) (Erased, error)
	// Purge deletes data outside the database (files, indexes, memory) after EraseTx has been
	// committed.
	Purge(ctx context.Context, e *Erasure, s *Scrubber) (Erased, error)
}

// Quoter is an Eraser whose rows are quoted elsewhere: for example, the context of a later message
// contains the lessons that applied to it. When such a row is deleted, its quotes must be redacted.
type Quoter interface {
	// QuotedTexts returns the texts of the rows that EraseTx will delete, except facts and documents,
	// and the texts that such rows had before they were changed.
	QuotedTexts(q store.Querier, e *Erasure) ([]string, error)
}

// QuotedTexts returns the quoted texts of all erasers.
func QuotedTexts(list []Eraser, q store.Querier, e *Erasure) (out []string, err error) {
	for _, x := range list {
		if quoter, ok := x.(Quoter); ok {
			more, err := quoter.QuotedTexts(q, e)
			if err != nil {
				return nil, err
			}
			out = append(out, more...)
		}
	}
	return out, nil
}
