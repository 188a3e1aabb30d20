package knowledge

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"hob/platform/store"
)

// JunkCount counts the valid facts that are of no use, by reason. A fact can have several reasons.
type JunkCount struct {
	Facts int // all valid facts
	// Unused is the number of facts that no search found for 30 days.
	Unused int
	// Duplicates say nothing more than another fact.
	Duplicates int
	// Questions and Fragments are texts that state nothing.
	Questions, Fragments int
	// Junk is the number of facts with at least one reason, and Share its share of all facts.
	Junk  int
	Share float64
}

// unusedAfter is the time without a use after which a fact counts as unused.
const unusedAfter = 30 * 24 * time.Hour

// CountJunk counts the valid facts that are of no use.
func (b *Base) CountJunk(q store.Querier, now time.Time) (n JunkCount, err error) {
	fail := func(err error) (JunkCount, error) { return n, fmt.Errorf("knowledge: count unused facts: %w", err) }
	m, err := loadLiveFacts(q)
	if err != nil {
		return fail(err)
	}
	m.now = now
	m.mergeSameText()
	m.compareClaims()
	duplicate := map[string]bool{}
	for _, c := range m.changes {
		duplicate[c.Fact] = duplicate[c.Fact] || c.Op == MergeDuplicate
	}
	unused := map[string]bool{}
	before := store.Millis(now.Add(-unusedAfter))
	rows, err := q.Query(`SELECT id FROM facts WHERE retired_at = 0 AND pinned = 0 AND created_at <= ? AND used_at <= ?`, before, before)
	if err != nil {
		return fail(err)
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	for rows.Next() {
		var id string
		if err := rows.Scan(&id); err != nil {
			return fail(err)
		}
		unused[id] = true
	}
	for _, f := range m.list {
		reasons := []bool{unused[f.ID], duplicate[f.ID], IsQuestion(f.Text), isFragment(f.Text)}
		for i, c := range []*int{&n.Unused, &n.Duplicates, &n.Questions, &n.Fragments} {
			if reasons[i] {
				*c++
			}
		}
		if slices.Contains(reasons, true) {
			n.Junk++
		}
	}
	if n.Facts = len(m.list); n.Facts > 0 {
		n.Share = float64(n.Junk) / float64(n.Facts)
	}
	return n, rows.Err()
}
