// Package erase is the contract of forgetting and what those who keep text need
// for it: an Erasure says what is to go, an Eraser takes it out of the tables
// and files of one package, and a Scrubber replaces phrases in whatever
// encoding they stand. What goes is planned by package knowledge; the daemon
// lists the erasers. The package decides nothing.
package erase

import (
	"context"
	"slices"

	"hob/knowledge/store"
)

// Mark stands where something was forgotten.
const Mark = "[forgotten]"

// Doc names a row of the searchable documents.
type Doc struct {
	Kind string `json:"kind"`
	Ref  string `json:"ref"`
}

// Erasure is what is to go. It is computed once, so that finishing it after a
// crash erases the same.
type Erasure struct {
	// ID names it; one without is only tried, and what it changes is undone.
	ID string `json:"id"`
	// Facts and Docs are removed as whole rows.
	Facts []string `json:"facts,omitempty"`
	Docs  []Doc    `json:"docs,omitempty"`
	// Sources: everything that came from there goes ("mail:ID", "file:PATH"); with
	// a Realm nothing but what is in the memory of this agent.
	Sources []string `json:"sources,omitempty"`
	Realm   string   `json:"realm,omitempty"`
	// Events are events of the inbox whose texts go, with all that was said and
	// done in their turns; Sessions are whole conversations.
	Events   []string `json:"events,omitempty"`
	Sessions []string `json:"sessions,omitempty"`
	// Calls are tool calls whose arguments and results go.
	Calls []string `json:"calls,omitempty"`
	// Phrases are replaced by Mark wherever they stand.
	Phrases []string `json:"phrases,omitempty"`
}

// Empty reports whether nothing is to go.
func (e *Erasure) Empty() bool {
	return len(e.Facts)+len(e.Docs)+len(e.Sources)+len(e.Events)+len(e.Sessions)+len(e.Calls)+len(e.Phrases) == 0
}

// From reports whether what a memory keeps of a source goes.
func (e *Erasure) From(source, realm string) bool {
	return slices.Contains(e.Sources, source) && (e.Realm == "" || e.Realm == realm)
}

// Whole reports whether everything of a thing goes: its event, its
// conversation or its call is named.
func (e *Erasure) Whole(event, session, call string) bool {
	return event != "" && slices.Contains(e.Events, event) || session != "" && slices.Contains(e.Sessions, session) ||
		call != "" && slices.Contains(e.Calls, call)
}

// Erased counts what an Eraser did.
type Erased struct {
	Rows     int // removed
	Scrubbed int // rows and files in which something was replaced
	Files    int // removed
}

// Add sums up.
func (n Erased) Add(m Erased) Erased {
	return Erased{n.Rows + m.Rows, n.Scrubbed + m.Scrubbed, n.Files + m.Files}
}

// Eraser takes an Erasure out of what one package keeps. Both methods may be
// called again for an Erasure that was carried out before, after a crash or
// because a turn still had the text in its context: then they find what is
// left. An Erasure must not be changed.
type Eraser interface {
	// Tables are those it looks after.
	Tables() []string
	// EraseTx does so within the database.
	EraseTx(tx *store.Tx, e *Erasure, s *Scrubber) (Erased, error)
	// Purge does so outside of the database (files, indexes, what is held in
	// memory), after the commit of EraseTx.
	Purge(ctx context.Context, e *Erasure, s *Scrubber) (Erased, error)
}
