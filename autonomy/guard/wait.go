package guard

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"time"

	"hob/platform/retry"
	"hob/platform/store"
)

// Wait returns the approval request when it is answered or its time has expired. An expired request
// is still Pending; see EndTx. Use Wait only for a turn that stays in memory because an external
// process blocks until the answer. All other turns are suspended and resumed.
func (g *Guard) Wait(ctx context.Context, id string) (Approval, error) {
	for {
		changed, forget := g.watchApproval(id)
		a, err := scanApproval(g.db.Read().QueryRowContext(ctx, `SELECT `+approvalColumns+` FROM approvals WHERE id = ?`, id))
		if errors.Is(err, sql.ErrNoRows) {
			err = ErrNoApproval
		}
		if err != nil {
			forget()
			return a, fmt.Errorf("guard: wait for %s: %w", id, err)
		}
		left := time.Until(a.ExpiresAt)
		if a.State != Pending || left <= 0 {
			forget()
			return a, nil
		}
		err = retry.Wait(ctx, left, changed)
		forget()
		if err != nil {
			return a, err
		}
	}
}

// watchApproval returns a channel that is closed when the approval request changes.
func (g *Guard) watchApproval(id string) (changed <-chan struct{}, forget func()) {
	ch := make(chan struct{})
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.waiting == nil {
		g.waiting = map[string][]chan struct{}{}
	}
	g.waiting[id] = append(g.waiting[id], ch)
	return ch, func() {
		g.mu.Lock()
		defer g.mu.Unlock()
		g.waiting[id] = slices.DeleteFunc(g.waiting[id], func(c chan struct{}) bool { return c == ch })
		if len(g.waiting[id]) == 0 {
			delete(g.waiting, id)
		}
	}
}

// notifyWaiters notifies the waiters for an approval request, or all waiters if id is "".
func (g *Guard) notifyWaiters(id string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for k, list := range g.waiting {
		if id != "" && k != id {
			continue
		}
		for _, ch := range list {
			close(ch)
		}
		delete(g.waiting, k)
	}
}

// EndTx closes one open approval request for which no caller waits. It reports whether the request
// was still open.
func (g *Guard) EndTx(tx *store.Tx, id string, state ApprovalState) (bool, error) {
	res, err := tx.Exec(`UPDATE approvals SET state = ?, decided_at = ? WHERE id = ? AND state = 'pending'`, state, time.Now().UnixMilli(), id)
	if err != nil {
		return false, fmt.Errorf("guard: close approval request: %w", err)
	}
	n, err := res.RowsAffected()
	if err != nil {
		return false, fmt.Errorf("guard: close approval request: %w", err)
	}
	tx.AfterCommit(func() { g.notifyWaiters(id) })
	return n == 1, nil
}
