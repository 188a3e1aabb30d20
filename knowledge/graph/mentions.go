package graph

import (
	"context"
	"fmt"
	"strings"

	"hob/knowledge"
	"hob/platform/store"
	"hob/platform/text/textnorm"
)

// nameIndex contains the keys to search for in text, by realm.
type nameIndex map[string]map[string][]string // key -> realm -> ids

func (n nameIndex) addName(key, realm, id string) {
	if n[key] == nil {
		n[key] = map[string][]string{}
	}
	if !containsString(n[key][realm], id) {
		n[key][realm] = append(n[key][realm], id)
	}
}

// addMentions records all known names in the row.
func (m *rowExtraction) addMentions() error {
	known, err := m.g.loadNames(m.tx)
	if err != nil || len(known) == 0 {
		return err
	}
	text := m.d.Title + "\n" + m.d.Text
	if len(text) > 20_000 {
		text = strings.ToValidUTF8(text[:20_000], "")
	}
	w := textnorm.FoldedWords(text)
	done := 0
	for i := range w {
		for n := 1; n <= maxName && i+n <= len(w) && done < 50; n++ {
			key := w[i]
			if n > 1 {
				key = strings.Join(w[i:i+n], " ")
			}
			for _, id := range known[key][m.d.Realm] {
				done++
				if err := m.addMention(id); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// loadNames returns the names to search for. Names that consist of one word must have at least
// three letters.
func (g *Graph) loadNames(q store.Querier) (nameIndex, error) {
	g.mu.Lock()
	n := g.names
	g.mu.Unlock()
	if n != nil {
		return n, nil
	}
	rows, err := q.Query(`SELECT a.key, e.realm, e.id FROM entity_aliases a JOIN entities e ON e.id = a.entity WHERE a.kind IN ('name', 'role', 'called') AND length(a.key) > 2 AND e.id <> 'owner' LIMIT 50000`)
	if err != nil {
		return nil, fmt.Errorf("graph: read names: %w", err)
	}
	defer rows.Close()
	n = nameIndex{}
	for rows.Next() {
		var key, realm, id string
		if err := rows.Scan(&key, &realm, &id); err != nil {
			return nil, fmt.Errorf("graph: read names: %w", err)
		}
		n.addName(key, realm, id)
	}
	if err := rows.Err(); err != nil {
		return nil, fmt.Errorf("graph: read names: %w", err)
	}
	g.mu.Lock()
	g.names = n
	g.mu.Unlock()
	return n, nil
}

// learnName adds a name to the loaded names. Only the writer calls it.
func (g *Graph) learnName(key, realm, id string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.names != nil && len(key) > 2 && id != OwnerID {
		g.names.addName(key, realm, id)
	}
}

// backfillMentions searches earlier rows for new names, a few names at a time. It reports whether
// there are more new names.
func (g *Graph) backfillMentions(ctx context.Context, b knowledge.ChangeSource) (more bool, err error) {
	fresh, err := scanStrings(g.o.Store.Reader(ctx).Query(`SELECT DISTINCT text FROM entity_aliases WHERE fresh = 1 LIMIT ?`, atOnce))
	if err != nil {
		return false, fmt.Errorf("graph: read names: %w", err)
	}
	for _, name := range fresh {
		hits, err := b.Search(g.o.Store.Reader(ctx), name, knowledge.SearchOptions{Limit: 200, All: true, EveryRealm: true})
		if err != nil {
			return false, err
		}
		if err := g.o.Store.Write(ctx, func(tx *store.Tx) error { return g.backTx(tx, name, hits) }); err != nil {
			return false, err
		}
	}
	return len(fresh) == atOnce, nil
}

func (g *Graph) backTx(tx *store.Tx, name string, hits []knowledge.Hit) error {
	for _, h := range hits {
		m := &rowExtraction{g: g, tx: tx, d: h.Doc}
		if err := tx.QueryRow(`SELECT n FROM docs WHERE kind = ? AND ref = ?`, h.Kind, h.Ref).Scan(&m.doc); err != nil {
			continue // the row was deleted since
		}
		if err := m.addMentions(); err != nil {
			return err
		}
	}
	if _, err := tx.Exec(`UPDATE entity_aliases SET fresh = 0 WHERE fresh = 1 AND text = ?`, name); err != nil {
		return fmt.Errorf("graph: read names: %w", err)
	}
	return nil
}
