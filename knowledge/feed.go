package knowledge

import (
	"database/sql"
	"errors"
	"fmt"

	"hob/platform/store"
)

// Change reports that a row of docs was written, changed or removed. Consumers such as indexes
// follow changes by Seq. They store Seq in the same transaction as their own data, so that they can
// continue from it after a crash.
type Change struct {
	Seq  int64
	N    int64 // number of the row of docs
	Gone bool  // the row was removed; Doc is empty
	Doc  Doc
}

// Changes returns at most limit changes after a Seq, in order. It returns one change per row, with
// the current content of the row.
func (b *Base) Changes(q store.Querier, after int64, limit int) ([]Change, error) {
	out, err := queryChanges(q, `SELECT max(c.seq), c.doc, d.n IS NULL, `+docOrEmpty+`
		FROM (SELECT seq, doc FROM doc_changes WHERE seq > ? ORDER BY seq LIMIT ?) c LEFT JOIN docs d ON d.n = c.doc GROUP BY c.doc, d.n ORDER BY 1`, after, limit)
	if err != nil {
		return nil, fmt.Errorf("knowledge: read changes: %w", err)
	}
	return out, nil
}

// RowsAfter returns at most limit rows of docs after row number n, in order. It is used to rebuild
// derived data. Seq is 0.
func (b *Base) RowsAfter(q store.Querier, after int64, limit int) ([]Change, error) {
	out, err := queryChanges(q, `SELECT 0, d.n, 0, `+docOrEmpty+` FROM docs d WHERE d.n > ? ORDER BY d.n LIMIT ?`, after, limit)
	if err != nil {
		return nil, fmt.Errorf("knowledge: read documents: %w", err)
	}
	return out, nil
}

// LastChange returns the Seq of the newest change, or 0.
func (b *Base) LastChange(q store.Querier) (seq int64, err error) {
	err = q.QueryRow(`SELECT coalesce((SELECT seq FROM sqlite_sequence WHERE name = 'doc_changes'), 0)`).Scan(&seq)
	if err != nil {
		return 0, fmt.Errorf("knowledge: read last change: %w", err)
	}
	return seq, nil
}

// AckChangesTx records that the named consumer has durably stored all changes up to seq. Changes
// that all consumers have stored are dropped.
func (b *Base) AckChangesTx(tx *store.Tx, name string, seq int64) error {
	mark, _, err := b.ChangeMarker(tx, seq)
	if err == nil {
		_, err = tx.Exec(`INSERT INTO derived (name, seq, mark) VALUES (?, ?, ?) ON CONFLICT (name) DO UPDATE SET seq = excluded.seq, mark = excluded.mark WHERE excluded.seq > derived.seq`, name, seq, mark)
	}
	if err == nil {
		_, err = tx.Exec(`DELETE FROM doc_changes WHERE seq <= (SELECT min(seq) FROM derived)`)
	}
	if err != nil {
		return fmt.Errorf("knowledge: save position of %s: %w", name, err)
	}
	return nil
}

// ChangeMarker returns an identifier of the change with the given Seq. known is false if the change
// does not exist or later changes were dropped. Consumers store the identifier with their Seq. If
// it differs later, the database was replaced or restored from a backup, and the consumer must
// rebuild its data.
func (b *Base) ChangeMarker(q store.Querier, seq int64) (mark int64, known bool, err error) {
	err = q.QueryRow(`SELECT mark FROM doc_changes WHERE seq = ?1 UNION ALL SELECT mark FROM derived WHERE seq = ?1 LIMIT 1`, seq).Scan(&mark)
	if errors.Is(err, sql.ErrNoRows) {
		return 0, false, nil
	}
	if err != nil {
		return 0, false, fmt.Errorf("knowledge: read change mark: %w", err)
	}
	dropped, err := b.HasDroppedChanges(q, seq)
	return mark, !dropped, err
}

// HasDroppedChanges reports whether changes after a Seq were dropped. This happens if no consumer
// that still needed them was registered (AckChangesTx).
func (b *Base) HasDroppedChanges(q store.Querier, after int64) (dropped bool, err error) {
	err = q.QueryRow(`SELECT coalesce((SELECT min(seq) FROM doc_changes), (SELECT seq + 1 FROM sqlite_sequence WHERE name = 'doc_changes'), 0) > ? + 1`, after).Scan(&dropped)
	if err != nil {
		return false, fmt.Errorf("knowledge: check dropped changes: %w", err)
	}
	return dropped, nil
}

// AckedChange returns the Seq that a consumer reported with AckChangesTx, or 0.
func (b *Base) AckedChange(q store.Querier, name string) (seq int64, err error) {
	err = q.QueryRow(`SELECT coalesce((SELECT seq FROM derived WHERE name = ?), 0)`, name).Scan(&seq)
	if err != nil {
		return 0, fmt.Errorf("knowledge: read position of %s: %w", name, err)
	}
	return seq, nil
}

// RemoveConsumerTx unregisters a consumer that AckChangesTx registered.
func (b *Base) RemoveConsumerTx(tx *store.Tx, name string) error {
	if _, err := tx.Exec(`DELETE FROM derived WHERE name = ?`, name); err != nil {
		return fmt.Errorf("knowledge: unregister %s: %w", name, err)
	}
	return nil
}

// docOrEmpty selects the columns of a Doc, with empty values if the row does not exist.
const docOrEmpty = `coalesce(d.kind, ''), coalesce(d.ref, ''), coalesce(d.title, ''), coalesce(d.text, ''), coalesce(d.at, 0), coalesce(d.provenance, ''),
	coalesce(d.realm, ''), coalesce(d.grp, ''), coalesce(d.pos, 0), coalesce(d.speaker, ''), coalesce(d.source, '')`

func queryChanges(q store.Querier, stmt string, args ...any) (out []Change, err error) {
	rows, err := q.Query(stmt, args...)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	for rows.Next() {
		var c Change
		var at int64
		d := &c.Doc
		if err := rows.Scan(&c.Seq, &c.N, &c.Gone, &d.Kind, &d.Ref, &d.Title, &d.Text, &at, &d.Provenance, &d.Realm, &d.Group, &d.Pos, &d.Speaker, &d.Source); err != nil {
			return nil, err
		}
		if !c.Gone {
			d.At = store.Time(at)
		}
		out = append(out, c)
	}
	return out, rows.Err()
}
