package graph

import (
	"encoding/json"
	"fmt"

	"hob/platform/store"
)

// TrustedNames returns the names of entities by id. It omits names that only untrusted text uses,
// because an unknown sender could use them to impersonate a person.
func (g *Graph) TrustedNames(q store.Querier, ids ...string) (map[string][]string, error) {
	list, err := json.Marshal(ids)
	if err != nil {
		return nil, err
	}
	rows, err := q.Query(`SELECT DISTINCT CASE WHEN e.merged_into <> '' THEN e.merged_into ELSE e.id END AS root, a.text FROM entity_aliases a
		JOIN entities e ON e.id = a.entity LEFT JOIN docs d ON d.n = a.doc
		WHERE a.entity IN (SELECT id FROM entities WHERE id IN (SELECT value FROM json_each(?1)) OR merged_into IN (SELECT value FROM json_each(?1)))
		AND a.kind <> '`+byFirst+`' AND `+clean+` ORDER BY root, a.text`, string(list))
	if err != nil {
		return nil, fmt.Errorf("graph: read own names: %w", err)
	}
	defer rows.Close()
	out := map[string][]string{}
	for rows.Next() {
		var id, name string
		if err := rows.Scan(&id, &name); err != nil {
			return nil, fmt.Errorf("graph: read own names: %w", err)
		}
		out[id] = append(out[id], name)
	}
	return out, rows.Err()
}
