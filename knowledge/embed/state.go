package embed

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strconv"
)

// syncState is the content of the state table.
type syncState struct {
	model string // model and document prefix; "" in an empty file
	dims  int    // length of the vectors; 0 until the first vector is stored
	seq   int64  // all changes up to this one are processed
	mark  int64  // marker of that change; see knowledge.Base.ChangeMarker
	// walking is true during a scan of all docs. walked is the position of the scan. seq is used
	// after the scan.
	walking bool
	walked  int64
	anew    bool // the scan embeds unchanged texts again
}

type queryer interface {
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
	QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row
}

func readState(ctx context.Context, q queryer) (s syncState, err error) {
	rows, err := q.QueryContext(ctx, `SELECT name, value FROM state`)
	if err != nil {
		return s, fmt.Errorf("embed: read the state: %w", err)
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	for rows.Next() {
		var name, value string
		if err := rows.Scan(&name, &value); err != nil {
			return s, fmt.Errorf("embed: read the state: %w", err)
		}
		n, _ := strconv.ParseInt(value, 10, 64) // model is the only text value, and its n is not used
		switch name {
		case "model":
			s.model = value
		case "dims":
			s.dims = int(n)
		case "seq":
			s.seq = n
		case "mark":
			s.mark = n
		case "walking":
			s.walking = n == 1
		case "walked":
			s.walked = n
		case "anew":
			s.anew = n == 1
		}
	}
	return s, rows.Err()
}

func (s syncState) saveState(ctx context.Context, tx *sql.Tx) error {
	one := map[bool]int{true: 1}
	for name, value := range map[string]any{
		"model": s.model, "dims": s.dims, "seq": s.seq, "mark": s.mark, "walking": one[s.walking], "walked": s.walked, "anew": one[s.anew],
	} {
		if _, err := tx.ExecContext(ctx, `INSERT INTO state (name, value) VALUES (?, ?) ON CONFLICT (name) DO UPDATE SET value = excluded.value`, name, value); err != nil {
			return err
		}
	}
	return nil
}

// storedVector is the stored state of a row.
type storedVector struct {
	hash    []byte
	at      partition
	refused bool
}

// readStoredRows reads the stored state of the rows in a list of numbers.
func readStoredRows(ctx context.Context, q queryer, list string) (out map[int64]storedVector, err error) {
	rows, err := q.QueryContext(ctx, `SELECT v.n, v.hash, v.v IS NULL, p.realm, p.kind FROM vectors v JOIN places p ON p.id = v.place WHERE v.n IN (`+list+`)`)
	if err != nil {
		return nil, fmt.Errorf("embed: read stored rows: %w", err)
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	out = map[int64]storedVector{}
	for rows.Next() {
		var n int64
		var h storedVector
		if err := rows.Scan(&n, &h.hash, &h.refused, &h.at.realm, &h.at.kind); err != nil {
			return nil, fmt.Errorf("embed: read stored rows: %w", err)
		}
		out[n] = h
	}
	return out, rows.Err()
}

// joinInts formats numbers as a list for IN.
func joinInts(ns []int64) string {
	b := make([]byte, 0, 8*len(ns))
	for i, n := range ns {
		if i > 0 {
			b = append(b, ',')
		}
		b = strconv.AppendInt(b, n, 10)
	}
	return string(b)
}
