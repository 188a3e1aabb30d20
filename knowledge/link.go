package knowledge

import (
	"errors"
	"time"

	"hob/platform/provenance"
	"hob/platform/store"
)

// Errors of linking.
var (
	ErrNoEntity  = errors.New("no entity with this name")
	ErrAmbiguous = errors.New("several entities have this name; give an id")
	ErrSame      = errors.New("both ends of the relation are the same")
	ErrNoEnd     = errors.New("an entity of the relation no longer exists")
)

// OwnerID is the id of the user's entity.
const OwnerID = "owner"

// Link connects two entities, each identified by id or name. "me" is the user.
type Link struct {
	From, Relation, To string
	FromKind, ToKind   string // kind for an entity that must be created; "" means to guess the kind
	Realm              string
	Provenance         provenance.Source
	Source             string
	// Fact is the fact that states the relation; it may be "". The link becomes invalid together
	// with the fact and is deleted with it.
	Fact       string
	ValidFrom  time.Time
	ValidUntil time.Time
	At         time.Time
}

// Linked is the result of linking.
type Linked struct {
	Relation Relation `json:"relation"`
	From     Entity   `json:"from"`
	To       Entity   `json:"to"`
	// Made lists the ids of the entities that were created.
	Made []string `json:"made,omitempty"`
	// Known is true if the relation already existed.
	Known bool `json:"known,omitempty"`
}

// Linker links entities and can revert a link. The graph implements it.
type Linker interface {
	// LinkTx stores a relation and creates missing entities. ErrNoEntity, ErrAmbiguous and ErrSame
	// report invalid input.
	LinkTx(tx *store.Tx, l Link) (Linked, error)
	// UnlinkTx deletes a relation. It also deletes the entities that were created for the relation
	// and are mentioned nowhere else. It returns ErrNoEntity if the relation does not exist.
	UnlinkTx(tx *store.Tx, relation string, made []string) error
}

// EntityQuery selects entities by a part of a name, by kind, or both.
type EntityQuery struct {
	Text, Kind, Realm string
	Limit             int
}

// FoundEntity is an entity with a trusted name if it has one, and the number of its valid
// relations.
type FoundEntity struct {
	Entity

	Relations int `json:"relations"`
}

// RelatedQuery selects the relations around an entity.
type RelatedQuery struct {
	Entity   string // name or id; "me" is the user
	Relation string // "" selects all
	Realm    string
	Hops     int // 1 to 3; default 1
	Limit    int
	Now      time.Time
}

// EntityChange creates an entity, or adds names and a kind to the entity with this name.
type EntityChange struct {
	Name       string // name or id
	Kind       string
	Names      []string // other names, email addresses and phone numbers
	Realm      string
	Provenance provenance.Source
	Source     string
	At         time.Time
}

// EntityChanged describes a change of an entity and how to revert it.
type EntityChanged struct {
	Entity Entity `json:"entity"`
	Made   bool   `json:"made,omitempty"`
	// Keys are digests of the names that were added, and Source is their source.
	Keys    []string `json:"keys,omitempty"`
	Source  string   `json:"source,omitempty"`
	OldKind string   `json:"old_kind,omitempty"` // "" if the kind was not changed
}

// PairChange states whether two people or things are the same.
type PairChange struct {
	First, Second string // names or ids; in a split, Second is a name of First
	Realm         string
	Provenance    provenance.Source
	At            time.Time
}

// PairChanged describes such a change and how to revert it. An undo record keeps only ids.
type PairChanged struct {
	First  Entity `json:"first,omitzero"`
	Second Entity `json:"second,omitzero"`
	A      string `json:"a"`
	B      string `json:"b"`
	Was    string `json:"was,omitempty"` // the earlier decision: "same" or "apart"
	// Made is the entity that a split created from a name of From. OldName is the digest of the
	// name that From lost.
	Made    string `json:"made,omitempty"`
	From    string `json:"from,omitempty"`
	OldName string `json:"old_name,omitempty"`
}

// ErrTrustedEntity reports that untrusted text would change an entity that trusted text names.
var ErrTrustedEntity = errors.New("untrusted text must not change a person or thing that the user named")
