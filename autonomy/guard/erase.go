package guard

import (
	"errors"
	"fmt"
	"time"

	"hob/platform/store"
	"hob/platform/store/erase"
)

// Eraser returns the eraser for text in approval requests and grants. The audit log is excluded: it
// contains only keyed digests and must not change. resume makes the suspended event of a withdrawn
// request due, because the request can no longer be answered.
func (g *Guard) Eraser(resume func(tx *store.Tx, event string) error) erase.Eraser {
	return erase.Owned{
		Before: func(tx *store.Tx, e *erase.Erasure, s *erase.Scrubber) (n erase.Erased, err error) {
			return n, g.withdrawErased(tx, e, s, resume)
		},
		List: []erase.Table{
			{
				Name: "approvals", Key: []string{"id"}, Text: []string{"args", "summary", "reason", "rule", "why", "note", "source"}, Event: "event", Session: "session", Call: "call",
				Whole: map[string]any{"args": []byte(`{}`), "summary": erase.Mark, "reason": "", "why": "", "note": "", "source": ""},
			},
			{Name: "grants", Key: []string{"id"}, Names: []string{"pattern", "summary", "name"}},
		},
		Besides: []string{"tombstones"},
	}
}

// withdrawErased withdraws open requests that contain erased text, because the owner would no
// longer approve the same arguments. It also removes the digest of the arguments, which is not
// keyed.
func (g *Guard) withdrawErased(tx *store.Tx, e *erase.Erasure, s *erase.Scrubber, resume func(tx *store.Tx, event string) error) error {
	changed, err := approvalsToErase(tx, e, s)
	if err != nil {
		return fmt.Errorf("guard: withdraw approval requests: %w", err)
	}
	for _, a := range changed {
		_, err := tx.Exec(`UPDATE approvals SET args_hash = '', exact = '', pattern = '', 
			decided_at = iif(state = 'pending', ?, decided_at), state = iif(state = 'pending', 'cancelled', state) WHERE id = ?`, time.Now().UnixMilli(), a.id)
		if err == nil && a.state == Pending {
			err = resume(tx, a.event)
			tx.AfterCommit(func() { g.notifyWaiters(a.id) })
		}
		if err != nil {
			return fmt.Errorf("guard: withdraw approval requests: %w", err)
		}
	}
	return nil
}

// erasedApproval identifies an approval request that contains erased text.
type erasedApproval struct {
	id, event string
	state     ApprovalState
}

// approvalsToErase returns the approval requests that contain erased text.
func approvalsToErase(tx *store.Tx, e *erase.Erasure, s *erase.Scrubber) (found []erasedApproval, err error) {
	rows, err := tx.Query(`SELECT id, state, event, session, call, CAST(args AS TEXT), summary, reason, why, exact, pattern, note FROM approvals`)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	for rows.Next() {
		var a erasedApproval
		var session, call string
		var texts [7]string
		if err := rows.Scan(&a.id, &a.state, &a.event, &session, &call, &texts[0], &texts[1], &texts[2], &texts[3], &texts[4], &texts[5], &texts[6]); err != nil {
			return nil, err
		}
		hit := e.Whole(a.event, session, call)
		for _, t := range texts {
			hit = hit || s.Has(t)
		}
		if hit {
			found = append(found, a)
		}
	}
	return found, rows.Err()
}
