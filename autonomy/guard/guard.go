// Package guard decides whether a tool call may run: allow, ask the owner, or
// deny. It is the one gate; every entry point (chat, API, OpenAI endpoint,
// watcher, schedule, `hob tool call`) passes it. The decision rests on what the
// tool declares, on where the text in the caller's context came from, and on
// whether the owner is there; never on what a model says.
//
// It also keeps the approvals, as durable rows bound to the call and the hash
// of its arguments, and the hash-chained audit log. It never runs a tool.
package guard

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"hob/knowledge/store"
	"hob/platform/provenance"
	"hob/platform/redact"
	"hob/tools"
)

// Level is how much Hob may do by itself.
type Level string

// The levels.
const (
	Watch      Level = "watch"      // reads only
	Supervised Level = "supervised" // the table below
	Trusted    Level = "trusted"    // as supervised; when clean, writes and listed sends without asking
)

// Narrower returns the level that allows less; "" counts as no word on it.
func (l Level) Narrower(m Level) Level {
	order := []Level{Watch, Supervised, Trusted}
	switch i, j := slices.Index(order, l), slices.Index(order, m); {
	case i < 0 && l == "":
		return m
	case j < 0 && m == "" || i <= j:
		return l
	}
	return m
}

// Verdict is the outcome of a decision.
type Verdict uint8

// The verdicts. The zero value denies.
const (
	Deny Verdict = iota
	Ask
	Allow
)

func (v Verdict) String() string { return [...]string{"deny", "ask", "allow"}[v] }

// Request is one call before the gate.
type Request struct {
	Tool tools.Tool
	Args json.RawMessage
	// Call is the call's durable id.
	Call, Event, Session string
	// Attended: the owner asked for this in a conversation and can answer now.
	Attended bool
	// Tainted: outside text is in the context of the model call, or had a part
	// in what caused it.
	Tainted bool
	// Origins are from where that text came, for what the owner is shown; the
	// decision rests on Tainted alone.
	Origins []provenance.Origin
	// Guest: somebody who is not the owner asks, and is told what comes of it.
	Guest bool
	// Within bounds how long a question may stay open, for a turn that is held in
	// memory meanwhile; 0 leaves it to the guard.
	Within time.Duration
	// Level, when it is narrower than the guard's own, holds instead.
	Level Level
	// Seen says what an egress is measured by; it is called for those alone. nil:
	// nothing was seen.
	Seen func() Seen
	// Made is how many things the same tool has changed in this turn. When the
	// owner was asked about that, he Agreed to go on, or Refused.
	Made            int
	Agreed, Refused bool
	// Channel and Person are where the words came from that are answered, and
	// whose they are ("owner", or "channel:sender"); Agent is who calls.
	Channel, Person, Agent string
	// Doubt says why the owner has to be asked for effects that would be allowed;
	// nil, or "": he need not be.
	Doubt func(e tools.Effects) string
	// Origin names the entry point in the audit log: "chat", "api", "openai",
	// "watcher", "schedule", "tool", ...
	Origin string

	judged tools.Judgement
}

// effects are what this call would cause.
func (r *Request) effects() tools.Effects { return cmp.Or(r.judged.Effects, r.Tool.Spec().Effects) }

// Decision is what the gate says, and why.
type Decision struct {
	Verdict Verdict    `json:"-"`
	Rule    string     `json:"rule"`   // the row of the table, or the approval
	Reason  string     `json:"reason"` // for the owner
	Code    tools.Code `json:"code,omitempty"`
	// Approval is set when an answer decided, or is awaited.
	Approval string `json:"approval,omitempty"`
	// Grant is set when a grant decided; it is used up with UseTx.
	Grant string `json:"grant,omitempty"`
	// Judgement is what the call would really do (see tools.Judge).
	Judgement tools.Judgement `json:"-"`
}

// Options of New.
type Options struct {
	Level Level // default Supervised
	// Live is how long an attended question waits (default 5 minutes), Queued
	// an unattended one (default 7 days).
	Live, Queued time.Duration
	// Hosts are those that may be contacted when the owner asks for it, by their
	// whole name or as "*.name"; empty: none.
	Hosts []string
	// Research: unattended turns may search, and open addresses as they stand in
	// search results and on pages.
	Research bool
	// Recipients are those whom Hob may write to without asking, at the level
	// trusted, in the form of tools.Judgement.To; empty: nobody.
	Recipients []string
	// Secrets are those of this process: a call that would carry one out is
	// refused. Nil knows none.
	Secrets *redact.Set
	// Rules are the owner's own; nil: there are none.
	Rules Rules
	// Zone is the owner's, for rules about the time; default UTC.
	Zone func() *time.Location
	// AuditKey keys the chain of the audit log and its digests, 32 bytes, kept
	// apart from the database. Nil: the chain has no key, and shows accidents but
	// no forgery.
	AuditKey []byte
	// Anchor is the file in which the log's last line is noted now and then, so
	// that a log which lost its end is noticed; "" notes none.
	Anchor string
}

// Guard is the gate. Its methods may be called concurrently.
type Guard struct {
	db  *store.Store
	opt Options

	mu      sync.Mutex
	key     []byte                     // of the audit log's digests
	chain   []byte                     // of its chain; nil has no key
	foreign bool                       // the log was written under another one
	waiting map[string][]chan struct{} // see Wait; by question
}

// New makes the gate over a store opened with Migrations.
func New(db *store.Store, opt Options) (*Guard, error) {
	switch opt.Level {
	case "":
		opt.Level = Supervised
	case Watch, Supervised, Trusted:
	default:
		return nil, fmt.Errorf("guard: unknown level %q; use watch, supervised or trusted", opt.Level)
	}
	if opt.Live <= 0 {
		opt.Live = 5 * time.Minute
	}
	if opt.Queued <= 0 {
		opt.Queued = 7 * 24 * time.Hour
	}
	if opt.Zone == nil {
		opt.Zone = func() *time.Location { return time.UTC }
	}
	return &Guard{db: db, opt: opt}, nil
}

// Level returns how much Hob may do by itself.
func (g *Guard) Level() Level { return g.opt.Level }

// Migrations of the guard's tables.
func Migrations() store.Set {
	return store.Set{Owner: "guard", Steps: []string{`
CREATE TABLE approvals (
	id TEXT PRIMARY KEY, event TEXT NOT NULL, session TEXT NOT NULL, call TEXT NOT NULL UNIQUE,
	tool TEXT NOT NULL, args BLOB NOT NULL, args_hash TEXT NOT NULL, summary TEXT NOT NULL,
	reason TEXT NOT NULL, provenance TEXT NOT NULL, attended INTEGER NOT NULL,
	state TEXT NOT NULL, scope TEXT NOT NULL DEFAULT '', note TEXT NOT NULL DEFAULT '', decided_by TEXT NOT NULL DEFAULT '',
	created_at INTEGER NOT NULL, expires_at INTEGER NOT NULL, decided_at INTEGER NOT NULL DEFAULT 0) WITHOUT ROWID;
CREATE INDEX approvals_pending ON approvals(session, created_at) WHERE state = 'pending';
CREATE TABLE grants (
	id TEXT PRIMARY KEY, tool TEXT NOT NULL, args_hash TEXT NOT NULL, session TEXT NOT NULL,
	expires_at INTEGER NOT NULL, created_at INTEGER NOT NULL, used INTEGER NOT NULL DEFAULT 0) WITHOUT ROWID;
CREATE INDEX grants_tool ON grants(tool, session);
CREATE TABLE audit (
	seq INTEGER PRIMARY KEY AUTOINCREMENT, at INTEGER NOT NULL, actor TEXT NOT NULL, action TEXT NOT NULL,
	event TEXT NOT NULL, session TEXT NOT NULL, origin TEXT NOT NULL, tool TEXT NOT NULL, call TEXT NOT NULL,
	effects TEXT NOT NULL, verdict TEXT NOT NULL, rule TEXT NOT NULL, tainted INTEGER NOT NULL,
	outcome TEXT NOT NULL, args_digest TEXT NOT NULL, prev TEXT NOT NULL, hash TEXT NOT NULL);
CREATE TABLE guard_key (id INTEGER PRIMARY KEY CHECK (id = 1), key BLOB NOT NULL);
`, grantSteps, auditSteps, beforehandStep}}
}

// Hash binds an approval to the exact arguments. The order of keys and white
// space make no difference; numbers count as they are written, since large ones
// that differ may be equal as floating point.
func Hash(tool string, args json.RawMessage) string { return hash(tool, args, "") }

// hash also binds to what really would run (see tools.Judgement.Exact).
func hash(tool string, args json.RawMessage, exact string) string {
	var v any
	canonical := []byte(args)
	dec := json.NewDecoder(bytes.NewReader(args))
	dec.UseNumber()
	if dec.Decode(&v) == nil && !dec.More() {
		if b, err := json.Marshal(v); err == nil { // sorted keys, no white space
			canonical = b
		}
	}
	h := sha256.New()
	fmt.Fprintf(h, "%d:%s", len(tool), tool)
	h.Write(canonical)
	if exact != "" {
		fmt.Fprintf(h, "\x00%s", exact)
	}
	return hex.EncodeToString(h.Sum(nil))
}

// Decide passes a call through the gate. What the table denies stays denied;
// then an answered approval of this very call and these very arguments counts,
// then a grant.
func (g *Guard) Decide(ctx context.Context, r Request) (Decision, error) {
	if r.Tool == nil || r.Tool.Spec().Effects == 0 {
		return Decision{Verdict: Deny, Rule: "no effects declared", Reason: "the tool does not say what it does", Code: tools.PolicyDenied}, nil
	}
	asked := tools.WithAsked(ctx, func() string {
		if r.Call == "" {
			return ""
		}
		a, err := g.byCall(ctx, r.Call)
		if err != nil { // there is none, or g.answered tells of it
			return ""
		}
		return a.Exact
	})
	r.judged = tools.JudgementOf(tools.WithAsking(asked, r.Event), r.Tool, r.Args)
	d, err := g.decide(ctx, r)
	d.Judgement = r.judged
	return d, err
}

func (g *Guard) decide(ctx context.Context, r Request) (Decision, error) {
	if err := r.judged.Refused; err != nil {
		return Decision{Verdict: Deny, Rule: "refused", Reason: err.Error(), Code: cmp.Or(tools.CodeOf(err), tools.PolicyDenied)}, nil
	}
	if d, held := g.held(r); held {
		return d, nil
	}
	d := doubted(r, g.table(r))
	if d.Verdict == Deny {
		return d, nil
	}
	many := d.Rule == BatchRule
	d, own := g.ruled(ctx, r, d)
	if d.Verdict == Deny {
		return d, nil
	}
	if a, ok, err := g.answered(ctx, r); err != nil || ok {
		if many {
			a.Rule += BatchMark
		}
		return a, err
	}
	switch {
	case d.Verdict != Ask || many: // what was granted one by one is no word on a batch
		return d, nil
	case own: // nor on what the owner wants to be asked every time
		return g.again(ctx, r, d)
	}
	granted, err := g.granted(ctx, r)
	if err != nil {
		return Decision{Verdict: Deny, Rule: "grants unreadable", Reason: err.Error(), Code: tools.PolicyDenied}, err
	}
	if granted != "" {
		return Decision{Verdict: Allow, Rule: "grant " + granted, Grant: granted, Reason: "you allowed this beforehand (grant " + granted + ")"}, nil
	}
	return g.again(ctx, r, d)
}

// again answers for the owner what he was asked in this very turn and denied:
// the same question twice in a row teaches him to say yes.
func (g *Guard) again(ctx context.Context, r Request, d Decision) (Decision, error) {
	var id, note string
	err := g.db.Read().QueryRowContext(ctx, `SELECT id, note FROM approvals WHERE event = ? AND tool = ? AND args_hash = ? AND state = 'denied' ORDER BY decided_at DESC LIMIT 1`,
		r.Event, r.Tool.Spec().Name, hash(r.Tool.Spec().Name, r.Args, r.judged.Exact)).Scan(&id, &note)
	switch {
	case errors.Is(err, sql.ErrNoRows):
		return d, nil
	case err != nil:
		return Decision{Verdict: Deny, Code: tools.PolicyDenied, Rule: "approvals unreadable", Reason: err.Error()}, err
	}
	reason := "you said no to exactly this a moment ago"
	if note != "" {
		reason += ": " + note
	}
	return Decision{Verdict: Deny, Rule: "approval " + id, Code: tools.DeniedByOwner, Reason: reason}, nil
}

func (g *Guard) answered(ctx context.Context, r Request) (Decision, bool, error) {
	a, err := g.byCall(ctx, r.Call)
	if errors.Is(err, sql.ErrNoRows) {
		return Decision{}, false, nil
	}
	if err != nil {
		return Decision{Verdict: Deny, Code: tools.PolicyDenied, Rule: "approvals unreadable", Reason: err.Error()}, false, err
	}
	if a.hash != hash(a.Tool, r.Args, r.judged.Exact) || a.Tool != r.Tool.Spec().Name {
		return Decision{Verdict: Deny, Rule: "approval " + a.ID, Reason: "the call differs from the one that was shown to you", Code: tools.PolicyDenied, Approval: a.ID}, true, nil
	}
	d := Decision{Rule: "approval " + a.ID, Approval: a.ID}
	switch a.State {
	case Approved:
		d.Verdict, d.Reason = Allow, "you approved this call"
	case Denied:
		d.Verdict, d.Code, d.Reason = Deny, tools.DeniedByOwner, "you said no"
		if a.Note != "" {
			d.Reason += ": " + a.Note
		}
	case Cancelled:
		d.Verdict, d.Code, d.Reason = Deny, tools.Cancelled, "the turn was stopped"
	case TimedOut:
		d.Verdict, d.Code, d.Reason = Deny, tools.ApprovalTimeout, "nobody answered the question in time"
	default:
		d.Verdict, d.Reason = Ask, a.Reason
		if !time.Now().Before(a.ExpiresAt) {
			d.Verdict, d.Code, d.Reason = Deny, tools.ApprovalTimeout, "nobody answered the question in time"
		}
	}
	return d, true, nil
}
