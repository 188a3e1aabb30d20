// Package tools defines what a tool is (Tool, Spec), builds tools from Go structs (New)
// with their declared effects, and finds them (Catalog).
//
// A tool never decides whether it may run: the engine asks the guard, writes the ledger and only
// then calls the tool. A tool that touches only Hob's own database is "own": it runs inside the
// transaction that records the call as done, so it runs exactly once even if the process is killed.
package tools

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"hob/platform/pim"
	"hob/platform/provenance"
	"hob/platform/store"
	"hob/platform/text/credential"
)

// Effects is the set of effects a tool may have. The zero value is invalid.
type Effects uint8

// The effects that a tool may declare. docs/guard.md lists how the guard treats each of them.
const (
	Read    Effects = 1 << iota // only reads
	Write                       // changes something on this machine and can be reverted
	Send                        // sends something to a person or a service
	Egress                      // sends a request whose address or body the model chose
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

// AnyEffect is the set of all effects. A task that may use any tool has it.
const AnyEffect = Read | Write | Send | Egress | Exec | Destroy | Secret

// All returns the effects of the tool and of the tasks that it starts. Policy decisions and
// displays use it.
func (s *Spec) All() Effects { return s.Effects | s.Starts }

// ReadOnly reports whether the tool only reads.
func (e Effects) ReadOnly() bool { return e == Read }

// Spec describes a tool for models, the owner and the guard.
type Spec struct {
	Name        string  // snake_case, unique, [a-z0-9_]{1,64}
	Category    string  // name of the tool's folder, such as "files"
	Description string  // one or two sentences for a model, in the imperative
	Effects     Effects // all effects that a call may have
	// Starts are the effects that a task started by the tool may have later, such as AnyEffect; 0
	// if the tool starts no task. The guard checks each call of the task separately, as an
	// unattended call with the taint of the conversation that started the task.
	Starts    Effects
	Platforms []string // GOOS values; empty means all platforms
	Core      bool     // offered in every request; other tools are found by search
	Own       bool     // uses only Hob's own database (set by New)
	Keywords  string   // additional words for the catalog search
	// Foreign marks a tool whose spec was written by someone else, such as an MCP server or a peer.
	// Its name and descriptions are untrusted in every prompt, and models find it only by search.
	Foreign bool
	// Remote reports that the arguments of every call reach a service, or a program that may send
	// them to one. While untrusted text is in context, the guard then treats a read like an
	// egress of its arguments.
	Remote  bool
	Timeout time.Duration
	Schema  Schema // schema of the arguments (set by New)
}

// Schema returns the JSON Schema of a tool's arguments. It is built on first use, because
// most tools are never offered.
type Schema func() json.RawMessage

// Raw returns the schema; nil if there is none.
func (s Schema) Raw() json.RawMessage {
	if s == nil {
		return nil
	}
	return s()
}

// Call is one invocation. Args are validated against the schema.
type Call struct {
	ID      string // unique, and unchanged after a crash
	Session string // conversation of the call
	Event   string // inbox event that caused the call
	Args    json.RawMessage
	// Now is the wall-clock time in the owner's zone. Tools use it instead of time.Now so that
	// words such as "tomorrow" have the same meaning everywhere.
	Now time.Time
	// Report is the session that receives reports of resources that this call creates, such as a
	// watcher or a reminder. It usually equals Session.
	Report string
	// Agent is the calling agent, "" for the default one. Later actions that the call causes have
	// this agent's permissions.
	Agent string
	// Realm is the memory namespace of the calling agent; "" is the main one.
	Realm string
	// Provenance is Outside if the caller's context contains untrusted text. Rows that the tool
	// stores must have the same provenance.
	Provenance provenance.Source
	// Origins are the origins of untrusted text in the caller's context. The tool stores them with
	// its rows (see platform/provenance/origins).
	Origins []provenance.Origin
	// OwnerWords are the user's messages in this turn if the user is alone with Hob in the
	// conversation, can answer, and no untrusted text is in context. It is nil in all other turns:
	// turns of guests, groups, sub-agents, watchers and schedules, and tainted turns. See
	// CredentialViewer.
	OwnerWords []string
	// Typed is the message that the user wrote in this turn, also if untrusted text is in context. It is
	// "" if anyone else contributed to it.
	Typed string
	// Exact is the approved binding in addition to the arguments (see CallAssessment). A tool that
	// assesses its calls rejects a call with any other binding.
	Exact string
	// Prepared is the return value of Prepare (see Preparer).
	Prepared any
	// Frozen is the return value of Freeze if the call was delayed (see Delayer); else nil.
	Frozen json.RawMessage
	// SendHooks are for tools that reach other people. The hooks are never nil. If Commit returns
	// an error, the user has canceled the call: the tool sends nothing and returns the error. A
	// tool does not have to call Reserve and Accepted.
	pim.SendHooks
	// Progress reports the progress of a long call: a fraction from 0 to 1 (negative if unknown)
	// and a short note. It is never nil.
	Progress func(fraction float64, note string)
}

// CredentialViewer returns the reader of credentials in the result: the user, if they asked for a
// credential by name, otherwise no one.
func (c Call) CredentialViewer() credential.Viewer { return credential.AskedBy(c.OwnerWords...) }

// Result is the result of a call for the model and the owner.
type Result struct {
	// Text is complete prose or a list in plain language. Models read it, and the built-in brain
	// shows it to the owner unchanged.
	Text string
	// Data contains the same information as values, for --json and programs. It is optional. Stored
	// rows include their "id" and "provenance", because the origins of a row's text are stored with
	// its id.
	Data any
	// Source is the provenance of Text and Data. It is mandatory: Tool for Hob's own text and data;
	// Outside for file contents, web pages and email. The zero value is invalid: the engine treats
	// a result without a source as untrusted.
	Source provenance.Source
	// Origins name the origins of untrusted text in the result, such as a page, a file or a sender.
	// If it is empty, the engine names the tool as the origin.
	Origins []provenance.Origin
	// Links are the addresses in a fetched page or in search results. During this turn they may be
	// fetched unchanged without approval, because a model cannot add data to them.
	Links []string
	// Incomplete means that a part of the action failed, as Text says: the user is notified if the
	// call was delayed.
	Incomplete bool
	// Undo is stored with the call and passed to the tool's Undo method when the owner undoes the
	// action. It is nil if the call cannot be undone.
	Undo *Undo
}

// Undo holds the data that a tool needs to revert an action.
type Undo struct {
	Label string          `json:"label"` // description of the undo: "delete the task \"milk\""
	Data  json.RawMessage `json:"data"`
}

// NewUndo encodes v as the undo data.
func NewUndo(label string, v any) *Undo {
	b, err := json.Marshal(v)
	if err != nil { // a programming error: v has a type of the tool
		panic(fmt.Sprintf("tools: undo data: %v", err))
	}
	return &Undo{Label: label, Data: b}
}

// Prompt is a text by a third party that serves as a skill, such as a prompt of an MCP server.
type Prompt struct {
	Server            string
	Name, Description string
	// Load fetches the text, which is untrusted.
	Load func(ctx context.Context) (string, error)
}

// UndoRequest selects the actions to undo; the zero value selects the last one.
type UndoRequest struct {
	// ID of a call, of an event (all its actions) or of a sent message.
	ID string
	// Last is the number of the latest actions to undo (0 means 1).
	Last int
	// Turn selects all actions of the last answer.
	Turn bool
	// Redo selects the action that was undone last, or the action called ID, to be repeated.
	Redo bool
	// Session is the conversation that sent the request. Actions and notices of this conversation
	// take precedence over actions and notices of other conversations. "" means no precedence.
	Session string
	// By is the event that requested the undo, and Origin its entry point. An empty By means a
	// model, which may undo only the actions that it could take itself.
	By, Origin string
	// Report is true if the request may revert nothing, because it was not approved: it only says why
	// nothing can be undone. It fails with the code Conflict if something can be undone.
	Report bool
	// Progress, if set, is called to report the progress.
	Progress func(fraction float64, note string)
}

// ExplainRequest selects what to explain.
type ExplainRequest struct {
	Kind string // "" means an event
	// About is an id. For a silence it may also contain words and "since TIME". "" or "last" means
	// the last item.
	About   string
	Session string // session to search for the last event; "" means any session
	Asked   string // the event that contains the question; it is excluded from the search for the last event
}

// Code classifies a failed call for the model and for scripts.
type Code string

// The codes of tool errors.
const (
	InvalidArguments Code = "invalid_arguments" // arguments that violate the schema or contradict each other
	NotFound         Code = "not_found"
	Conflict         Code = "conflict" // the state has changed; the call had no effect
	Unsupported      Code = "unsupported"
	Failed           Code = "failed"
	TimedOut         Code = "timeout"
	Cancelled        Code = "cancelled"
	PolicyDenied     Code = "policy_denied"
	ApprovalTimeout  Code = "approval_timeout"
	DeniedByOwner    Code = "denied_by_owner"
	OutcomeUnknown   Code = "outcome_unknown" // it is unknown whether the call took effect
	TruncatedCall    Code = "truncated_arguments"
	Repeated         Code = "repeated_call"
	TooManyCalls     Code = "too_many_calls" // too many calls in one answer of a model
	NotConnected     Code = "not_connected"  // the service of the tool is not connected
	InputRequired    Code = "input_required" // the tool's server asks the user a question first
)

// ConnectService is the name of the tool that asks the user to connect a service.
const ConnectService = "connect_service"

// CodeOf returns the code of an error, or Failed if it has none.
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

// Tool is one action that Hob can perform. Call may run concurrently with other calls of the same
// tool. It returns soon after ctx ends. It returns an *Error if the caller can handle the failure.
// If the error is not nil, no action is partly done. Own tools also implement TxTool; the engine
// never uses their Call method.
type Tool interface {
	Spec() *Spec
	Call(ctx context.Context, c Call) (Result, error)
}

// TxTool is a tool that changes only Hob's database. CallTx runs inside the transaction that
// records the call as done. All its effects must be reverted by a rollback, and it must wait for
// nothing except the database.
type TxTool interface {
	Tool
	CallTx(ctx context.Context, tx *store.Tx, c Call) (Result, error)
}

// Preparer is one of Hob's tools that must do slow work before its transaction, such as copying a
// file: a transaction blocks all other writers. CallTx gets the return value as
// Call.Prepared. If CallTx never runs or fails, the leftovers of Prepare must be harmless.
type Preparer interface {
	Prepare(ctx context.Context, c Call) (any, error)
}

// Undoer reverts an action of the tool. It describes what it restored. If it would overwrite newer
// changes, it changes nothing and returns a Conflict error. The engine uses exactly one of the two
// methods: UndoTx for own tools, Undo for all other tools.
type Undoer interface {
	CanUndo() bool
	Undo(ctx context.Context, data json.RawMessage) (string, error)
	UndoTx(ctx context.Context, tx *store.Tx, data json.RawMessage) (string, error)
}

// Redoer repeats an action that was undone. It gets the data of the undo and returns a description
// and new undo data. Like Undoer, it fails with Conflict if it would overwrite newer changes.
type Redoer interface {
	CanRedo() bool
	Redo(ctx context.Context, data json.RawMessage) (string, json.RawMessage, error)
}

// Pather returns the files that a call would use, so that calls on disjoint paths may run in
// parallel. A call with unknown paths runs alone.
type Pather interface {
	Paths(args json.RawMessage) []string
}

// Summarizer describes in one line what a call would do, for an approval request: "Move invoice.pdf
// to Documents/2026". The summary must not contain prose written by the model.
type Summarizer interface {
	Summary(args json.RawMessage) string
}
