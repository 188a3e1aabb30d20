package api

import (
	"context"
	"io"
	"time"

	"hob/platform/provenance"
)

// Audit is the audit log.
type Audit interface {
	Audit(ctx context.Context, q AuditQuery) ([]AuditRecord, error)
	// AuditLine returns the details of one line.
	AuditLine(ctx context.Context, seq int64) (AuditLine, error)
	// AuditVerify checks the complete log. It returns ErrConflict if the log was altered.
	AuditVerify(ctx context.Context) (AuditHead, error)
	// AuditExport writes a time range as "jsonl" or "csv". If it returns an error of its own, it
	// has written nothing.
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

	// Approval is the deciding question to the owner, if any.
	Approval *Approval `json:"approval,omitempty"`
	// Texts are the stored origins of the untrusted text in context.
	Texts []provenance.Origin `json:"texts,omitempty"`
	// What describes the call, if it is still stored.
	What string `json:"what,omitempty"`
	Text string `json:"text"` // all of it as text
}

// AuditHead is the end of the log.
type AuditHead struct {
	Lines int64  `json:"lines"`
	Hash  string `json:"head"`
	// Unkeyed counts lines from before there was a key.
	Unkeyed int64 `json:"unkeyed,omitempty"`
}
