package guard

import (
	"cmp"
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"time"

	"hob/platform/store"
	"hob/platform/store/tombstone"
	"hob/tools"
)

// Limits for the duration of grants.
const (
	grantTime   = time.Hour           // default duration of a grant
	maxGrant    = 24 * time.Hour      // maximum for a grant in a conversation
	maxStanding = 30 * 24 * time.Hour // maximum for a grant for unattended calls
)

// Errors about grants.
var (
	ErrNoGrant    = errors.New("grant not found")
	ErrGrantEnded = errors.New("the grant for this call has ended: it was revoked, has expired or is used up")
	ErrGrant      = errors.New("this cannot be granted")
)

// Grant is the owner's approval of further calls to one tool. It covers calls with identical
// arguments or calls that match a pattern, in one conversation or task, until it expires. A grant
// never covers everything that a tool can do.
type Grant struct {
	ID   string `json:"id"`
	Tool string `json:"tool"`
	// Pattern is the covered pattern (see pattern.go), or "" for identical arguments.
	Pattern string `json:"pattern,omitempty"`
	// Summary describes the granted calls. Name is the owner's name for the grant.
	Summary string `json:"summary,omitempty"`
	Name    string `json:"name,omitempty"`
	Session string `json:"session"`
	// Task is the event to which the grant is limited, or "" for the entire conversation.
	Task string `json:"task,omitempty"`
	// Outside reports whether the grant also covers calls with untrusted text in context, because
	// the owner saw such a call or requested this.
	Outside   bool      `json:"outside"`
	Used      int       `json:"used"`
	MaxUses   int       `json:"max_uses,omitempty"`
	State     string    `json:"state"` // live, revoked, expired or used up
	Approval  string    `json:"approval,omitempty"`
	CreatedAt time.Time `json:"created_at"`
	ExpiresAt time.Time `json:"expires_at"`
	LastUsed  time.Time `json:"last_used,omitzero"`
	RevokedAt time.Time `json:"revoked_at,omitzero"`
	hash      string
}

// grantSteps are the migrations for patterns, batches and revocation.
const grantSteps = `
ALTER TABLE approvals ADD COLUMN rule TEXT NOT NULL DEFAULT '';
ALTER TABLE approvals ADD COLUMN why TEXT NOT NULL DEFAULT '';
ALTER TABLE approvals ADD COLUMN exact TEXT NOT NULL DEFAULT '';
ALTER TABLE approvals ADD COLUMN pattern TEXT NOT NULL DEFAULT '';
ALTER TABLE approvals ADD COLUMN batch TEXT NOT NULL DEFAULT '';
CREATE INDEX approvals_batch ON approvals(batch) WHERE batch <> '';
CREATE INDEX approvals_event ON approvals(event);
ALTER TABLE grants ADD COLUMN pattern TEXT NOT NULL DEFAULT '';
ALTER TABLE grants ADD COLUMN summary TEXT NOT NULL DEFAULT '';
ALTER TABLE grants ADD COLUMN name TEXT NOT NULL DEFAULT '';
ALTER TABLE grants ADD COLUMN event TEXT NOT NULL DEFAULT '';
ALTER TABLE grants ADD COLUMN outside INTEGER NOT NULL DEFAULT 0;
ALTER TABLE grants ADD COLUMN max_uses INTEGER NOT NULL DEFAULT 0;
ALTER TABLE grants ADD COLUMN approval TEXT NOT NULL DEFAULT '';
ALTER TABLE grants ADD COLUMN last_used INTEGER NOT NULL DEFAULT 0;
ALTER TABLE grants ADD COLUMN revoked_at INTEGER NOT NULL DEFAULT 0;
`

const grantColumns = `id, tool, args_hash, pattern, summary, name, session, event, outside, used, max_uses, approval, created_at, expires_at, last_used, revoked_at`

func scanGrant(r interface{ Scan(...any) error }) (x Grant, err error) {
	var created, expires, last, revoked int64
	err = r.Scan(&x.ID, &x.Tool, &x.hash, &x.Pattern, &x.Summary, &x.Name, &x.Session, &x.Task, &x.Outside, &x.Used, &x.MaxUses, &x.Approval,
		&created, &expires, &last, &revoked)
	x.CreatedAt, x.ExpiresAt, x.LastUsed, x.RevokedAt = store.Time(created), store.Time(expires), store.Time(last), store.Time(revoked)
	switch {
	case revoked != 0:
		x.State = "revoked"
	case !time.Now().Before(x.ExpiresAt):
		x.State = "expired"
	case x.MaxUses > 0 && x.Used >= x.MaxUses:
		x.State = "used up"
	default:
		x.State = "live"
	}
	return x, err
}

// live is the SQL condition for an active grant. Its only parameter is the current time.
const live = `revoked_at = 0 AND expires_at > ? AND (max_uses = 0 OR used < max_uses)`

// findGrant returns the id of an active grant that covers the call, or "". Destructive and
// revealing calls are covered only by identical arguments and only while the owner is present.
// Calls for a guest are never covered.
func (g *Guard) findGrant(ctx context.Context, r Request) (string, error) {
	grave := r.callEffects()&^(tools.Read|tools.Write|tools.Send|tools.Egress|tools.Exec) != 0
	if r.Guest || grave && !r.Attended {
		return "", nil
	}
	name := r.Tool.Spec().Name
	rows, err := g.db.Read().QueryContext(ctx, `SELECT `+grantColumns+` FROM grants WHERE tool = ? AND session = ? AND `+live+`
		AND (event = '' OR event = ?) AND (outside = 1 OR ? = 0) ORDER BY pattern, created_at`, name, r.Session, time.Now().UnixMilli(), r.Event, r.Tainted)
	if err != nil {
		return "", fmt.Errorf("guard: read grants: %w", err)
	}
	defer rows.Close()
	same := hashCall(name, r.Args, r.judged.Exact)
	for rows.Next() {
		x, err := scanGrant(rows)
		if err != nil {
			return "", fmt.Errorf("guard: read grants: %w", err)
		}
		if x.Pattern == "" && x.hash == same || x.Pattern != "" && !grave && isPatternMatch(x.Pattern, r) {
			return x.ID, nil
		}
	}
	return "", rows.Err()
}

// UseTx records the use of the grant that a decision depends on, in the transaction in which the
// call begins. It returns ErrGrantEnded if the grant has ended in the meantime; the call must then
// not begin. The uses of a grant with a limit stay counted when an older backup is restored.
func (g *Guard) UseTx(tx *store.Tx, d Decision) error {
	if d.Grant == "" {
		return nil
	}
	now := time.Now().UnixMilli()
	var used, limit int
	err := tx.QueryRow(`UPDATE grants SET used = used + 1, last_used = ? WHERE id = ? AND `+live+` RETURNING used, max_uses`, now, d.Grant, now).Scan(&used, &limit)
	switch {
	case errors.Is(err, sql.ErrNoRows):
		return ErrGrantEnded
	case err != nil:
		return fmt.Errorf("guard: store grant: %w", err)
	case limit == 0:
		return nil
	}
	return g.Tombstones().AddTx(tx, tombstone.Use, d.Grant, json.RawMessage(strconv.Itoa(used)))
}

// grantTx creates the grant requested by an answer with a scope.
func (g *Guard) grantTx(tx *store.Tx, a Approval, ans Answer) error {
	x := Grant{
		Tool: a.Tool, Pattern: a.Pattern, Summary: a.Summary, Session: a.Session, Outside: a.Provenance.Tainted(), MaxUses: ans.Uses, Approval: a.ID,
		hash: a.hash,
	}
	switch {
	case ans.Scope == scopeSession:
		x.Pattern = ""
	case ans.Scope == scopeTask:
		x.Task = a.Event
	case x.Pattern == "":
		return fmt.Errorf("approval %s: only the identical call can be granted: %w", a.ID, ErrScope)
	}
	most := maxGrant
	if !a.Attended {
		most = maxStanding
	}
	_, err := g.addTx(tx, x, min(grantDuration(ans.For), most), ans.By)
	return err
}

func grantDuration(d time.Duration) time.Duration {
	if d <= 0 {
		return grantTime
	}
	return d
}

func (g *Guard) addTx(tx *store.Tx, x Grant, d time.Duration, by string) (Grant, error) {
	now := time.Now()
	x.ID, x.CreatedAt, x.ExpiresAt, x.State = shortID(), now, now.Add(d), "live"
	_, err := tx.Exec(`INSERT INTO grants (id, tool, args_hash, pattern, summary, name, session, event, outside, max_uses, approval, expires_at, created_at)
		VALUES (?,?,?,?,?,?,?,?,?,?,?,?,?)`, x.ID, x.Tool, x.hash, x.Pattern, x.Summary, x.Name, x.Session, x.Task, x.Outside, x.MaxUses, x.Approval,
		store.Millis(x.ExpiresAt), store.Millis(now))
	if err != nil {
		return x, fmt.Errorf("guard: store grant: %w", err)
	}
	return x, g.AuditTx(tx, Record{
		Actor: "owner", Action: "grant", Event: x.Task, Session: x.Session, Origin: by, Tool: x.Tool, Verdict: "allow", Rule: "grant " + x.ID,
		Tainted: x.Outside, Args: json.RawMessage(strconv.Quote(cmp.Or(x.Pattern, x.hash))),
	})
}

// NewGrant describes a grant that the owner creates without an approval request.
type NewGrant struct {
	Tool tools.Tool
	// Pattern or Args determines which calls the grant covers.
	Pattern string
	Args    json.RawMessage
	Session string
	Name    string
	// Outside extends the grant to calls with untrusted text in context.
	Outside bool
	For     time.Duration // default 1 hour, at most 30 days
	Uses    int
	By      string
}

// GrantTx creates a grant. Calls that destroy data or reveal a credential cannot be granted in this
// way, and a pattern must not match everything.
func (g *Guard) GrantTx(ctx context.Context, tx *store.Tx, n NewGrant) (Grant, error) {
	s := n.Tool.Spec()
	switch {
	case s.Effects&^(tools.Read|tools.Write|tools.Send|tools.Egress|tools.Exec) != 0 || s.Effects == 0:
		return Grant{}, fmt.Errorf("%s (%s): %w; each such call needs your approval", s.Name, s.Effects, ErrGrant)
	case n.Session == "":
		return Grant{}, fmt.Errorf("%w without a conversation; name one, such as cli, or watcher:ID for the actions of a watcher", ErrGrant)
	case (n.Pattern == "") == (len(n.Args) == 0):
		return Grant{}, fmt.Errorf("%w: specify either a pattern or the arguments, not both", ErrGrant)
	case n.For > maxStanding || n.For < 0 || n.Uses < 0:
		return Grant{}, fmt.Errorf("%w: the duration is limited to 30 days, and the number of uses must not be negative", ErrGrant)
	}
	x := Grant{Tool: s.Name, Pattern: n.Pattern, Name: abbreviateVisible(n.Name, 100), Session: n.Session, Outside: n.Outside, MaxUses: n.Uses}
	if n.Pattern != "" {
		if err := checkPattern(n.Pattern); err != nil {
			return Grant{}, err
		}
		x.Summary = s.Name + " " + abbreviateVisible(n.Pattern, maxSummary)
		return g.addTx(tx, x, grantDuration(n.For), n.By)
	}
	r := Request{Tool: n.Tool, Args: n.Args}
	r.judged = tools.JudgmentOf(ctx, n.Tool, n.Args)
	if r.judged.Refused != nil {
		return Grant{}, fmt.Errorf("%w: %w", ErrGrant, r.judged.Refused)
	}
	x.Summary, x.hash = callSummary(n.Tool, n.Args, ""), hashCall(s.Name, n.Args, r.judged.Exact)
	return g.addTx(tx, x, grantDuration(n.For), n.By)
}

// RevokeTx ends a grant. A call that relies on the grant and has not started does not start.
func (g *Guard) RevokeTx(tx *store.Tx, id, by string) (Grant, error) {
	x, err := scanGrant(tx.QueryRow(`UPDATE grants SET revoked_at = iif(revoked_at = 0, ?, revoked_at) WHERE id = ? RETURNING `+grantColumns, time.Now().UnixMilli(), id))
	if errors.Is(err, sql.ErrNoRows) {
		return x, fmt.Errorf("grant %q: %w", id, ErrNoGrant)
	}
	if err != nil {
		return x, fmt.Errorf("guard: revoke grants: %w", err)
	}
	if err := g.Tombstones().AddTx(tx, tombstone.Grant, id, nil); err != nil {
		return x, err
	}
	return x, g.AuditTx(tx, Record{Actor: "owner", Action: "revoke", Event: x.Task, Session: x.Session, Origin: by, Tool: x.Tool, Verdict: "deny", Rule: "grant " + x.ID})
}

// Grants lists grants, newest first. If all is set, it includes ended grants.
func (g *Guard) Grants(ctx context.Context, all bool, session string, limit int) ([]Grant, error) {
	rows, err := g.db.Read().QueryContext(ctx, `SELECT `+grantColumns+` FROM grants WHERE (? OR `+live+`) AND (? = '' OR session = ?)
		ORDER BY created_at DESC, id LIMIT ?`, all, time.Now().UnixMilli(), session, session, limit)
	if err != nil {
		return nil, fmt.Errorf("guard: read grants: %w", err)
	}
	defer rows.Close()
	out := []Grant{}
	for rows.Next() {
		x, err := scanGrant(rows)
		if err != nil {
			return nil, fmt.Errorf("guard: read grants: %w", err)
		}
		out = append(out, x)
	}
	return out, rows.Err()
}

// Text describes the grant and its duration in one line.
func (x Grant) Text(zone *time.Location) string {
	s := x.Tool + ", exactly: " + x.Summary
	if x.Pattern != "" {
		s = x.Tool + ", all of: " + abbreviateVisible(x.Pattern, maxSummary)
	}
	if x.Name != "" {
		s = x.Name + ": " + s
	}
	s += ", in " + abbreviateVisible(x.Session, 100)
	if x.Task != "" {
		s += " for one task"
	}
	s += ", until " + x.ExpiresAt.In(zone).Format("2006-01-02 15:04")
	s += ", used " + strconv.Itoa(x.Used)
	if x.MaxUses > 0 {
		s += " of " + strconv.Itoa(x.MaxUses)
	}
	if x.Outside {
		s += ", also with untrusted text in context"
	}
	return s
}
