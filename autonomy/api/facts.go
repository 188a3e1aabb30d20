package api

import (
	"time"

	"hob/platform/provenance"
)

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
	// Source is where it came from, as in Row.
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
	Over     bool   `json:"over,omitempty"` // it is no longer true
}

// MemoryGraph is a part of the graph of people and other entities.
type MemoryGraph struct {
	// Root is the requested entity, "" for all.
	Root      string      `json:"root,omitempty"`
	Entities  []Entity    `json:"entities"`
	Relations []GraphEdge `json:"relations"`
}
