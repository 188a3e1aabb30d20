// Package turn runs one turn: it calls the model, checks the requested tool calls with the guard
// and runs them, and repeats until it has an answer, needs the owner's approval, or reaches a
// limit. It records each step before the next begins. After a crash, an interrupted turn therefore
// continues at the same step and never repeats a call with effects. Every model call and tool call
// passes one chain (see Hook). Independent calls run in parallel. If an answer claims an action
// that no call performed, the answer is corrected. The package does not complete events, deliver
// messages or choose work: the loop does.
//
// A turn consists of parts. Each part uses only parts that precede it in this list: conversation
// (messages and their provenance), stepRecorder (ledger, audit log, transcript), callHistory,
// turnBudget, liveFeed, hookChain, contextBuilder (incoming text), policyCheck (guard and owner),
// toolExecutor (one call), toolCalls (the calls of one answer), externalAgent (an agent that runs
// its own actions), modelExchange (requests to the model) and claimChecker. turnRun drives them.
package turn

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"hob/autonomy/bus"
	"hob/autonomy/guard"
	"hob/autonomy/guard/clients"
	"hob/autonomy/hooks"
	"hob/autonomy/llm"
	"hob/autonomy/session"
	"hob/autonomy/turn/modelrouter"
	"hob/autonomy/turn/prompt"
	"hob/platform/provenance"
	"hob/platform/store"
	"hob/platform/text/redact"
	"hob/tools"
)

// Causes for the end of a turn's context.
var (
	ErrStopped  = errors.New("stopped by the user")
	ErrDraining = errors.New("hob is shutting down")
)

// Limits holds the limits of one turn. Zero fields use the defaults.
type Limits struct {
	Rounds   int // model calls with tools, default 20
	Failures int // consecutive failures of one tool before a hint to the model, default 3
	Tokens   int // output tokens, default 32,000
}

// Results stores the full text of shortened results.
type Results interface {
	Put(call, text string) error
}

// ModelChooser chooses the model of a turn. *modelrouter.Router implements it.
type ModelChooser interface {
	Choose(ctx context.Context, ask modelrouter.TurnInfo) (modelrouter.Choice, error)
}

// UsageRecorder stores the usage of the model calls since the last call of FlushTx.
// *usage.Tracker implements it.
type UsageRecorder interface {
	FlushTx(tx *store.Tx) error
}

// CallAnswerer answers a call instead of the tool.
type CallAnswerer interface {
	AnswerCall(call string) (tools.Result, error)
}

// PictureStore stores a picture in a file called name and returns its path. The same name always
// means the same picture.
type PictureStore interface {
	KeepPicture(name string, data []byte) (path string, err error)
}

// TextChecker reports whether untrusted text tries to manipulate its reader. An error has no
// effect. *guardian.Checker implements it.
type TextChecker interface {
	IsHostile(ctx context.Context, who llm.Account, text string) (bool, error)
}

// Skills knows the skills by name. *skills.Library implements it.
type Skills interface {
	// CheckTool returns a *tools.Error if the skill does not allow the call.
	CheckTool(skill, tool string, args json.RawMessage) error
	// Find returns at most n skills that match a search, best first, in the form that a model reads.
	Find(query string, n int) []prompt.Note
}

// Options holds the options of New. All but Realm, Limits and Log are required.
type Options struct {
	Store    *store.Store
	Bus      *bus.Bus
	Guard    *guard.Guard
	Sessions *session.Sessions
	// Compactor shortens a conversation that does not fit in a request. Nil disables compaction.
	Compactor *session.Compactor
	Catalog   *tools.Catalog
	Prompt    *prompt.Builder
	Models    ModelChooser
	// Realm is the memory namespace of the tools; see tools.Call.
	Realm string
	// Usage, if set, stores the usage of model calls together with each step.
	Usage UsageRecorder
	// Name is the name of the agent, "" for the default one.
	Name string
	// Level replaces the guard's level if it is more restrictive.
	Level guard.Level
	// Whole lists all existing tools, so that a call to a tool that the agent does not have is
	// denied by name instead of being reported as unknown. Nil means that the agent has all tools.
	Whole *tools.Catalog
	// DryRun, if set, answers calls instead of running their tools.
	DryRun CallAnswerer
	// Zone returns the owner's current time zone.
	Zone   func() *time.Location
	Limits Limits
	// Results stores the full text of long results (see autonomy/turn/results). If it is nil, the
	// model cannot read the omitted parts.
	Results Results
	// Hooks run in every model call and tool call, in this order.
	Hooks []Hook
	// Skills narrows the tools while a skill is in force, and finds skills. Nil means that there are
	// none.
	Skills Skills
	// Programs are the user's hooks. They run after Hooks; nil means that there are none.
	Programs *hooks.Hooks
	// Pictures stores the pictures that a model created. If it is nil, they are dropped.
	Pictures PictureStore
	// Redact removes secrets from the text for models and transcripts. If it is nil, secrets are
	// detected only by their format.
	Redact *redact.Set
	// Guardian checks untrusted text and marks hostile text. Nil disables the check.
	Guardian TextChecker
	// SendDelay is how long a call that reaches other people is delayed, so that the user can
	// cancel it. 0 means that such calls run at once. Sends reports whether this process runs the
	// delayed calls; if not, they wait until Hob starts.
	SendDelay time.Duration
	Sends     bool
	// Block withholds marked untrusted text.
	Block bool
	// Clients gives external agents access to the tools of their turn, by the MCP server whose
	// address ClientURL returns; "" means that there is no server now. Both may be nil.
	Clients   *clients.Store
	ClientURL func() string
	Log       *slog.Logger
}

// Runner runs turns. Run may be called concurrently for different sessions.
type Runner struct {
	o       Options
	offered []llm.Tool
	toolset string // digest of the offered tools; see session.RequestFingerprint
}

// New returns a Runner after checking the options.
func New(o Options) (*Runner, error) {
	for i, h := range o.Hooks {
		if h.Name == "" {
			return nil, fmt.Errorf("turn: hook %d has no name", i)
		}
	}
	if o.Store == nil || o.Bus == nil || o.Guard == nil || o.Sessions == nil || o.Catalog == nil || o.Prompt == nil || o.Models == nil || o.Zone == nil {
		return nil, errors.New("turn: Options needs Store, Bus, Guard, Sessions, Catalog, Prompt, Models and Zone")
	}
	if o.Limits.Rounds <= 0 {
		o.Limits.Rounds = 20
	}
	if o.Limits.Failures <= 0 {
		o.Limits.Failures = 3
	}
	if o.Limits.Tokens <= 0 {
		o.Limits.Tokens = 32_000
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	r := &Runner{o: o, offered: offeredTools(o.Catalog)}
	r.toolset = session.StampOf("", r.offered).Tools
	return r, nil
}

// With returns a runner with changed options.
func (r *Runner) With(change func(*Options)) (*Runner, error) {
	o := r.o
	change(&o)
	return New(o)
}

// Stamp returns the digests of the constant parts of a request with this system block.
func (r *Runner) Stamp(system string) session.RequestFingerprint {
	if system == "" {
		return session.RequestFingerprint{Tools: r.toolset}
	}
	return session.RequestFingerprint{System: session.StampOf(system, nil).System, Tools: r.toolset}
}

// Turn is the input of a turn.
type Turn struct {
	Event bus.Event
	// Text is the message to answer, Source its provenance.
	Text   string
	Source provenance.Source
	// Outside holds additional text in the message that is not from the owner.
	Outside []string
	// OutsideFrom[i] is the origin of Outside[i]. Origins applies to entries of Outside without an
	// OutsideFrom entry.
	OutsideFrom []provenance.Origin
	// Origins lists the sources of all text in the turn's input that is not from the owner.
	Origins []provenance.Origin
	Images  []llm.Image
	// Attended reports whether the owner started the turn in a conversation and can answer
	// questions.
	Attended bool
	// Private reports whether only the owner reads and writes in this conversation.
	Private bool
	// Guest reports whether the message comes from a guest, who gets the answer.
	Guest bool
	// Client reports whether an external program makes the call; see guard.Request.
	Client bool
	// Origin names the entry point for the guard and the audit log.
	Origin string
	// Words are the owner's words outside the conversation that led to this turn. For a sub-agent,
	// they are the words from the delegating turn.
	Words []string
	// Person is the author of the message: "owner", "channel:sender", or "" if there is none. Level
	// overrides the agent's level if it is more restrictive.
	Person string
	Level  guard.Level
	// Doubt returns why a call with these effects needs approval although it would be allowed, or
	// "" if it needs none. A nil Doubt means that no such call needs approval.
	Doubt func(s *tools.Spec, e tools.Effects) string
	// Report is the session for questions and notices to the owner.
	Report, Channel, Chat string
	// Told lists the notices that Hob has sent in this session since its last turn.
	Told []string
	// Depth is the number of delegations that led to this turn; 0 means that it was not delegated.
	Depth int
	// Parents are the suspended events that wait for the end of this turn. The later events of their
	// sessions run while this turn waits for the owner.
	Parents []string
	// Call, if set, is the tool call to run instead of calling a model (`hob tool call`). The
	// turn's answer is the result of the call.
	Call *llm.ToolCall
	// Said, if set, returns the messages that the owner sent to this turn since the previous call
	// of Said.
	Said func() []SteerMessage
	// Hold marks the turn as waiting in memory for the owner, so that later events of its session may
	// run. resume ends the wait: it returns when no other event of the session runs, or when ctx
	// ends. The turn may wait again for its other questions after rest, which is called once when the
	// answered action has ended. Hold may be nil. All three may be called concurrently.
	Hold Hold
	// Cancelled reports whether the owner stopped this turn while it waited for an answer.
	Cancelled bool
}

// Hold is the type of Turn.Hold.
type Hold func() (resume func(ctx context.Context) (rest func()))

// Outcome is the result of a turn.
type Outcome struct {
	// Answer is the model's answer. If Run returns an error, Answer is the part of the answer that
	// was already shown.
	Answer string
	// Source is Outside if the context of the answer contained untrusted text.
	Source provenance.Source
	// Origins lists the sources of that untrusted text.
	Origins []provenance.Origin
	// Messages holds the messages that are not stored yet. The caller stores them together with the
	// end of the event.
	Messages []llm.Message
	// Record stores the ledger rows and audit lines of the last step. Call it in the transaction
	// that stores Messages.
	Record func(tx *store.Tx) error
	// Suspended reports whether the turn is stored and waits for the owner.
	Suspended   bool
	Interrupted bool
	Realm       string // memory namespace of the turn
	Usage       llm.Usage
	Model       string
	Rounds      int
}

// Run runs the turn until there is an answer. It returns an *llm.Error if the model failed, and
// ErrDraining if the daemon is shutting down and the turn should be requeued.
func (r *Runner) Run(ctx context.Context, t Turn) (Outcome, error) {
	run := newTurnRun(r, &t)
	run.chain.links = run.buildChain(ctx)
	if err := run.loadHistory(ctx); err != nil {
		if _, refused := errors.AsType[*hooks.Refusal](err); refused {
			return run.buildOutcome(""), err // keeps the message in the history
		}
		return Outcome{}, err
	}
	if t.Cancelled {
		return run.interruptedOutcome(ctx), nil
	}
	if t.Call != nil {
		return run.runSingleCall(ctx)
	}
	if err := run.model.chooseModel(ctx); err != nil {
		return run.buildOutcome(""), err
	}
	return run.runLoop(ctx)
}
