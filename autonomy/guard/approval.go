package guard

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"

	"hob/autonomy/api"
	"hob/platform/provenance"
	"hob/platform/provenance/origins"
	"hob/platform/store"
	"hob/platform/text/visible"
)

// ApprovalState is the state of an approval request.
type ApprovalState string

// The states of an approval.
const (
	Pending   ApprovalState = "pending"
	Approved  ApprovalState = "approved"
	Denied    ApprovalState = "denied"
	TimedOut  ApprovalState = "timeout"
	Cancelled ApprovalState = "cancelled" // the turn was stopped
)

// Errors returned by Answer.
var (
	ErrNoApproval = errors.New("approval request not found")
	ErrDecided    = errors.New("the first answer counts, and this one changed nothing; see: hob approvals list --all")
	ErrScope      = errors.New("use \"once\", \"session\" (the same call again in this conversation), \"task\" (until this task is done) or \"pattern\" (calls like this one in this conversation)")
)

// Approval is a request to approve one call, bound to the hash of the call's arguments. The tray,
// the dashboard and channels with buttons show it; they pass its ID or Batch to
// approvals.Decider.Answer.
type Approval struct {
	ID        string          `json:"id"`
	Event     string          `json:"event"`
	Session   string          `json:"session"`
	Call      string          `json:"call"`
	Tool      string          `json:"tool"`
	Arguments json.RawMessage `json:"arguments"`
	Summary   string          `json:"summary"`
	// Source names the origin of the turn: `watcher "Downloads"`, "trigger deploy", "conversation
	// main"; "" for requests from older versions of Hob.
	Source string `json:"source,omitempty"`
	Reason string `json:"reason"`
	// Rule is the row of the decision table that requires the approval.
	Rule string `json:"rule,omitempty"`
	// Why describes the actual effect of the call. Exact describes what would run, unless the
	// arguments already show it (see tools.CallAssessment). Both contain only visible characters.
	Why   string `json:"why,omitempty"`
	Exact string `json:"exact,omitempty"`
	// Effects lists the effects of the call, joined with "+".
	Effects string `json:"effects,omitempty"`
	// Origins lists the sources of the untrusted text in context, if any.
	Origins []provenance.Origin `json:"origins,omitempty"`
	// Pattern describes the calls that a grant with the scope "pattern" would cover, or is "" if
	// only identical arguments can be granted.
	Pattern string `json:"pattern,omitempty"`
	// Batch is the id shared by similar requests from one answer of the model, or "" for a single
	// request. A batch never grows.
	Batch      string            `json:"batch,omitempty"`
	Provenance provenance.Source `json:"provenance"`
	Attended   bool              `json:"attended"`
	State      ApprovalState     `json:"state"`
	Scope      string            `json:"scope,omitempty"`
	Note       string            `json:"note,omitempty"`
	DecidedBy  string            `json:"decided_by,omitempty"`
	CreatedAt  time.Time         `json:"created_at"`
	ExpiresAt  time.Time         `json:"expires_at"`
	DecidedAt  time.Time         `json:"decided_at,omitzero"`
	hash       string
}

// API returns the request as the API shows it.
func (a Approval) API() api.Approval {
	return api.Approval{
		ID:         a.ID,
		Event:      a.Event,
		Session:    a.Session,
		Call:       a.Call,
		Tool:       a.Tool,
		Arguments:  a.Arguments,
		Summary:    a.Summary,
		Source:     a.Source,
		Reason:     a.Reason,
		Rule:       a.Rule,
		Why:        a.Why,
		Exact:      a.Exact,
		Effects:    a.Effects,
		Origins:    a.Origins,
		Pattern:    a.Pattern,
		Batch:      a.Batch,
		Provenance: a.Provenance,
		Attended:   a.Attended,
		State:      string(a.State),
		Scope:      a.Scope,
		Note:       a.Note,
		DecidedBy:  a.DecidedBy,
		CreatedAt:  a.CreatedAt,
		ExpiresAt:  a.ExpiresAt,
		DecidedAt:  a.DecidedAt,
	}
}

const approvalColumns = `id, event, session, call, tool, args, args_hash, summary, reason, rule, why, exact, pattern, batch,
	provenance, attended, state, scope, note, decided_by, created_at, expires_at, decided_at, effects, source`

// sourceStep adds the name of the source of a request.
const sourceStep = `ALTER TABLE approvals ADD COLUMN source TEXT NOT NULL DEFAULT '';`

func scanApproval(r interface{ Scan(...any) error }) (a Approval, err error) {
	var args []byte
	var created, expires, decided int64
	err = r.Scan(&a.ID, &a.Event, &a.Session, &a.Call, &a.Tool, &args, &a.hash, &a.Summary, &a.Reason, &a.Rule, &a.Why, &a.Exact, &a.Pattern,
		&a.Batch, &a.Provenance, &a.Attended, &a.State, &a.Scope, &a.Note, &a.DecidedBy, &created, &expires, &decided, &a.Effects, &a.Source)
	a.Arguments = args
	a.CreatedAt, a.ExpiresAt, a.DecidedAt = store.Time(created), store.Time(expires), store.Time(decided)
	return a, err
}

func (g *Guard) byCall(ctx context.Context, call string) (Approval, error) {
	return scanApproval(g.db.Read().QueryRowContext(ctx, `SELECT `+approvalColumns+` FROM approvals WHERE call = ?`, call))
}

// IsAnyPending reports whether one of the calls is waiting for the owner's answer.
func (g *Guard) IsAnyPending(ctx context.Context, calls ...string) (bool, error) {
	for _, call := range calls {
		switch a, err := g.byCall(ctx, call); {
		case err == nil && a.State == Pending:
			return true, nil
		case err != nil && !errors.Is(err, sql.ErrNoRows):
			return false, fmt.Errorf("guard: read approval requests: %w", err)
		}
	}
	return false, nil
}

// Approval returns one approval request, or ErrNoApproval if it does not exist.
func (g *Guard) Approval(ctx context.Context, id string) (Approval, error) {
	a, err := scanApproval(g.db.Read().QueryRowContext(ctx, `SELECT `+approvalColumns+` FROM approvals WHERE id = ?`, id))
	if errors.Is(err, sql.ErrNoRows) {
		return a, fmt.Errorf("approval %q: %w", id, ErrNoApproval)
	}
	if err != nil {
		return a, fmt.Errorf("guard: read approval requests: %w", err)
	}
	return a, nil
}

// Question is a call that needs approval, with the guard's decision.
type Question struct {
	Request
	Decision
}

// AskTx stores a request to approve the call. For a repeated call it returns the existing request.
func (g *Guard) AskTx(tx *store.Tx, r Request, d Decision) (Approval, error) {
	all, err := g.AskAllTx(tx, []Question{{r, d}})
	if err != nil {
		return Approval{}, err
	}
	return all[0], nil
}

// AskAllTx stores the approval requests from one answer of the model, each as a row. New requests
// for the same tool and reason form a batch.
func (g *Guard) AskAllTx(tx *store.Tx, questions []Question) ([]Approval, error) {
	out := make([]Approval, len(questions))
	alike := map[[2]string][]int{}
	for i, q := range questions {
		a, err := scanApproval(tx.QueryRow(`SELECT `+approvalColumns+` FROM approvals WHERE call = ?`, q.Call))
		if err == nil {
			out[i] = a
			continue
		}
		if !errors.Is(err, sql.ErrNoRows) {
			return nil, fmt.Errorf("guard: read approval request: %w", err)
		}
		out[i] = g.newApproval(q)
		kind := [2]string{out[i].Tool, q.Rule}
		alike[kind] = append(alike[kind], i)
	}
	for _, group := range alike {
		batch := ""
		if len(group) > 1 {
			batch = batchPrefix + shortID()
		}
		for _, i := range group {
			out[i].Batch = batch
			if err := insertApproval(tx, out[i]); err != nil {
				return nil, err
			}
		}
	}
	return out, nil
}

// batchPrefix is the prefix of batch ids, which distinguishes them from the ids of single requests.
const batchPrefix = "all-"

// newApproval returns the row for a call that has no approval request yet.
func (g *Guard) newApproval(q Question) Approval {
	wait := g.opt.Live
	if !q.Attended {
		wait = g.opt.Queued
	}
	if q.Within > 0 {
		wait = min(wait, q.Within)
	}
	now := time.Now()
	name, j := q.Tool.Spec().Name, q.Judgment
	q.judged = j
	a := Approval{
		ID: shortID(), Event: q.Event, Session: q.Session, Call: q.Call, Tool: name, Arguments: q.Args, Summary: callSummary(q.Tool, q.Args, j.Summary),
		Reason: q.Reason, Rule: q.Rule, Why: visible.Escape(j.Why), Exact: visible.Escape(j.Exact), Pattern: patternOf(q.Request),
		Provenance: provenance.Owner, Attended: q.Attended, State: Pending, CreatedAt: now, ExpiresAt: now.Add(wait),
		hash: hashCall(name, q.Args, j.Exact), Effects: effectsText(q.callEffects()), Source: visible.Escape(q.Source),
	}
	if q.Tainted {
		a.Provenance, a.Origins = provenance.Outside, provenance.Join(q.Origins)
	}
	return a
}

func insertApproval(tx *store.Tx, a Approval) error {
	_, err := tx.Exec(`INSERT INTO approvals (id, event, session, call, tool, args, args_hash, summary, reason, rule, why, exact, pattern, batch,
		provenance, attended, state, created_at, expires_at, effects, source) VALUES (?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?)`,
		a.ID, a.Event, a.Session, a.Call, a.Tool, []byte(a.Arguments), a.hash, a.Summary, a.Reason, a.Rule, a.Why, a.Exact,
		a.Pattern, a.Batch, a.Provenance, a.Attended, a.State, store.Millis(a.CreatedAt), store.Millis(a.ExpiresAt), a.Effects, a.Source)
	if err != nil {
		return fmt.Errorf("guard: store approval request: %w", err)
	}
	return origins.KeepTx(tx, origins.Approval, a.ID, a.Origins)
}

// shortID returns an id that is easy to type: the last 8 hex digits of a random UUID.
func shortID() string {
	s := uuid.NewString()
	return s[len(s)-8:]
}

// CloseTx closes the open approval requests of an event that no longer waits. With TimedOut, it
// marks the expired ones as timed out and the others as canceled. With Cancelled (the turn was
// stopped), it marks all of them as canceled.
func (g *Guard) CloseTx(tx *store.Tx, event string, state ApprovalState) error {
	now := time.Now().UnixMilli()
	res, err := tx.Exec(`UPDATE approvals SET state = iif(?1 = 'timeout' AND expires_at > ?2, 'cancelled', ?1), decided_at = ?2
		WHERE event = ?3 AND state = 'pending'`, state, now, event)
	if err != nil {
		return fmt.Errorf("guard: close approval requests: %w", err)
	}
	if n, err := res.RowsAffected(); err != nil || n > 0 {
		tx.AfterCommit(func() { g.notifyWaiters("") }) // wake a turn that is waiting for the answer
	}
	return nil
}

// Approvals lists approval requests, newest first. Empty filters match all.
func (g *Guard) Approvals(ctx context.Context, state ApprovalState, session, event string, limit int) ([]Approval, error) {
	return g.ApprovalsBefore(ctx, state, session, event, "", limit)
}

// ApprovalsBefore returns the requests that follow the one with the id before in the list of
// Approvals. An empty id means the beginning of the list.
func (g *Guard) ApprovalsBefore(ctx context.Context, state ApprovalState, session, event, before string, limit int) ([]Approval, error) {
	var where []string
	var args []any
	for _, f := range [][2]string{{"state", string(state)}, {"session", session}, {"event", event}} {
		switch col, v := f[0], f[1]; {
		case v == "":
		case col == "state" && v == string(Pending): // same condition as in the index of open requests
			where = append(where, "state = 'pending'")
		default:
			where = append(where, col+" = ?")
			args = append(args, v)
		}
	}
	if before != "" {
		const at = "(SELECT created_at FROM approvals WHERE id = ?)"
		where = append(where, "(created_at < "+at+" OR created_at = "+at+" AND id > ?)")
		args = append(args, before, before, before)
	}
	q := `SELECT ` + approvalColumns + ` FROM approvals`
	if len(where) > 0 {
		q += ` WHERE ` + strings.Join(where, " AND ")
	}
	rows, err := g.db.Read().QueryContext(ctx, q+` ORDER BY created_at DESC, id LIMIT `+strconv.Itoa(limit), args...)
	if err != nil {
		return nil, fmt.Errorf("guard: read approval requests: %w", err)
	}
	defer rows.Close()
	out := []Approval{}
	for rows.Next() {
		a, err := scanApproval(rows)
		if err != nil {
			return nil, fmt.Errorf("guard: read approval requests: %w", err)
		}
		out = append(out, a)
	}
	if err := rows.Err(); err != nil {
		return nil, fmt.Errorf("guard: read approval requests: %w", err)
	}
	return out, g.addOrigins(ctx, out)
}

// askedWithin is how long WasAsked remembers a request.
const askedWithin = 30 * 24 * time.Hour

// WasAsked reports whether the user was asked in the last 30 days to approve a call of the tool
// with matching arguments. An open or approved request of event does not count, because it is for
// the call itself.
func (g *Guard) WasAsked(ctx context.Context, tool, event string, match func(args json.RawMessage) bool) (bool, error) {
	rows, err := g.db.Read().QueryContext(ctx, `SELECT args FROM approvals WHERE tool = ? AND created_at > ? AND (event <> ? OR state NOT IN ('pending', 'approved'))`,
		tool, store.Millis(time.Now().Add(-askedWithin)), event)
	if err != nil {
		return false, fmt.Errorf("guard: read approval requests: %w", err)
	}
	defer rows.Close()
	for rows.Next() {
		var args []byte
		if err := rows.Scan(&args); err != nil {
			return false, fmt.Errorf("guard: read approval requests: %w", err)
		}
		if match(args) {
			return true, nil
		}
	}
	if err := rows.Err(); err != nil {
		return false, fmt.Errorf("guard: read approval requests: %w", err)
	}
	return false, nil
}

// addOrigins adds the origins of the untrusted text in context to each request.
func (g *Guard) addOrigins(ctx context.Context, list []Approval) (err error) {
	for i, a := range list {
		if !a.Provenance.Tainted() {
			continue
		}
		if list[i].Origins, err = origins.Of(g.db.Reader(ctx), origins.Approval, a.ID); err != nil {
			return fmt.Errorf("guard: read approval requests: %w", err)
		}
	}
	return nil
}

// HasOpenApproval reports whether any approval request is open.
func (g *Guard) HasOpenApproval(ctx context.Context) (bool, error) {
	open, err := g.Approvals(ctx, Pending, "", "", 1000)
	return slices.ContainsFunc(open, func(a Approval) bool { return time.Now().Before(a.ExpiresAt) }), err
}

// OpenIn lists the ids of the open requests that an event's text contains. It reads the ids from
// the text, because the event may also have requests that the text does not contain.
func (g *Guard) OpenIn(q store.Querier, event, text string) (ids []string, err error) {
	rows, err := q.Query(`SELECT id FROM approvals WHERE event = ? AND state = 'pending' AND expires_at > ? AND instr(?, id) > 0 ORDER BY id`,
		event, time.Now().UnixMilli(), text)
	if err != nil {
		return nil, fmt.Errorf("guard: read approval requests: %w", err)
	}
	defer rows.Close()
	for rows.Next() {
		var id string
		if err := rows.Scan(&id); err != nil {
			return nil, fmt.Errorf("guard: read approval requests: %w", err)
		}
		ids = append(ids, id)
	}
	return ids, rows.Err()
}
