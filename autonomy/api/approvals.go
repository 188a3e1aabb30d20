package api

import (
	"context"
	"encoding/json"
	"io"
	"time"

	"hob/platform/provenance"
)

// Approvals are the requests to the user, and the grants.
type Approvals interface {
	// Approvals lists the requests. Query.Of is a session, Query.State a state.
	Approvals(ctx context.Context, q Query) ([]Approval, error)
	// Answer decides a request; the first answer wins, a second one is ErrConflict. The id of a
	// batch decides all its open requests.
	Answer(ctx context.Context, id string, a Answer) (Decision, error)
	// Grants lists the live grants; with Query.All also ended ones. Query.Of is a session.
	Grants(ctx context.Context, q Query) ([]Grant, error)
	// Grant creates a grant without a pending request; Revoke ends one. by is the auth method.
	Grant(ctx context.Context, g NewGrant) (Grant, error)
	Revoke(ctx context.Context, grant, by string) (Grant, error)
}

// Answer is the decision on a request.
type Answer struct {
	Approved bool   `json:"approved"`
	Scope    string `json:"scope,omitempty"`   // "once" (default), "session", "task", "pattern"
	Expires  string `json:"expires,omitempty"` // a duration such as "1h", unless once
	Uses     int    `json:"uses,omitempty"`    // maximum number of uses; 0 = no limit
	Note     string `json:"note,omitempty"`
	// Beforehand names the turn (its event) for which the user approved everything in advance.
	// Answer returns ErrDenied if that approval does not cover the question.
	Beforehand string `json:"beforehand,omitempty"`
	By         string `json:"-"` // the auth method that answered
}

// Decision is the result of an answer. On the wire it is one Approval, or for a batch a list.
type Decision struct {
	Batch     bool
	Approvals []Approval
}

// NewGrant is a grant that the user creates without a pending request.
type NewGrant struct {
	Tool      string          `json:"tool"`
	Pattern   string          `json:"pattern,omitempty"`                        // the pattern of the granted calls, such as "git status *", to:ADDRESS, host:NAME, below:/PATH
	Arguments json.RawMessage `json:"arguments,omitempty" schema:"type=object"` // or the exact arguments of the granted calls
	Session   string          `json:"session"`                                  // the session it applies to; watcher:ID for a watcher
	Name      string          `json:"name,omitempty"`
	Outside   bool            `json:"outside,omitempty"` // also with untrusted text in context
	Expires   string          `json:"expires,omitempty"` // a duration, at most 30d: "1h" (default)
	Uses      int             `json:"uses,omitempty"`    // maximum number of uses; 0 means no limit
	By        string          `json:"-"`
}

// Approval is one question to the owner, bound to one call and the hash of its arguments.
// Approvals.Answer takes its ID or its Batch.
type Approval struct {
	ID        string          `json:"id"`
	Event     string          `json:"event"`
	Session   string          `json:"session"`
	Call      string          `json:"call"`
	Tool      string          `json:"tool"`
	Arguments json.RawMessage `json:"arguments"`
	Summary   string          `json:"summary"`
	Reason    string          `json:"reason"`
	// Rule names the row of the decision table that requires the question.
	Rule string `json:"rule,omitempty"`
	// Why describes the actual effect of the call. Exact describes what would run, as far as the
	// arguments do not show it. Both contain only visible characters.
	Why   string `json:"why,omitempty"`
	Exact string `json:"exact,omitempty"`
	// Effects of the call, joined with "+": read, write, send, egress, exec, destroy, secret.
	Effects string `json:"effects,omitempty"`
	// Origins are the sources of the untrusted text in context, if any.
	Origins []provenance.Origin `json:"origins,omitempty"`
	// Pattern is what a grant with the scope "pattern" would cover; "" if only identical
	// arguments can be granted.
	Pattern string `json:"pattern,omitempty"`
	// Batch is shared by similar questions of one answer; "" for a single one. A batch never
	// grows.
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

// Grant is the owner's approval of further calls of one tool: with identical arguments, or
// matching a pattern, in one conversation or task, until a time. A grant never covers
// everything that a tool can do.
type Grant struct {
	ID   string `json:"id"`
	Tool string `json:"tool"`
	// Pattern is the covered pattern, "" for identical arguments.
	Pattern string `json:"pattern,omitempty"`
	// Summary describes the granted calls, Name is the owner's name for the grant.
	Summary string `json:"summary,omitempty"`
	Name    string `json:"name,omitempty"`
	Session string `json:"session"`
	// Task is the event to which the grant is limited, "" for the entire conversation.
	Task string `json:"task,omitempty"`
	// Outside: the grant also covers calls with untrusted text in context, because the user saw
	// such a call or asked for this.
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

// Audit is the audit log.
type Audit interface {
	Audit(ctx context.Context, q AuditQuery) ([]AuditRecord, error)
	// AuditLine returns the details of one line.
	AuditLine(ctx context.Context, seq int64) (AuditLine, error)
	// AuditVerify checks the complete log. It returns ErrConflict if the log was altered.
	AuditVerify(ctx context.Context) (AuditHead, error)
	// AuditExport writes a time range as "jsonl" or "csv". Errors of the request are returned
	// before anything is written.
	AuditExport(ctx context.Context, w io.Writer, format string, since, until time.Time) error
}

// AuditQuery filters the audit log; the zero value selects all of it.
type AuditQuery struct {
	Event, Session, Tool, Actor, Action, Verdict, Outcome, Call string
	Since, Until                                                time.Time
	Before                                                      int64
	Tainted                                                     bool
	Limit                                                       int
}

// AuditRecord is one line of the audit log. It contains texts only as keyed digests.
type AuditRecord struct {
	Seq     int64     `json:"seq"`
	At      time.Time `json:"at"`
	Actor   string    `json:"actor"`  // "hob", "owner"
	Action  string    `json:"action"` // "call", "answer", "undo", "stop"
	Event   string    `json:"event"`
	Session string    `json:"session"`
	Origin  string    `json:"origin"` // the entry point
	Tool    string    `json:"tool"`
	Call    string    `json:"call"`
	Effects string    `json:"effects"`
	Verdict string    `json:"verdict"`
	Rule    string    `json:"rule"`
	Tainted bool      `json:"tainted"`
	Outcome string    `json:"outcome"` // "started", "done", a typed error code
	Digest  string    `json:"args_digest"`
	// From is the kind of each origin with a keyed digest of its label.
	From string `json:"from,omitempty"`
	// Chain is the kind of Hash: 0 is a plain SHA-256, used before a key existed; 1 is an HMAC
	// under the home's audit key.
	Chain int    `json:"chain,omitempty"`
	Prev  string `json:"prev"`
	Hash  string `json:"hash"`
}

// AuditLine is one line of the audit log with its context: the actor, the authority, the texts
// and the call.
type AuditLine struct {
	AuditRecord

	// Approval is the approval request that decided the call, if any.
	Approval *Approval `json:"approval,omitempty"`
	// Texts are the stored origins of the untrusted text in context.
	Texts []provenance.Origin `json:"texts,omitempty"`
	// What describes the call, if it is still stored.
	What string `json:"what,omitempty"`
	Text string `json:"text"` // the complete explanation as text
}

// AuditHead is the end of the log.
type AuditHead struct {
	Lines int64  `json:"lines"`
	Hash  string `json:"head"`
	// Unkeyed counts lines from before there was a key.
	Unkeyed int64 `json:"unkeyed,omitempty"`
}
