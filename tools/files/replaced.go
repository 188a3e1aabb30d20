package files

import (
	"errors"
	"fmt"

	"hob/platform/provenance"
	"hob/platform/store"
)

// CarryMarks returns a function that keeps files untrusted over a restore, although the restored
// backup does not contain their marks, because Hob wrote or moved them after the backup. replaced is
// the database that the backup replaces, and tx belongs to the restored one. If replaced is nil,
// because that database is damaged or missing, everything in the trusted folders becomes untrusted
// until the owner vouches for it; the warning says so. An empty home means the user's home folder.
func CarryMarks(home string, trusted []string) func(tx *store.Tx, replaced store.Querier) (warning string, err error) {
	return func(tx *store.Tx, replaced store.Querier) (warning string, err error) {
		if replaced != nil {
			return "", copyAllMarks(tx, replaced)
		}
		if len(trusted) > 0 {
			warning = "it is unknown in which files Hob stored untrusted text after the backup, so everything in the trusted folders counts as untrusted; trust a folder again with: hob file trust PATH"
		}
		return warning, distrustTx(tx, home, trusted)
	}
}

func copyAllMarks(tx *store.Tx, replaced store.Querier) error {
	for _, t := range []struct{ name, columns, insert string }{
		{"outside_paths", "path, list, name", `INSERT INTO outside_paths (path, list, name) VALUES (?,?,?) ON CONFLICT (path) DO UPDATE SET list = excluded.list, name = min(outside_paths.name, excluded.name)`},
		{"outside_contents", "digest, list, 0", `INSERT INTO outside_contents (digest, list) SELECT ?1, ?2 WHERE ?3 = 0 ON CONFLICT (digest) DO NOTHING`},
		{"outside_trees", "path, list, id", `INSERT INTO outside_trees (path, list, id) VALUES (?,?,?) ON CONFLICT (path, id) DO NOTHING`},
	} {
		if err := copyMarks(tx, replaced, t.name, t.columns, t.insert); err != nil {
			return fmt.Errorf("files: copy the marks of untrusted files: %w", err)
		}
	}
	return nil
}

// copyMarks copies the rows of a table. A database of an older version may not have the table.
func copyMarks(tx *store.Tx, from store.Querier, table, columns, insert string) (err error) {
	var known bool
	if err := from.QueryRow(`SELECT EXISTS (SELECT 1 FROM sqlite_master WHERE name = ?)`, table).Scan(&known); err != nil || !known {
		return err
	}
	rows, err := from.Query(`SELECT ` + columns + ` FROM ` + table)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	for rows.Next() {
		var key, list string
		var third any // name or id
		if err := rows.Scan(&key, &list, &third); err != nil {
			return err
		}
		if _, err := tx.Exec(insert, key, list, third); err != nil {
			return err
		}
	}
	return rows.Err()
}

// distrustTx marks the trusted folders as untrusted.
func distrustTx(tx *store.Tx, home string, trusted []string) error {
	f, err := New(Options{Home: home, Trusted: trusted})
	if err != nil {
		return err
	}
	for _, root := range f.trustedRoots() {
		list := []provenance.Origin{{Kind: "file", Label: f.displayPath(root), Via: "restore"}}
		if err := noteTreeTx(tx, root, "", encodeOrigins(list)); err != nil {
			return fmt.Errorf("files: mark the trusted folders: %w", err)
		}
	}
	return nil
}
