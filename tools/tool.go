// Package tools is the contract of everything Hob can do: what a tool is
// (Tool, Spec), how one is made from a Go struct (New), what it declares about
// its effects, and the Catalogue in which tools are found.
//
// A tool never decides whether it may run: the engine asks the guard, writes
// the ledger and only then calls it. A tool that touches nothing but Hob's own
// database is "own": it runs inside the very transaction that records it as
// done, so it happens exactly once whatever kills the process.
package tools

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"hob/knowledge/store"
	"hob/platform/credential"
	"hob/platform/provenance"
)

// Effects is the set of things a tool may cause. The zero value is invalid.
type Effects uint8

// The effects of ARCHITECTURE section 6.
const (
	Read    Effects = 1 << iota // looks only
	Write                       // changes something on this machine, reversibly
	Send                        // reaches a person or a service
	Egress                      // a request whose address or body the model chose
	Exec                        // runs a program
	Destroy                     // cannot be undone
	Secret                      // reveals a credential
)

var effectNames = []string{"read", "write", "send", "egress", "exec", "destroy", "secret"}

// Names lists the effects in their fixed order.
func (e Effects) Names() []string {
	var out []string
	for i, n := range effectNames {
		if e&(1<<i) != 0 {
			out = append(out, n)
		}
	}
	return out
}

// String joins the names with "+".
func (e Effects) String() string { return strings.Join(e.Names(), "+") }

// AnyEffect is the set of all effects: those of a task with any of the tools.
const AnyEffect = Read | Write | Send | Egress | Exec | Destroy | Secret

// All are the effects of the tool and of the tasks that it starts, for whoever decides
// about it or reads of it.
func (s *Spec) All() Effects { return s.Effects | s.Starts }

// ReadOnly reports whether the tool only looks.
func (e Effects) ReadOnly() bool { return e == Read }

// Spec describes a tool to models, owners and the guard.
type Spec struct {
	Name        string  // snake_case, unique, [a-z0-9_]{1,64}
	Category    string  // the folder it lives in, such as "files"
	Description string  // one or two sentences for a model, in the imperative
	Effects     Effects // everything it may cause
	// Starts are the effects that a task which it starts may cause later, such as AnyEffect;
	// 0: it starts none. Each call of the task passes the guard by itself, as unattended and
	// with the taint of the conversation that started it.
	Starts    Effects
	Platforms []string // GOOS values; empty means every platform
	Core      bool     // offered in every request; others are found by search
	Own       bool     // touches only Hob's own database (set by New)
	Keywords  string   // extra words the catalogue search should match
	// Foreign says that somebody else wrote the texts of this spec: an MCP
	// server, a peer. They are outside text wherever a model reads them, and
	// such a tool is found by search only.
	Foreign bool
	Timeout time.Duration
	Schema  Schema // of the arguments (set by New)
}

// Schema gives the JSON Schema of a tool's arguments. It is made when it is
// first asked for: most tools are never offered.
type Schema func() json.RawMessage

// Raw makes the schema; nil when there is none.
func (s Schema) Raw() json.RawMessage {
	if s == nil {
		return nil
	}
	return s()
}

// RawSchema is a schema that is there already.
func RawSchema(b json.RawMessage) Schema { return func() json.RawMessage { return b } }

// Call is one invocation. Args have passed the schema.
type Call struct {
	ID      string // unique; the same after a crash
	Session string // the conversation it belongs to
	Event   string // the inbox event that caused it
	Args    json.RawMessage
	// Now is the owner's wall-clock time in the owner's zone. Tools use it
	// instead of time.Now so that words such as "tomorrow" have one meaning.
	Now time.Time
	// Report is the session to which things created by this call (a watcher,
	// a reminder) report; usually Session.
	Report string
	// Agent is who calls, "" for the default one: what acts later by itself acts
	// with its rights.
	Agent string
	// Realm is the memory of the agent that calls, "" for the main one's.
	Realm string
	// Provenance is Outside when outside text is in the caller's context:
	// what the tool stores must carry it.
	Provenance provenance.Source
	// Origins are from where the outside text in the caller's context came: what
	// the tool stores keeps them (see platform/origins).
	Origins []provenance.Origin
	// OwnerWords are what the user said in this turn, if that was in a conversation
	// between the user and Hob alone, the user can answer and no outside text is in
	// context. They are nil in every other turn: of guests, groups, sub-agents, watchers,
	// schedules and tainted ones. See CredentialViewer.
	OwnerWords []string
	// Exact is what the guard allowed beyond the arguments (see Judgement): a tool
	// that judges its calls refuses to do anything else.
	Exact string
	// Prepared is what Prepare returned (see Preparer).
	Prepared any
	// Progress, never nil, tells the owner how far a long call is: fraction
	// 0..1 (negative when unknown) and a short note.
	Progress func(fraction float64, note string)
}

// CredentialViewer is who reads the result of the call, as far as it shows what Hob
// keeps: the user who asked for a credential by name, or nobody.
func (c Call) CredentialViewer() credential.Viewer { return credential.AskedBy(c.OwnerWords...) }

// Result is what a call returns to the model and the owner.
type Result struct {
	// Text is complete, readable prose or a list: it is what the model reads
	// and what the built-in brain shows to the owner as it stands.
	Text string
	// Data is the same as values, for --json and programs. Optional. Rows that
	// Hob keeps stand in it with their "id" and "provenance": from where the text
	// in such a row came is kept with its id, and found again by it.
	Data any
	// Source says whose words Text and Data are. It is mandatory: Tool for Hob's
	// own words and data, Outside for file contents, pages, mail. The zero value is
	// invalid, and the engine treats a result without a source as untrusted text.
	Source provenance.Source
	// Origins say from where outside text in it came: a page, a file, a sender.
	// With none, and outside text, the tool itself is named.
	Origins []provenance.Origin
	// Links are the addresses that a fetched page or a list of search results
	// offers. In this turn they may be fetched as they stand without asking: a
	// model can put no data into them.
	Links []string
	// Undo, when not nil, is journalled with the call and given back to the
	// tool's Undo when the owner wants the action undone.
	Undo *Undo
}

// Undo is what a tool needs to take an action back.
type Undo struct {
	Label string          `json:"label"` // what undoing does: "delete the task \"milk\""
	Data  json.RawMessage `json:"data"`
}

// NewUndo encodes v as the undo data.
func NewUndo(label string, v any) *Undo {
	b, err := json.Marshal(v)
	if err != nil { // a programming error: v is one of the tool's own types
		panic(fmt.Sprintf("tools: undo data: %v", err))
	}
	return &Undo{Label: label, Data: b}
}

// Code classifies a failed call for the model and for scripts.
type Code string

// The codes of tool errors.
const (
	InvalidArguments Code = "invalid_arguments" // does not fit the schema or makes no sense
	NotFound         Code = "not_found"
	Conflict         Code = "conflict" // the state changed since; nothing was done
	Unsupported      Code = "unsupported"
	Failed           Code = "failed"
	TimedOut         Code = "timeout"
	Cancelled        Code = "cancelled"
	PolicyDenied     Code = "policy_denied"
	ApprovalTimeout  Code = "approval_timeout"
	DeniedByOwner    Code = "denied_by_owner"
	OutcomeUnknown   Code = "outcome_unknown" // Hob died while it ran
	TruncatedCall    Code = "truncated_arguments"
	Repeated         Code = "repeated_call"
	TooManyCalls     Code = "too_many_calls" // in one answer of a model
)

// CodeOf returns the code of an error, Failed when it carries none.
func CodeOf(err error) Code {
	if e, ok := errors.AsType[*Error](err); ok {
		return e.Code
	}
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		return TimedOut
	case errors.Is(err, context.Canceled):
		return Cancelled
	case errors.Is(err, errors.ErrUnsupported):
		return Unsupported
	}
	return Failed
}

// Tool is one thing Hob can do. Call may run concurrently with other calls of
// the same tool; it returns soon after ctx ends, and an *Error when the caller
// can do something about the failure. After a non-nil error nothing is half
// done. Tools that are own also implement Own, and their Call is never used.
type Tool interface {
	Spec() *Spec
	Call(ctx context.Context, c Call) (Result, error)
}

// Own is a tool whose whole effect lies in Hob's database. CallTx runs inside
// the transaction that records the call as done; it must not do anything that
// a rollback does not take back, nor wait for anything but the database.
type Own interface {
	Tool
	CallTx(ctx context.Context, tx *store.Tx, c Call) (Result, error)
}

// Preparer is an own tool with work to do before its transaction, in which everybody
// else who writes would wait for it: to read and to copy a file. What it returns is
// Call.Prepared for CallTx. What it leaves behind does no harm when CallTx never comes
// or comes to nothing.
type Preparer interface {
	Prepare(ctx context.Context, c Call) (any, error)
}

// Undoer takes back an action of the tool. It returns what was restored, in
// words, or a Conflict error when something newer would be destroyed; nothing
// has changed then. Exactly one of the two methods is used: UndoTx for own
// tools, Undo for the others.
type Undoer interface {
	CanUndo() bool
	Undo(ctx context.Context, data json.RawMessage) (string, error)
	UndoTx(ctx context.Context, tx *store.Tx, data json.RawMessage) (string, error)
}

// Redoer does again what was undone. It gets the data of the undo and returns
// what was done, in words, and the data for taking it back once more; like
// Undoer, it fails with Conflict when something newer would be destroyed.
type Redoer interface {
	CanRedo() bool
	Redo(ctx context.Context, data json.RawMessage) (string, json.RawMessage, error)
}

// Pather names the files a call would touch, so that calls on disjoint paths
// may run together. A call whose paths are unknown runs alone.
type Pather interface {
	Paths(args json.RawMessage) []string
}

// Summarizer says in one line what a call would do, for an approval:
// "Move invoice.pdf to Documents/2026". It must not depend on the model's prose.
type Summarizer interface {
	Summary(args json.RawMessage) string
}
