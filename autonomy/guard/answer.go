package guard

import (
	"cmp"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"hob/platform/store"
)

// The scopes of an answer.
const (
	scopeOnce    = "once"
	scopeSession = "session"
	scopeTask    = "task"
	scopePattern = "pattern"
)

// Answer is the owner's answer to an approval request.
type Answer struct {
	Approved bool
	// Scope is "once" (default), or the scope of a grant that lasts for the duration For. "session"
	// covers the same call with the same arguments in the same conversation. "pattern" covers all
	// calls in that conversation that match the request's Pattern. "task" covers the calls that
	// match the Pattern, or if there is no Pattern the same call, until the task or turn has ended.
	Scope string
	// For is the duration: by default 1 hour, at most 24 hours, and at most 30 days for unattended
	// calls. If Scope is empty, setting For means "session".
	For time.Duration
	// Uses is the maximum number of uses of the grant; 0 means no limit.
	Uses int
	Note string
	By   string // where the answer came from: "api", "cli" or "chat"
	// Beforehand is the event of the turn for which the approval was given before any request; it
	// is "" for an answer to the request itself.
	Beforehand string
}

// AnswerTx decides an approval request. The first answer decides.
func (g *Guard) AnswerTx(tx *store.Tx, id string, ans Answer) (Approval, error) {
	if ans.Scope == "" && ans.For > 0 {
		ans.Scope = scopeSession
	}
	if ans.Scope = cmp.Or(ans.Scope, scopeOnce); !slices.Contains([]string{scopeOnce, scopeSession, scopeTask, scopePattern}, ans.Scope) {
		return Approval{}, fmt.Errorf("approval %s: unknown scope %q: %w", id, ans.Scope, ErrScope)
	}
	a, err := scanApproval(tx.QueryRow(`SELECT `+approvalColumns+` FROM approvals WHERE id = ?`, id))
	if errors.Is(err, sql.ErrNoRows) {
		return a, fmt.Errorf("approval %q: %w", id, ErrNoApproval)
	}
	if err != nil {
		return a, fmt.Errorf("guard: read approval request: %w", err)
	}
	now := time.Now()
	if a.State != Pending {
		return a, fmt.Errorf("request %s is already %s: %w", id, a.State, ErrDecided)
	}
	if now.After(a.ExpiresAt) {
		return a, fmt.Errorf("approval %s expired at %s: %w", id, a.ExpiresAt.Format(time.RFC3339), ErrDecided)
	}
	if ans.Beforehand != "" && ans.Approved {
		if err := a.coveredBeforehand(ans.Beforehand, ans); err != nil {
			return a, fmt.Errorf("approval %s: %w", id, err)
		}
		ans.By += ", beforehand"
	}
	a.State, a.Note, a.DecidedBy, a.DecidedAt = Denied, ans.Note, ans.By, now
	if ans.Approved {
		a.State = Approved
	}
	a.Scope = ans.Scope
	if a.Approved() && a.Scope != scopeOnce {
		if err := g.grantTx(tx, a, ans); err != nil {
			return a, err
		}
	}
	_, err = tx.Exec(`UPDATE approvals SET state = ?, scope = ?, note = ?, decided_by = ?, decided_at = ? WHERE id = ?`,
		a.State, a.Scope, a.Note, a.DecidedBy, store.Millis(now), id)
	if err != nil {
		return a, fmt.Errorf("guard: store answer: %w", err)
	}
	tx.AfterCommit(func() { g.notifyWaiters(id) })
	return a, g.AuditTx(tx, Record{Actor: "owner", Action: "answer", Event: a.Event, Session: a.Session, Origin: ans.By, Tool: a.Tool, Call: a.Call, Verdict: string(a.State), Rule: "approval " + a.ID, Args: a.Arguments})
}

// Approved reports whether the owner approved.
func (a Approval) Approved() bool { return a.State == Approved }

// IsBatch reports whether id identifies a batch of approval requests.
func IsBatch(id string) bool { return strings.HasPrefix(id, batchPrefix) }

// AnswerBatchTx decides all open requests in a batch and returns them. It returns an error if there
// are none.
func (g *Guard) AnswerBatchTx(tx *store.Tx, batch string, ans Answer) ([]Approval, error) {
	ids, err := openOfBatch(tx, batch)
	if err != nil {
		return nil, err
	}
	var out []Approval
	for _, id := range ids {
		a, err := g.AnswerTx(tx, id, ans)
		if err != nil {
			return nil, err
		}
		out = append(out, a)
	}
	if len(out) > 0 {
		return out, nil
	}
	var n int
	if err := tx.QueryRow(`SELECT count(*) FROM approvals WHERE batch = ? AND batch <> ''`, batch).Scan(&n); err != nil {
		return nil, fmt.Errorf("guard: read approval request: %w", err)
	}
	if n == 0 {
		return nil, fmt.Errorf("batch %q: %w", batch, ErrNoApproval)
	}
	return nil, fmt.Errorf("batch %s: %w", batch, ErrDecided)
}

func openOfBatch(tx *store.Tx, batch string) ([]string, error) {
	rows, err := tx.Query(`SELECT id FROM approvals WHERE batch = ? AND batch <> '' AND state = 'pending' AND expires_at > ? ORDER BY created_at, id`,
		batch, time.Now().UnixMilli())
	if err != nil {
		return nil, fmt.Errorf("guard: read approval request: %w", err)
	}
	defer rows.Close()
	var ids []string
	for rows.Next() {
		var id string
		if err := rows.Scan(&id); err != nil {
			return nil, fmt.Errorf("guard: read approval request: %w", err)
		}
		ids = append(ids, id)
	}
	return ids, rows.Err()
}
