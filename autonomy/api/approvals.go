package api

import (
	"context"
	"encoding/json"
	"io"
	"time"

	"hob/platform/provenance"
)

// Approvals manages the approval requests to the user, and the grants.
type Approvals interface {
	// Approvals lists the approval requests. Query.Of filters by session, Query.State by state,
	// and Query.Before starts after a request.
	Approvals(ctx context.Context, q Query) ([]Approval, error)
	// Answer decides an approval request. The first answer decides; for any later one Answer
	// returns ErrConflict. The id of a batch decides all open requests in the batch.
	Answer(ctx context.Context, id string, a Answer) (Decision, error)
	// Grants lists the active grants, and with Query.All also ended ones. Query.Of filters by
	// session.
	Grants(ctx context.Context, q Query) ([]Grant, error)
	// Grant creates a grant without a pending request. Revoke ends a grant. by names the auth
	// method.
	Grant(ctx context.Context, g NewGrant) (Grant, error)
	Revoke(ctx context.Context, grant, by string) (Grant, error)
}

// Answer is the decision on an approval request.
type Answer struct {
	Approved bool   `json:"approved"`
	Scope    string `json:"scope,omitempty"`   // "once" (default), "session", "task" or "pattern"
	Expires  string `json:"expires,omitempty"` // a duration such as "1h"; not allowed for the scope once
	Uses     int    `json:"uses,omitempty"`    // maximum number of uses; 0 means no limit
	Note     string `json:"note,omitempty"`
	// Beforehand names the turn (by its event) for which the user approved everything in advance.
	// Answer returns ErrDenied if that approval does not cover the request.
	Beforehand string `json:"beforehand,omitempty"`
	By         string `json:"-"` // the auth method used for the answer
}

// Decision is the result of an answer. On the wire it is one Approval, or a list of them for a
// batch.
type Decision struct {
	Batch     bool
	Approvals []Approval
}

// NewGrant describes a grant that the user creates without a pending request.
type NewGrant struct {
	Tool      string          `json:"tool"`
	Pattern   string          `json:"pattern,omitempty"`                        // the pattern of the granted calls, such as "git status *", to:ADDRESS, host:NAME, below:/PATH
	Arguments json.RawMessage `json:"arguments,omitempty" schema:"type=object"` // or the exact arguments of the granted calls
	Session   string          `json:"session"`                                  // the session to which the grant applies; watcher:ID for a watcher
	Name      string          `json:"name,omitempty"`
	Outside   bool            `json:"outside,omitempty"` // whether the grant also applies with untrusted text in context
	Expires   string          `json:"expires,omitempty"` // a duration, at most 30d (default "1h")
	Uses      int             `json:"uses,omitempty"`    // maximum number of uses; 0 means no limit
	By        string          `json:"-"`
}

// Approval is a request to approve one call, bound to the hash of the call's arguments.
// Approvals.Answer accepts its ID or its Batch.
type Approval struct {
	ID        string          `json:"id"`
	Event     string          `json:"event"`
	Session   string          `json:"session"`
	Call      string          `json:"call"`
	Tool      string          `json:"tool"`
	Arguments json.RawMessage `json:"arguments"`
	Summary   string          `json:"summary"`
	// Source names the source of the request: a watcher, a schedule, a trigger or a conversation;
	// "" for requests from older versions of Hob.
	Source string `json:"source,omitempty"`
	Reason string `json:"reason"`
	// Rule names the row of the decision table that requires the approval.
	Rule string `json:"rule,omitempty"`
	// Why describes the actual effect of the call. Exact describes what would run, unless the
	// arguments already show it. Both contain only visible characters.
	Why   string `json:"why,omitempty"`
	Exact string `json:"exact,omitempty"`
	// Effects lists the effects of the call, joined with "+": read, write, send, egress, exec,
	// destroy, secret.
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
	State      string            `json:"state" schema:"enum=pending|approved|denied|timeout|cancelled"`
	Scope      string            `json:"scope,omitempty"`
	Note       string            `json:"note,omitempty"`
	DecidedBy  string            `json:"decided_by,omitempty"`
	CreatedAt  time.Time         `json:"created_at"`
	ExpiresAt  time.Time         `json:"expires_at"`
	DecidedAt  time.Time         `json:"decided_at,omitzero"`
}

// Grant is the owner's approval of further calls to one tool. It covers calls with identical
// arguments or calls that match a pattern, in one conversation or task, until it expires. A grant
// never covers everything that a tool can do.
type Grant struct {
	ID   string `json:"id"`
	Tool string `json:"tool"`
	// Pattern is the covered pattern, or "" for identical arguments.
	Pattern string `json:"pattern,omitempty"`
	// Summary describes the granted calls. Name is the owner's name for the grant.
	Summary string `json:"summary,omitempty"`
	Name    string `json:"name,omitempty"`
	Session string `json:"session"`
	// Task is the event to which the grant is limited, or "" for the entire conversation.
	Task string `json:"task,omitempty"`
	// Outside reports whether the grant also covers calls with untrusted text in context, because
	// the user saw such a call or requested this.
	Outside   bool      `json:"outside"`
	Used      int       `json:"used"`
	MaxUses   int       `json:"max_uses,omitempty"`
	State     string    `json:"state" schema:"enum=live|revoked|expired|used up"`
	Approval  string    `json:"approval,omitempty"`
	CreatedAt time.Time `json:"created_at"`
	ExpiresAt time.Time `json:"expires_at"`
	LastUsed  time.Time `json:"last_used,omitzero"`
	RevokedAt time.Time `json:"revoked_at,omitzero"`
}

// TrustRecord names what the user trusted.
type TrustRecord struct {
	Kind  string        `json:"kind" schema:"enum=hook|skill"`
	Items []TrustedItem `json:"items"` // at most 100 items
	// Added is true if the items are skills that were just added. Their addition can be undone.
	Added bool `json:"added,omitempty"`
	// Untrusted is true if the added skills are not trusted, because the scan found something.
	Untrusted bool `json:"untrusted,omitempty"`
}

// TrustedItem is a program or a skill, with the digest of its content.
type TrustedItem struct {
	Name   string `json:"name"`
	Digest string `json:"digest"`
}

// Audit gives access to the audit log.
type Audit interface {
	Audit(ctx context.Context, q AuditQuery) ([]AuditRecord, error)
	// AuditLine returns the details of one line.
	AuditLine(ctx context.Context, seq int64) (AuditLine, error)
	// AuditVerify checks the complete log. It returns ErrConflict if the log was altered.
	AuditVerify(ctx context.Context) (AuditHead, error)
	// RecordTrust records that the user trusted programs of hooks, or skills. The commands store
	// the trust itself in files, so that they also work while a hook stops every turn.
	RecordTrust(ctx context.Context, t TrustRecord) (TrustRecord, error)
	// AuditExport writes a time range as "jsonl" or "csv". If the request is invalid, it returns an
	// error before it writes anything.
	AuditExport(ctx context.Context, w io.Writer, format string, since, until time.Time) error
}

// AuditQuery filters the audit log. The zero value selects the whole log.
type AuditQuery struct {
	Event, Session, Tool, Actor, Action, Verdict, Outcome, Call string
	Since, Until                                                time.Time
	Before                                                      int64
	Tainted                                                     bool
	Limit                                                       int
}

// AuditRecord is one line of the audit log. It contains text only in the form of keyed digests.
type AuditRecord struct {
	Seq     int64     `json:"seq"`
	At      time.Time `json:"at"`
	Actor   string    `json:"actor"`  // "hob" or "owner"
	Action  string    `json:"action"` // "call", "answer", "undo" or "stop"
	Event   string    `json:"event"`
	Session string    `json:"session"`
	Origin  string    `json:"origin"` // entry point of the action
	Tool    string    `json:"tool"`
	Call    string    `json:"call"`
	Effects string    `json:"effects"`
	Verdict string    `json:"verdict"`
	Rule    string    `json:"rule"`
	Tainted bool      `json:"tainted"`
	Outcome string    `json:"outcome"` // "started", "done" or a typed error code
	Digest  string    `json:"args_digest"`
	// From holds the kind of each origin together with a keyed digest of the origin's label.
	From string `json:"from,omitempty"`
	// Chain is the type of Hash: 0 means a plain SHA-256, which was used before a key existed; 1
	// means an HMAC with the home's audit key.
	Chain int    `json:"chain,omitempty"`
	Prev  string `json:"prev"`
	Hash  string `json:"hash"`
}

// AuditLine is one line of the audit log with its context: the actor, the authority, the untrusted
// text and the call.
type AuditLine struct {
	AuditRecord

	// Approval is the approval request that decided the call, if any.
	Approval *Approval `json:"approval,omitempty"`
	// Texts lists the stored origins of the untrusted text in context.
	Texts []provenance.Origin `json:"texts,omitempty"`
	// What describes the call, if the call is still stored.
	What string `json:"what,omitempty"`
	Text string `json:"text"` // the complete explanation as text
}

// AuditHead describes the end of the log.
type AuditHead struct {
	Lines int64  `json:"lines"`
	Hash  string `json:"head"`
	// Unkeyed is the number of lines written before a key existed.
	Unkeyed int64 `json:"unkeyed,omitempty"`
	// Restores lists the restores of a backup, each with the end of the log that it replaced.
	Restores []AuditRestore `json:"restores,omitempty"`
}

// AuditRestore is an audit line that records a restore.
type AuditRestore struct {
	Line          int64     `json:"line"`
	At            time.Time `json:"at"`
	Snapshot      string    `json:"snapshot"`
	ReplacedLines int64     `json:"replaced_lines"` // number of lines before the restore; 0 if unknown
	ReplacedHead  string    `json:"replaced_head"`
}
