package knowledge

import (
	"errors"
	"time"

	"hob/knowledge/store"
	"hob/platform/provenance"
)

// Errors of linking.
var (
	ErrNobody    = errors.New("no entity with this name")
	ErrAmbiguous = errors.New("several entities have this name; give an id")
	ErrSame      = errors.New("both ends are the same")
)

// Link joins two entities, each named by its id or by a name; "me" is the
// owner.
type Link struct {
	From, Relation, To string
	FromKind, ToKind   string // of an entity that is made; "" is a guess
	Realm              string
	Provenance         provenance.Source
	Source             string
	// Fact is the one that says so, if there is one: the link ends with it, and
	// goes with it.
	Fact       string
	ValidFrom  time.Time
	ValidUntil time.Time
	At         time.Time
}

// Linked is what linking did.
type Linked struct {
	Relation Relation `json:"relation"`
	From     Entity   `json:"from"`
	To       Entity   `json:"to"`
	// Made are the ids of entities that were not there before.
	Made []string `json:"made,omitempty"`
	// Known: they were linked so already.
	Known bool `json:"known,omitempty"`
}

// Linker links entities, and takes a link back. The graph is one.
type Linker interface {
	// LinkTx keeps a relation; ends that are not there yet are made. ErrNobody,
	// ErrAmbiguous and ErrSame say what an owner can mend.
	LinkTx(tx *store.Tx, l Link) (Linked, error)
	// UnlinkTx takes one back, with the ends that were made for it and that
	// nothing else names. ErrNobody when it is gone.
	UnlinkTx(tx *store.Tx, relation string, made []string) error
}
