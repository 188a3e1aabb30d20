// Package guard decides whether a tool call may run: allow, ask the owner, or deny. Every entry
// point calls it: chat, API, OpenAI endpoint, watcher, schedule and `hob tool call`. The decision
// depends on what the tool declares, where the text in the caller's context came from, and whether
// the owner is present. It never depends on the output of a model.
//
// The package also stores the approval requests, as rows bound to the call and the hash of its
// arguments, and the hash-chained audit log. It never runs a tool.
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
	"log/slog"
	"slices"
	"sync"
	"time"

	"hob/platform/provenance"
	"hob/platform/store"
	"hob/platform/store/lease"
	"hob/platform/store/tombstone"
	"hob/platform/text/redact"
	"hob/tools"
)

// Level is the autonomy level: how much Hob may do without asking.
type Level string

// Autonomy levels.
const (
	Watch      Level = "watch"      // allows only reading
	Supervised Level = "supervised" // the decision table in docs/guard.md
	Trusted    Level = "trusted"    // if there is no untrusted text, also allows unattended changes, and messages to Recipients
)

// Narrower returns the more restrictive of the two levels. An empty level sets no limit.
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

// The verdicts. The zero value is invalid and denies.
const (
	Deny Verdict = iota
	Ask
	Allow
)

func (v Verdict) String() string { return [...]string{"deny", "ask", "allow"}[v] }

// Request is one call that the guard decides on.
type Request struct {
	Tool tools.Tool
	Args json.RawMessage
	// Call is the call's durable id.
	Call, Event, Session string
	// Attended reports whether the owner asked for this in a conversation and can answer now.
	Attended bool
	// Tainted reports whether untrusted text is in the context of the model call, or influenced its
	// cause.
	Tainted bool
	// Origins lists the sources of the untrusted text, for display to the owner. The decision
	// depends only on Tainted.
	Origins []provenance.Origin
	// Guest reports whether another person requested the call and sees its result.
	Guest bool
	// Client reports whether an external program makes the call, with a tool that the owner allowed
	// it to call.
	Client bool
	// Within limits how long an approval request may stay open, for a turn that waits in memory. 0
	// means the guard's default.
	Within time.Duration
	// Level replaces the guard's level if it is more restrictive.
	Level Level
	// Seen returns the evidence for an egress decision. Only egress calls need it. Nil means that
	// there is no evidence.
	Seen func() EgressEvidence
	// Made is the number of items that the same tool has changed in this turn. Agreed or Refused
	// reports the owner's answer to a request about them.
	Made            int
	Agreed, Refused bool
	// Channel is the channel of the message that the turn answers, and Person the message's author
	// ("owner", or "channel:sender"). Agent is the calling agent.
	Channel, Person, Agent string
	// Doubt returns why effects that would be allowed need approval, or "" if they do not. It may
	// be nil.
	Doubt func(e tools.Effects) string
	// Source names the origin of the turn for display: a watcher, a trigger or a conversation.
	Source string
	// Origin names the entry point for the audit log, for example "chat", "api", "openai",
	// "watcher", "schedule" or "tool".
	Origin string

	judged tools.CallAssessment
	// sent holds the texts in the arguments that a remote tool's service would receive. It is set
	// only for a read that counts as an egress of its arguments.
	sent []string
}

// callEffects returns the possible effects of this call.
func (r *Request) callEffects() tools.Effects { return cmp.Or(r.judged.Effects, r.Tool.Spec().Effects) }

// Decision is the guard's verdict and its reason.
type Decision struct {
	Verdict Verdict    `json:"-"`
	Rule    string     `json:"rule"`   // row of the decision table, or the approval
	Reason  string     `json:"reason"` // reason to show to the owner
	Code    tools.Code `json:"code,omitempty"`
	// Approval is the id of an approval request whose answer decided or is awaited.
	Approval string `json:"approval,omitempty"`
	// Grant is set if a grant decided. UseTx records the use of the grant.
	Grant string `json:"grant,omitempty"`
	// Judgment describes the actual effect of the call (see tools.CallAssessor).
	Judgment tools.CallAssessment `json:"-"`
}

// Options holds the options of New.
type Options struct {
	Level Level // default Supervised
	// Live is how long an attended approval request stays open (default 5 minutes), and Queued how
	// long an unattended one does (default 7 days).
	Live, Queued time.Duration
	// Hosts lists the hosts in [network] allow_hosts, each as a full name or as "*.name". In a turn
	// without untrusted text, attended or not, requests to them need no approval, even if the owner
	// did not name them. An address with an opaque string still needs approval. Empty means that
	// there are no such hosts.
	Hosts []string
	// Research allows unattended turns to search the web, to open unchanged addresses from search
	// results and pages, and to create files that nothing runs in the folder reserved for them.
	Research bool
	// Recipients lists the recipients who may be written to without approval at the level trusted,
	// in the form of tools.CallAssessment.To. Empty means that there are none.
	Recipients []string
	// Secrets holds the secrets of this process. The guard denies a call that would reveal one of
	// them. Nil means that there are none.
	Secrets *redact.Set
	// Rules holds the owner's rules. Nil means that there are none.
	Rules Rules
	// Zone returns the owner's time zone, for rules about the time. The default is UTC.
	Zone func() *time.Location
	// AuditKey is the 32-byte key that authenticates the lines of the audit log and keys its
	// digests. It is stored outside the database. If it is nil, the hash chain detects accidental
	// changes but not forgery.
	AuditKey []byte
	// Anchor is the path of a file that stores the last line of the log at intervals, so that a
	// truncated log is detected. "" disables it.
	Anchor string
	// Tombstones is the file of revocations and erasures, which no backup contains; see package
	// tombstone. "" disables it. It needs AuditKey.
	Tombstones string
	// Lease is the membership of this process in a fleet, whose other instances also answer approval
	// requests. Nil means that this is the only process.
	Lease *lease.Member
	Log   *slog.Logger // nil discards all messages
}

// Guard decides on tool calls. Its methods may be called concurrently.
type Guard struct {
	db  *store.Store
	opt Options

	mu         sync.Mutex
	key        []byte                     // key for the digests in the audit log
	master     []byte                     // key of the log, from which the others are derived; nil means no key
	chain      []byte                     // key of the audit chain; nil means no key
	foreign    bool                       // whether the log was written with a different key
	waiting    map[string][]chan struct{} // keyed by request id; see Wait
	tombstones *tombstone.Log
	altered    error // set if the file of revocations was changed
}

// New creates a Guard over a store opened with Migrations.
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
	g := &Guard{db: db, opt: opt}
	opt.Lease.Follow(func() { g.notifyWaiters("") }, "approvals")
	return g, nil
}

// Level returns the configured autonomy level.
func (g *Guard) Level() Level { return g.opt.Level }

// Migrations returns the package's tables.
func Migrations() store.MigrationSet {
	return store.MigrationSet{Owner: "guard", Steps: []string{`
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
`, grantSteps, auditSteps, beforehandStep, sourceStep, tombstone.Table}}
}

// HashArguments returns a hash that binds an approval to the exact arguments. Key order and white
// space do not affect it. Numbers are compared as written, because different large numbers may be
// equal as floating point values.
func HashArguments(tool string, args json.RawMessage) string { return hashCall(tool, args, "") }

// hashCall is like HashArguments, but also includes the command that would actually run (see
// tools.CallAssessment.Exact).
func hashCall(tool string, args json.RawMessage, exact string) string {
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

// Decide checks a call against the policy. A call that the table denies stays denied. Otherwise an
// answered approval of the same call and arguments applies, and then a grant.
func (g *Guard) Decide(ctx context.Context, r Request) (Decision, error) {
	if r.Tool == nil || r.Tool.Spec().Effects == 0 {
		return Decision{Verdict: Deny, Rule: "no effects declared", Reason: "the tool declares no effects", Code: tools.PolicyDenied}, nil
	}
	asked := tools.WithAsked(ctx, func() string {
		if r.Call == "" {
			return ""
		}
		a, err := g.byCall(ctx, r.Call)
		if err != nil { // there is no answer, or decideAnswered reports the error
			return ""
		}
		return a.Exact
	})
	r.judged = tools.JudgmentOf(tools.WithAsking(asked, r.Event), r.Tool, r.Args)
	r.assessRemote()
	d, err := g.decideCall(ctx, r)
	d.Judgment = r.judged
	return d, err
}

func (g *Guard) decideCall(ctx context.Context, r Request) (Decision, error) {
	if err := r.judged.Refused; err != nil {
		return Decision{Verdict: Deny, Rule: "refused", Reason: err.Error(), Code: cmp.Or(tools.CodeOf(err), tools.PolicyDenied)}, nil
	}
	if d, held := g.denySecret(r); held {
		return d, nil
	}
	d := askIfDoubted(r, g.applyTable(r))
	if d.Verdict == Deny {
		return d, nil
	}
	many := d.Rule == BatchRule
	d, own := g.applyRules(ctx, r, d)
	if d.Verdict == Deny {
		return d, nil
	}
	if a, ok, err := g.decideAnswered(ctx, r); err != nil || ok {
		if many {
			a.Rule += BatchMark
		}
		return a, err
	}
	switch {
	case d.Verdict != Ask || many: // grants for single calls do not cover a batch
		return d, nil
	case own: // except for the owner's rules that always require approval
		return g.denyRepeated(ctx, r, d)
	}
	granted, err := g.findGrant(ctx, r)
	if err != nil {
		return Decision{Verdict: Deny, Rule: "grants unreadable", Reason: err.Error(), Code: tools.PolicyDenied}, err
	}
	if granted != "" {
		return Decision{Verdict: Allow, Rule: "grant " + granted, Grant: granted, Reason: "you allowed this beforehand (grant " + granted + ")"}, nil
	}
	return g.denyRepeated(ctx, r, d)
}

// denyRepeated denies a call that the owner already denied in this turn, because repeated requests
// teach people to approve without reading.
func (g *Guard) denyRepeated(ctx context.Context, r Request, d Decision) (Decision, error) {
	var id, note string
	err := g.db.Read().QueryRowContext(ctx, `SELECT id, note FROM approvals WHERE event = ? AND tool = ? AND args_hash = ? AND state = 'denied' ORDER BY decided_at DESC LIMIT 1`,
		r.Event, r.Tool.Spec().Name, hashCall(r.Tool.Spec().Name, r.Args, r.judged.Exact)).Scan(&id, &note)
	switch {
	case errors.Is(err, sql.ErrNoRows):
		return d, nil
	case err != nil:
		return Decision{Verdict: Deny, Code: tools.PolicyDenied, Rule: "approvals unreadable", Reason: err.Error()}, err
	}
	reason := "you have already denied exactly this call in this turn"
	if note != "" {
		reason += ": " + note
	}
	return Decision{Verdict: Deny, Rule: "approval " + id, Code: tools.DeniedByOwner, Reason: reason}, nil
}

func (g *Guard) decideAnswered(ctx context.Context, r Request) (Decision, bool, error) {
	a, err := g.byCall(ctx, r.Call)
	if errors.Is(err, sql.ErrNoRows) {
		return Decision{}, false, nil
	}
	if err != nil {
		return Decision{Verdict: Deny, Code: tools.PolicyDenied, Rule: "approvals unreadable", Reason: err.Error()}, false, err
	}
	if a.State == Cancelled { // checked before the hash, which an erasure may have removed
		return Decision{Verdict: Deny, Rule: "approval " + a.ID, Reason: "the turn was stopped, or the text of the approval request was deleted", Code: tools.Cancelled, Approval: a.ID}, true, nil
	}
	if a.hash != hashCall(a.Tool, r.Args, r.judged.Exact) || a.Tool != r.Tool.Spec().Name {
		return Decision{Verdict: Deny, Rule: "approval " + a.ID, Reason: "the call differs from the call shown to you", Code: tools.PolicyDenied, Approval: a.ID}, true, nil
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
	case TimedOut:
		d.Verdict, d.Code, d.Reason = Deny, tools.ApprovalTimeout, "the approval request was not answered in time"
	default:
		d.Verdict, d.Reason = Ask, a.Reason
		if !time.Now().Before(a.ExpiresAt) {
			d.Verdict, d.Code, d.Reason = Deny, tools.ApprovalTimeout, "the approval request was not answered in time"
		}
	}
	return d, true, nil
}
