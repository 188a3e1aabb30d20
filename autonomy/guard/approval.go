package guard

import (
	"cmp"
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"
	"unicode"

	"github.com/google/uuid"

	"hob/knowledge/store"
	"hob/platform/origins"
	"hob/platform/provenance"
	"hob/tools"
)

// ApprovalState is where a question to the owner stands.
type ApprovalState string

// The states of an approval.
const (
	Pending   ApprovalState = "pending"
	Approved  ApprovalState = "approved"
	Denied    ApprovalState = "denied"
	TimedOut  ApprovalState = "timeout"
	Cancelled ApprovalState = "cancelled" // the turn was stopped
)

// Errors of Answer.
var (
	ErrNoApproval = errors.New("there is no such question")
	ErrDecided    = errors.New("this question was already answered; the first answer counts")
	ErrScope      = errors.New("unknown scope; use \"once\" or \"session\"")
)

// Approval is one question to the owner, bound to one call and the hash of its
// arguments.
type Approval struct {
	ID         string            `json:"id"`
	Event      string            `json:"event"`
	Session    string            `json:"session"`
	Call       string            `json:"call"`
	Tool       string            `json:"tool"`
	Arguments  json.RawMessage   `json:"arguments"`
	Summary    string            `json:"summary"`
	Reason     string            `json:"reason"`
	Provenance provenance.Source `json:"provenance"`
	// Origins are from where the outside text in view came, when there is some.
	Origins   []provenance.Origin `json:"origins,omitempty"`
	Attended  bool                `json:"attended"`
	State     ApprovalState       `json:"state"`
	Scope     string              `json:"scope,omitempty"`
	Note      string              `json:"note,omitempty"`
	DecidedBy string              `json:"decided_by,omitempty"`
	CreatedAt time.Time           `json:"created_at"`
	ExpiresAt time.Time           `json:"expires_at"`
	DecidedAt time.Time           `json:"decided_at,omitzero"`
	hash      string
}

const approvalColumns = `id, event, session, call, tool, args, args_hash, summary, reason, provenance, attended, state, scope, note, decided_by, created_at, expires_at, decided_at`

func scanApproval(r interface{ Scan(...any) error }) (a Approval, err error) {
	var args []byte
	var created, expires, decided int64
	err = r.Scan(&a.ID, &a.Event, &a.Session, &a.Call, &a.Tool, &args, &a.hash, &a.Summary, &a.Reason, &a.Provenance, &a.Attended,
		&a.State, &a.Scope, &a.Note, &a.DecidedBy, &created, &expires, &decided)
	a.Arguments = args
	a.CreatedAt, a.ExpiresAt, a.DecidedAt = store.Time(created), store.Time(expires), store.Time(decided)
	return a, err
}

func (g *Guard) byCall(ctx context.Context, call string) (Approval, error) {
	return scanApproval(g.db.Read().QueryRowContext(ctx, `SELECT `+approvalColumns+` FROM approvals WHERE call = ?`, call))
}

// AskTx stores the question whether the call may run. Asking again for the
// same call gives the same question.
func (g *Guard) AskTx(tx *store.Tx, r Request, d Decision) (Approval, error) {
	a, err := scanApproval(tx.QueryRow(`SELECT `+approvalColumns+` FROM approvals WHERE call = ?`, r.Call))
	if err == nil {
		return a, nil
	}
	if !errors.Is(err, sql.ErrNoRows) {
		return a, fmt.Errorf("guard: ask: %w", err)
	}
	wait := g.opt.Live
	if !r.Attended {
		wait = g.opt.Queued
	}
	if r.Within > 0 {
		wait = min(wait, r.Within)
	}
	now := time.Now()
	name := r.Tool.Spec().Name
	a = Approval{
		ID: shortID(), Event: r.Event, Session: r.Session, Call: r.Call, Tool: name, Arguments: r.Args, Summary: summary(r.Tool, r.Args),
		Reason: d.Reason, Provenance: provenance.Owner, Attended: r.Attended, State: Pending, CreatedAt: now, ExpiresAt: now.Add(wait),
		hash: hash(name, r.Args, d.Judgement.Exact),
	}
	if r.Tainted {
		a.Provenance, a.Origins = provenance.Outside, provenance.Join(r.Origins)
		if err := origins.KeepTx(tx, origins.Approval, a.ID, a.Origins); err != nil {
			return a, fmt.Errorf("guard: ask: %w", err)
		}
	}
	_, err = tx.Exec(`INSERT INTO approvals (id, event, session, call, tool, args, args_hash, summary, reason, provenance, attended, state, created_at, expires_at)
		VALUES (?,?,?,?,?,?,?,?,?,?,?,?,?,?)`, a.ID, a.Event, a.Session, a.Call, a.Tool, []byte(a.Arguments), a.hash, a.Summary, a.Reason,
		a.Provenance, a.Attended, a.State, store.Millis(now), store.Millis(a.ExpiresAt))
	if err != nil {
		return a, fmt.Errorf("guard: ask: %w", err)
	}
	return a, nil
}

// shortID is easy to type: the last 8 hex digits of a random UUID.
func shortID() string {
	s := uuid.NewString()
	return s[len(s)-8:]
}

func summary(t tools.Tool, args json.RawMessage) string {
	if s, ok := t.(tools.Summarizer); ok {
		return visible(s.Summary(args))
	}
	return t.Spec().Name
}

// maxSummary is the longest summary in characters.
const maxSummary = 600

// visible shows a text as what it is, on one line: line breaks, characters that
// turn the direction of writing and those that cannot be seen are spelled out,
// since the model chose them; a long one loses its middle, not its end.
func visible(s string) string {
	var b strings.Builder
	for _, r := range strings.ToValidUTF8(s, "\uFFFD") {
		if r == ' ' || unicode.IsPrint(r) {
			b.WriteRune(r)
			continue
		}
		q := strconv.QuoteRuneToASCII(r)
		b.WriteString(q[1 : len(q)-1])
	}
	r := []rune(b.String())
	if len(r) <= maxSummary {
		return string(r)
	}
	return string(r[:maxSummary*2/3]) + " […] " + string(r[len(r)-maxSummary/3:])
}

// Answer is the owner's word on a question.
type Answer struct {
	Approved bool
	// Scope is "once" or "session": the same call with the same arguments in
	// the same conversation is allowed until For has passed.
	Scope string
	For   time.Duration // for "session"; default 1 hour, at most 24
	Note  string
	By    string // the surface: "api", "cli", "chat"
}

// AnswerTx decides a question; the first answer counts.
func (g *Guard) AnswerTx(tx *store.Tx, id string, ans Answer) (Approval, error) {
	if ans.Scope = cmp.Or(ans.Scope, "once"); ans.Scope != "once" && ans.Scope != "session" {
		return Approval{}, fmt.Errorf("approval %s: scope %q: %w", id, ans.Scope, ErrScope)
	}
	a, err := scanApproval(tx.QueryRow(`SELECT `+approvalColumns+` FROM approvals WHERE id = ?`, id))
	if errors.Is(err, sql.ErrNoRows) {
		return a, fmt.Errorf("approval %q: %w", id, ErrNoApproval)
	}
	if err != nil {
		return a, fmt.Errorf("guard: answer: %w", err)
	}
	now := time.Now()
	if a.State != Pending {
		return a, fmt.Errorf("approval %s is %s: %w", id, a.State, ErrDecided)
	}
	if now.After(a.ExpiresAt) {
		return a, fmt.Errorf("approval %s ran out at %s: %w", id, a.ExpiresAt.Format(time.RFC3339), ErrDecided)
	}
	a.State, a.Note, a.DecidedBy, a.DecidedAt = Denied, ans.Note, ans.By, now
	if ans.Approved {
		a.State = Approved
	}
	a.Scope = ans.Scope
	if a.Approved() && a.Scope == "session" {
		if err := grantTx(tx, a, ans.For, now); err != nil {
			return a, err
		}
	}
	_, err = tx.Exec(`UPDATE approvals SET state = ?, scope = ?, note = ?, decided_by = ?, decided_at = ? WHERE id = ?`,
		a.State, a.Scope, a.Note, a.DecidedBy, store.Millis(now), id)
	if err != nil {
		return a, fmt.Errorf("guard: answer: %w", err)
	}
	tx.AfterCommit(func() { g.changed(id) })
	return a, g.AuditTx(tx, Record{Actor: "owner", Action: "answer", Event: a.Event, Session: a.Session, Origin: ans.By, Tool: a.Tool, Call: a.Call, Verdict: string(a.State), Rule: "approval " + a.ID, Args: a.Arguments})
}

// Approved reports whether the owner said yes.
func (a Approval) Approved() bool { return a.State == Approved }

func grantTx(tx *store.Tx, a Approval, d time.Duration, now time.Time) error {
	if d <= 0 {
		d = time.Hour
	}
	d = min(d, 24*time.Hour)
	_, err := tx.Exec(`INSERT INTO grants (id, tool, args_hash, session, expires_at, created_at) VALUES (?,?,?,?,?,?)`,
		shortID(), a.Tool, a.hash, a.Session, store.Millis(now.Add(d)), store.Millis(now))
	if err != nil {
		return fmt.Errorf("guard: grant: %w", err)
	}
	return nil
}

// CloseTx ends the open questions of an event, which nobody waits for any more:
// with TimedOut those whose time is up, and the others as cancelled; with
// Cancelled (the turn was stopped) all of them.
func (g *Guard) CloseTx(tx *store.Tx, event string, state ApprovalState) error {
	now := time.Now().UnixMilli()
	res, err := tx.Exec(`UPDATE approvals SET state = iif(?1 = 'timeout' AND expires_at > ?2, 'cancelled', ?1), decided_at = ?2
		WHERE event = ?3 AND state = 'pending'`, state, now, event)
	if err != nil {
		return fmt.Errorf("guard: close questions: %w", err)
	}
	if n, err := res.RowsAffected(); err != nil || n > 0 {
		tx.AfterCommit(func() { g.changed("") }) // a turn that is held looks again
	}
	return nil
}

// Approvals lists questions, newest first; empty filters match all.
func (g *Guard) Approvals(ctx context.Context, state ApprovalState, session, event string, limit int) ([]Approval, error) {
	var where []string
	var args []any
	for _, f := range [][2]string{{"state", string(state)}, {"session", session}, {"event", event}} {
		switch col, v := f[0], f[1]; {
		case v == "":
		case col == "state" && v == string(Pending): // as the index of open questions says it
			where = append(where, "state = 'pending'")
		default:
			where = append(where, col+" = ?")
			args = append(args, v)
		}
	}
	q := `SELECT ` + approvalColumns + ` FROM approvals`
	if len(where) > 0 {
		q += ` WHERE ` + strings.Join(where, " AND ")
	}
	rows, err := g.db.Read().QueryContext(ctx, q+` ORDER BY created_at DESC, id LIMIT `+strconv.Itoa(limit), args...)
	if err != nil {
		return nil, fmt.Errorf("guard: approvals: %w", err)
	}
	defer rows.Close()
	out := []Approval{}
	for rows.Next() {
		a, err := scanApproval(rows)
		if err != nil {
			return nil, fmt.Errorf("guard: approvals: %w", err)
		}
		out = append(out, a)
	}
	if err := rows.Err(); err != nil {
		return nil, fmt.Errorf("guard: approvals: %w", err)
	}
	return out, g.traced(ctx, out)
}

// traced fills in from where the text in view of each question came.
func (g *Guard) traced(ctx context.Context, list []Approval) (err error) {
	for i, a := range list {
		if !a.Provenance.Tainted() {
			continue
		}
		if list[i].Origins, err = origins.Of(g.db.Reader(ctx), origins.Approval, a.ID); err != nil {
			return fmt.Errorf("guard: approvals: %w", err)
		}
	}
	return nil
}

// From says in words from where the outside text in view of the call came, ""
// when there is none.
func (a Approval) From() string {
	if !a.Provenance.Tainted() {
		return ""
	}
	if len(a.Origins) == 0 {
		return "text from outside"
	}
	return "text from " + provenance.Told(a.Origins, 4)
}
