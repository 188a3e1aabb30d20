package knowledge

import (
	"fmt"

	"hob/platform/store"
)

// GroupRows returns the rows of a kind in one group, in order.
func (b *Base) GroupRows(q store.Querier, kind, group string) ([]Doc, error) {
	list, err := queryChanges(q, `SELECT 0, d.n, 0, `+docOrEmpty+` FROM docs d WHERE d.grp = ? AND d.kind = ? ORDER BY d.pos, d.n`, group, kind)
	if err != nil {
		return nil, fmt.Errorf("knowledge: read group: %w", err)
	}
	out := make([]Doc, 0, len(list))
	for _, c := range list {
		out = append(out, c.Doc)
	}
	return out, nil
}
