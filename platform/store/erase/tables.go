package erase

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"hob/platform/store"
)

// Table describes how data is erased from one table.
type Table struct {
	Name string
	// Text lists the columns in which phrases are replaced. The value of a JSON column stays valid
	// JSON.
	Text []string
	// Names lists columns that must not be changed, because they identify an item (a watched path,
	// a counted word). A row that contains a phrase in one of them is deleted.
	Names []string
	// Key lists the columns of the primary key. A table without one has row ids.
	Key []string
	// Event, Session and Call are the columns that contain the row's event, conversation and call.
	// If one of these is deleted, the columns in Whole get the values given there. If Whole is
	// empty, the row is deleted.
	Event, Session, Call string
	Whole                map[string]any
	// Kind is the document kind of the rows, and Ref is the column that contains their document id.
	// A row is deleted with its document.
	Kind, Ref string
}

// Owned is the Eraser of a package, defined by its tables.
type Owned struct {
	List []Table
	// Besides lists tables of the package that cannot contain text written by a person.
	Besides []string
	// Custom lists tables that only Before and After erase.
	Custom []string
	// Before and After, if set, erase what a Table cannot describe. They run before and after List.
	Before, After Step
	// Quotes, if set, implements Quoter.
	Quotes func(q store.Querier, e *Erasure) ([]string, error)
	// Files and Forgot delete data in files and in memory. Either may be nil.
	Files  func(ctx context.Context, e *Erasure, s *Scrubber) (Erased, error)
	Forgot func()
}

// Step erases data from the database.
type Step func(tx *store.Tx, e *Erasure, s *Scrubber) (Erased, error)

// Tables implements Eraser.
func (o Owned) Tables() []string {
	out := slices.Concat(o.Besides, o.Custom)
	for _, t := range o.List {
		out = append(out, t.Name)
	}
	return out
}

// EraseTx implements Eraser.
func (o Owned) EraseTx(tx *store.Tx, e *Erasure, s *Scrubber) (n Erased, err error) {
	steps := []Step{o.Before}
	for _, t := range o.List {
		steps = append(steps, t.EraseTx)
	}
	for _, step := range append(steps, o.After) {
		if step == nil {
			continue
		}
		m, err := step(tx, e, s)
		if err != nil {
			return n, err
		}
		n = n.Add(m)
	}
	return n, nil
}

// QuotedTexts implements Quoter.
func (o Owned) QuotedTexts(q store.Querier, e *Erasure) ([]string, error) {
	if o.Quotes == nil {
		return nil, nil
	}
	return o.Quotes(q, e)
}

// Purge implements Eraser.
func (o Owned) Purge(ctx context.Context, e *Erasure, s *Scrubber) (n Erased, err error) {
	if o.Forgot != nil {
		o.Forgot()
	}
	if o.Files != nil {
		return o.Files(ctx, e, s)
	}
	return n, nil
}

// EraseTx deletes the data of an Erasure from the table.
func (t Table) EraseTx(tx *store.Tx, e *Erasure, s *Scrubber) (n Erased, err error) {
	if n, err = t.wholeTx(tx, e); err != nil {
		return n, fmt.Errorf("erase %s: %w", t.Name, err)
	}
	m, err := t.scrubTx(tx, s)
	if err != nil {
		return n, fmt.Errorf("erase %s: %w", t.Name, err)
	}
	return n.Add(m), nil
}

// wholeTx clears or deletes the rows whose event, session or call is deleted.
func (t Table) wholeTx(tx *store.Tx, e *Erasure) (n Erased, err error) {
	for _, d := range e.Docs {
		if t.Kind == "" || d.Kind != t.Kind {
			continue
		}
		m, err := t.removeTx(tx, t.Ref, d.Ref)
		if err != nil {
			return n, err
		}
		n = n.Add(m)
	}
	for _, w := range []struct {
		column string
		ids    []string
	}{{t.Event, e.Events}, {t.Session, e.Sessions}, {t.Call, e.Calls}} {
		if w.column == "" {
			continue
		}
		for _, id := range w.ids {
			m, err := t.clearTx(tx, w.column, id)
			if err != nil {
				return n, err
			}
			n = n.Add(m)
		}
	}
	return n, nil
}

func (t Table) clearTx(tx *store.Tx, column, id string) (n Erased, err error) {
	if t.Whole == nil {
		return t.removeTx(tx, column, id)
	}
	var set, differs []string
	var args, again []any
	for c, v := range t.Whole {
		set, differs = append(set, c+" = ?"), append(differs, c+" IS NOT ?")
		args, again = append(args, v), append(again, v)
	}
	args = append(append(args, id), again...)
	r, err := tx.Exec(`UPDATE `+t.Name+` SET `+strings.Join(set, ", ")+` WHERE `+column+` = ? AND (`+strings.Join(differs, " OR ")+`)`, args...)
	if err != nil {
		return n, err
	}
	k, err := r.RowsAffected()
	return Erased{Scrubbed: int(k)}, err
}

func (t Table) removeTx(tx *store.Tx, column, id string) (n Erased, err error) {
	r, err := tx.Exec(`DELETE FROM `+t.Name+` WHERE `+column+` = ?`, id)
	if err != nil {
		return n, err
	}
	k, err := r.RowsAffected()
	return Erased{Rows: int(k)}, err
}

// changedRow is a row in which a text must be replaced.
type changedRow struct {
	key  []any
	cols []string
	vals []any
	drop bool
}

// scrubTx replaces the phrases. It reads all rows before it writes, because a table must not be
// changed while a query on it is running.
func (t Table) scrubTx(tx *store.Tx, s *Scrubber) (n Erased, err error) {
	if len(s.wanted) == 0 || len(t.Text)+len(t.Names) == 0 {
		return n, nil
	}
	rows, err := t.matchingRows(tx, s)
	if err != nil {
		return n, err
	}
	where := strings.Join(t.keyColumns(), " = ? AND ") + " = ?"
	for _, r := range rows {
		if r.drop {
			if _, err := tx.Exec(`DELETE FROM `+t.Name+` WHERE `+where, r.key...); err != nil {
				return n, err
			}
			n.Rows++
			continue
		}
		if _, err := tx.Exec(`UPDATE `+t.Name+` SET `+strings.Join(r.cols, " = ?, ")+` = ? WHERE `+where, append(r.vals, r.key...)...); err != nil {
			return n, err
		}
		n.Scrubbed++
	}
	return n, nil
}

func (t Table) keyColumns() []string {
	if len(t.Key) == 0 {
		return []string{"rowid"}
	}
	return t.Key
}

func (t Table) matchingRows(tx *store.Tx, s *Scrubber) (out []changedRow, err error) {
	key := t.keyColumns()
	cols := append(append(append([]string(nil), key...), t.Names...), t.Text...)
	rows, err := tx.Query(`SELECT ` + strings.Join(cols, ", ") + ` FROM ` + t.Name)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	vals, to := make([]any, len(cols)), make([]any, len(cols))
	for i := range vals {
		to[i] = &vals[i]
	}
	for rows.Next() {
		if err := rows.Scan(to...); err != nil {
			return nil, err
		}
		var c changedRow
		for i, v := range vals[len(key):] {
			with, hit := s.scrubValue(v)
			switch {
			case !hit:
			case i < len(t.Names):
				c.drop = true
			default:
				c.cols, c.vals = append(c.cols, cols[len(key)+i]), append(c.vals, with)
			}
		}
		if c.drop || len(c.cols) > 0 {
			c.key = append(c.key, vals[:len(key)]...)
			out = append(out, c)
		}
	}
	return out, rows.Err()
}

// scrubValue replaces phrases in a column value.
func (s *Scrubber) scrubValue(v any) (any, bool) {
	switch v := v.(type) {
	case string:
		return s.Text(v)
	case []byte:
		b, hit := s.Bytes(v)
		return b, hit
	}
	return v, false
}
