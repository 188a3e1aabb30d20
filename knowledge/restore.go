package knowledge

import (
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"hob/platform/provenance"
	"hob/platform/provenance/origins"
	"hob/platform/store"
	"hob/platform/text/textnorm"
)

// EachFact calls fn for every fact, including retired ones, in order of creation. It holds no
// transaction between pages.
func (b *Base) EachFact(q store.Querier, fn func(Fact) error) error {
	const page = 200
	for after := int64(0); ; {
		list, last, err := factsAfter(q, after, page)
		if err != nil {
			return fmt.Errorf("knowledge: read facts: %w", err)
		}
		for _, f := range list {
			if f.Provenance.Tainted() {
				if f.Origins, err = origins.Of(q, origins.Row, f.ID); err != nil {
					return err
				}
			}
			if err := fn(f); err != nil {
				return err
			}
		}
		if len(list) < page {
			return nil
		}
		after = last
	}
}

func factsAfter(q store.Querier, after int64, page int) (out []Fact, last int64, err error) {
	rows, err := q.Query(`SELECT n, `+factColumns+` FROM facts WHERE n > ? ORDER BY n LIMIT ?`, after, page)
	if err != nil {
		return nil, 0, err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	for rows.Next() {
		f, err := scanFact(numberedRow{rows, &last})
		if err != nil {
			return nil, 0, err
		}
		out = append(out, f)
	}
	return out, last, rows.Err()
}

// numberedRow scans a row whose first column is the row number.
type numberedRow struct {
	rows *sql.Rows
	n    *int64
}

func (s numberedRow) Scan(dest ...any) error { return s.rows.Scan(append([]any{s.n}, dest...)...) }

// RestoreTx imports an exported fact with its id, times and history. If a fact with the same id or
// words exists, that fact stays unchanged. If a newer fact contradicts the imported one, the
// imported fact becomes history.
func (b *Base) RestoreTx(tx *store.Tx, f Fact) (Remembered, error) {
	f.Text = strings.TrimSpace(strings.ToValidUTF8(f.Text, "\uFFFD"))
	switch {
	case f.Text == "":
		return Remembered{}, ErrEmpty
	case len(f.Text) > MaxFact:
		return Remembered{}, ErrTooLong
	}
	if !f.hasKnownKind() { // a kind of another program or version
		f.Kind = ""
	}
	if f.ID == "" {
		return b.RememberTx(tx, f)
	}
	if f.Provenance == provenance.Unknown {
		f.Provenance = provenance.Outside
	}
	if f.CreatedAt.IsZero() {
		f.CreatedAt = time.Now()
	}
	f.CreatedAt = store.Time(store.Millis(f.CreatedAt))
	old, err := factByID(tx, f.ID)
	if err == nil {
		return Remembered{Fact: old, Known: true}, nil
	}
	if !errors.Is(err, ErrNotFound) {
		return Remembered{}, err
	}
	if !f.RetiredAt.IsZero() {
		return b.restoreRetiredTx(tx, f, f.RetiredBy, f.RetiredAt)
	}
	if err := b.parseFactsTx(tx); err != nil {
		return Remembered{}, err
	}
	w, err := b.checkConflictsTx(tx, f, f.CreatedAt)
	if err != nil {
		return Remembered{}, err
	}
	switch newer, err := b.newerFact(tx, w.order, f.CreatedAt); {
	case err != nil:
		return Remembered{}, err
	case w.known != nil:
		return Remembered{Fact: *w.known, Known: true}, nil
	case newer != nil:
		return b.restoreRetiredTx(tx, f, newer.ID, newer.CreatedAt)
	case len(w.order) > 0:
		return b.RememberTx(tx, f)
	}
	f.setKind(w.list, f.CreatedAt)
	return Remembered{Fact: f}, b.insertTx(tx, f, w.list)
}

// newerFact returns the first of the facts that was stated after a time, or nil.
func (b *Base) newerFact(tx *store.Tx, ids []string, at time.Time) (*Fact, error) {
	for _, id := range ids {
		f, err := factByID(tx, id)
		if err != nil {
			return nil, err
		}
		if f.CreatedAt.After(at) {
			return &f, nil
		}
	}
	return nil, nil
}

func (b *Base) restoreRetiredTx(tx *store.Tx, f Fact, by string, at time.Time) (Remembered, error) {
	same, err := queryFacts(tx, `SELECT `+factColumns+` FROM facts WHERE retired_at <> 0 AND realm = ? AND same = ? AND created_at = ?`,
		f.Realm, strings.Join(textnorm.FoldedWords(f.Text), " "), store.Millis(f.CreatedAt))
	if err != nil {
		return Remembered{}, fmt.Errorf("knowledge: import facts: %w", err)
	}
	if i := slices.IndexFunc(same, func(o Fact) bool { return o.Text == f.Text }); i >= 0 {
		return Remembered{Fact: same[i], Known: true}, nil
	}
	if err := b.insertTx(tx, f, nil); err != nil {
		return Remembered{}, err
	}
	f.RetiredAt, f.RetiredBy = time.Time{}, ""
	return Remembered{Fact: f}, b.retireTx(tx, &f, by, at)
}
