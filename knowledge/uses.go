package knowledge

import (
	"context"
	"fmt"
	"sync"
	"time"

	"hob/platform/store"
)

// factUses collects the facts that searches found, so that their times are written together when
// Hob is idle. A crash loses at most the uses since the last StoreUses.
type factUses struct {
	mu sync.Mutex
	// found maps the facts found today to whether StoreUses has written that.
	found map[string]bool
	day   string
}

// noteFound records that the facts among the hits and the facts that state the relations were found.
func (u *factUses) noteFound(hits []Hit, edges []Edge) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if day := time.Now().UTC().Format(time.DateOnly); u.day != day {
		u.day, u.found = day, map[string]bool{} // one write per fact and day is enough
	}
	for _, h := range hits {
		if h.Kind == KindFact && !u.found[h.Ref] {
			u.found[h.Ref] = false
		}
	}
	for _, e := range edges {
		if e.Fact != "" && !u.found[e.Fact] {
			u.found[e.Fact] = false
		}
	}
}

// takeUnwritten returns the facts whose use is not written yet and marks them as written.
func (u *factUses) takeUnwritten() (ids []string) {
	u.mu.Lock()
	defer u.mu.Unlock()
	for id, written := range u.found {
		if !written {
			ids = append(ids, id)
			u.found[id] = true
		}
	}
	return ids
}

// StoreUses writes which facts were found since the last call.
func (b *Base) StoreUses(ctx context.Context) error {
	ids := b.uses.takeUnwritten()
	if len(ids) == 0 {
		return nil
	}
	now := store.Millis(time.Now())
	return b.st.Write(ctx, func(tx *store.Tx) error {
		for _, id := range ids {
			if _, err := tx.Exec(`UPDATE facts SET used_at = ? WHERE id = ? AND used_at < ?`, now, id, now); err != nil {
				return fmt.Errorf("knowledge: store uses of facts: %w", err)
			}
		}
		return nil
	})
}
