package knowledge

import (
	"errors"
	"fmt"

	"hob/platform/store"
)

// SupersededFacts returns the facts that a fact replaced, newest first.
func (b *Base) SupersededFacts(q store.Querier, id string) (out []Fact, err error) {
	for queue := []string{id}; len(queue) > 0 && len(out) < 1000; queue = queue[1:] {
		old, err := queryFacts(q, `SELECT `+factColumns+` FROM facts WHERE retired_by = ? ORDER BY n DESC`, queue[0])
		if err != nil {
			return nil, fmt.Errorf("knowledge: read history: %w", err)
		}
		for _, f := range old {
			queue = append(queue, f.ID)
		}
		out = append(out, old...)
	}
	return out, nil
}

// DocsByRef returns the rows of all kinds with a Ref. There may be none.
func (b *Base) DocsByRef(q store.Querier, ref string) ([]Doc, error) {
	return queryDocs(q, `SELECT 0, d.n, 0, `+docOrEmpty+` FROM docs d WHERE d.kind IN (SELECT DISTINCT kind FROM docs) AND d.ref = ? ORDER BY d.n LIMIT 10`, ref)
}

// AdjacentDocs returns the rows of d's group whose position differs from d's by at most places.
func (b *Base) AdjacentDocs(q store.Querier, d Doc, places int) ([]Doc, error) {
	return queryDocs(q, `SELECT 0, d.n, 0, `+docOrEmpty+` FROM docs d WHERE d.grp = ? AND d.pos BETWEEN ? AND ? AND d.kind = ? AND d.ref <> ? ORDER BY d.pos`,
		d.Group, d.Pos-places, d.Pos+places, d.Kind, d.Ref)
}

// Count is the number of rows of a kind in a realm.
type Count struct {
	Kind  string `json:"kind"`
	Realm string `json:"realm"`
	Rows  int    `json:"rows"`
}

// CountRows returns the number of rows by kind and realm.
func (b *Base) CountRows(q store.Querier) (out []Count, err error) {
	rows, err := q.Query(`SELECT kind, realm, count(*) FROM docs GROUP BY kind, realm ORDER BY count(*) DESC, kind, realm`)
	if err != nil {
		return nil, fmt.Errorf("knowledge: count entries: %w", err)
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	for rows.Next() {
		var c Count
		if err := rows.Scan(&c.Kind, &c.Realm, &c.Rows); err != nil {
			return nil, fmt.Errorf("knowledge: count entries: %w", err)
		}
		out = append(out, c)
	}
	return out, rows.Err()
}

// CountGroups counts the conversations or documents that have rows of a kind.
func (b *Base) CountGroups(q store.Querier, kind string) (n int, err error) {
	if err := q.QueryRow(`SELECT count(DISTINCT grp) FROM docs WHERE kind = ? AND grp <> ''`, kind).Scan(&n); err != nil {
		return 0, fmt.Errorf("knowledge: count entries: %w", err)
	}
	return n, nil
}

// Size returns the number of valid facts, the number of rows, and the number of changes that a
// consumer has not stored yet.
func (b *Base) Size(q store.Querier, derived string) (facts, rows, behind int, err error) {
	err = q.QueryRow(`SELECT (SELECT count(*) FROM facts WHERE retired_at = 0), (SELECT count(*) FROM docs),
		(SELECT count(*) FROM doc_changes WHERE seq > coalesce((SELECT seq FROM derived WHERE name = ?), 0))`, derived).Scan(&facts, &rows, &behind)
	if err != nil {
		return 0, 0, 0, fmt.Errorf("knowledge: count rows: %w", err)
	}
	return facts, rows, behind, nil
}

func queryDocs(q store.Querier, stmt string, args ...any) ([]Doc, error) {
	list, err := queryChanges(q, stmt, args...)
	if err != nil {
		return nil, fmt.Errorf("knowledge: read rows: %w", err)
	}
	out := make([]Doc, 0, len(list))
	for _, c := range list {
		out = append(out, c.Doc)
	}
	return out, nil
}
