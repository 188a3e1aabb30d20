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
