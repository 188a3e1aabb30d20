// Package origins stores the origins of items that Hob created, such as a fact, a task, a call or
// an approval request. Kind and id identify an item. A row exists only for an item that was created
// while the context contained untrusted text. Only an item's own provenance determines whether it
// is trusted; this table does not, so a missing row never makes anything trusted.
package origins

import (
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"hob/platform/provenance"
	"hob/platform/store"
)

// Kinds of items that have origins.
const (
	Row      = "row"    // a fact, note, task, reminder, watcher or other item, by its id
	Call     = "call"   // the context of a call when it was made
	Result   = "result" // the result of a call
	Approval = "approval"
	Task     = "task" // the result of a task that was delegated to an agent
)

// Migrations returns the package's table.
func Migrations() store.MigrationSet {
	return store.MigrationSet{Owner: "origins", Steps: []string{`
CREATE TABLE origins (kind TEXT NOT NULL, ref TEXT NOT NULL, list TEXT NOT NULL, PRIMARY KEY (kind, ref)) WITHOUT ROWID;
`}}
}

// KeepTx replaces the stored origins of an item. An empty list deletes them.
func KeepTx(tx *store.Tx, kind, ref string, list []provenance.Origin) error {
	if len(list) == 0 {
		return DropTx(tx, kind, ref)
	}
	b, err := json.Marshal(provenance.Join(list))
	if err != nil {
		return fmt.Errorf("origins: encode the list: %w", err)
	}
	_, err = tx.Exec(`INSERT INTO origins (kind, ref, list) VALUES (?,?,?) ON CONFLICT (kind, ref) DO UPDATE SET list = excluded.list`, kind, ref, string(b))
	if err != nil {
		return fmt.Errorf("origins: store the list: %w", err)
	}
	return nil
}

// AddTx adds origins to an item.
func AddTx(tx *store.Tx, kind, ref string, list []provenance.Origin) error {
	if len(list) == 0 {
		return nil
	}
	old, err := Of(tx, kind, ref)
	if err != nil {
		return err
	}
	return KeepTx(tx, kind, ref, provenance.Join(old, list))
}

// DropTx deletes the origins of an item.
func DropTx(tx *store.Tx, kind, ref string) error {
	if _, err := tx.Exec(`DELETE FROM origins WHERE kind = ? AND ref = ?`, kind, ref); err != nil {
		return fmt.Errorf("origins: delete the list: %w", err)
	}
	return nil
}

// Of returns the joined origins of items of one kind.
func Of(q store.Querier, kind string, refs ...string) ([]provenance.Origin, error) {
	var all [][]provenance.Origin
	for _, ref := range refs {
		if len(all) > provenance.MaxOrigins { // the joined list cannot contain more origins than this
			break
		}
		list, err := loadOrigins(q, kind, ref)
		if err != nil {
			return nil, err
		}
		if len(list) > 0 {
			all = append(all, list)
		}
	}
	return provenance.Join(all...), nil
}

func loadOrigins(q store.Querier, kind, ref string) (list []provenance.Origin, err error) {
	var raw string
	err = q.QueryRow(`SELECT list FROM origins WHERE kind = ? AND ref = ?`, kind, ref).Scan(&raw)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, nil
	}
	if err == nil {
		err = json.NewDecoder(strings.NewReader(raw)).Decode(&list)
	}
	if err != nil {
		return nil, fmt.Errorf("origins: %s %s: %w", kind, ref, err)
	}
	return list, nil
}
