// Package agent runs one turn: it asks the model, runs the tools it wants past
// the guard, and asks again until there is an answer, a question to the owner,
// or a limit is reached. Each step is recorded before the next begins, so that
// a turn cut off by a crash goes on where it was; a call with effects is never
// repeated. Every model call and tool call passes one chain (see Hook). Calls
// that cannot get in each other's way run side by side. An answer that claims
// what no call did is corrected. It does not finish events, deliver texts or choose what to work on:
// the loop above does.
package agent

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"hob/autonomy/brain"
	"hob/autonomy/bus"
	"hob/autonomy/guard"
	"hob/autonomy/llm"
	"hob/autonomy/prompt"
	"hob/autonomy/session"
	"hob/knowledge/store"
	"hob/platform/provenance"
	"hob/platform/redact"
	"hob/tools"
)

// Causes of an ended turn context.
var (
	ErrStopped  = errors.New("stopped by the owner")
	ErrDraining = errors.New("hob is shutting down")
)

// Limits of one turn; zero values take the defaults.
type Limits struct {
	Rounds   int // model calls with tools, default 20
	Failures int // consecutive failures of one tool before a nudge, default 3
	Tokens   int // output tokens, default 32,000
}

// Results keeps the whole of a result that was shortened.
type Results interface {
	Put(call, text string) error
}

// Options of New; all but Realm, Limits and Log are required.
type Options struct {
	Store    *store.Store
	Bus      *bus.Bus
	Guard    *guard.Guard
	Sessions *session.Sessions
	// Compactor makes room when a request does not fit; nil: nobody does.
	Compactor *session.Compactor
	Catalogue *tools.Catalogue
	Prompt    *prompt.Builder
	// Model chooses the brain of a turn.
	Model func(ctx context.Context, ask brain.Ask) (brain.Choice, error)
	// Realm is whose memory the tools have; see tools.Call.
	Realm string
	// Book, when set, stores what model calls took, along with each step.
	Book func(tx *store.Tx) error
	// Name is the agent's, "" for the default one.
	Name string
	// Level, when it is narrower than the guard's own, holds instead.
	Level guard.Level
	// Whole are all tools there are: one that the agent does not have is denied
	// by its name, and not merely unknown. Nil: it has them all.
	Whole *tools.Catalogue
	// Dry, when set, answers calls in place of their tools, which do not run.
	Dry func(call string) (tools.Result, error)
	// Zone is the owner's current zone.
	Zone   func() *time.Location
	Limits Limits
	// Results keeps long results whole (see autonomy/results); nil: what does
	// not fit is lost to the model.
	Results Results
	// Hooks take part in every model call and tool call, in this order.
	Hooks []Hook
	// Keep puts a picture that a model made into a file of this name, and returns
	// where it is; nil keeps none. A repeated name is the same picture.
	Keep func(name string, data []byte) (string, error)
	// Redact knows the secrets that no model and no transcript may hold; nil
	// finds them by their shape alone.
	Redact *redact.Set
	// Guardian is a model's verdict on a text from outside: bad adds a mark,
	// anything else changes nothing. Nil: none is asked.
	Guardian func(ctx context.Context, who llm.Account, text string) (bad bool, err error)
	// Block withholds text from outside that was marked.
	Block bool
	Log   *slog.Logger
}

// Agent runs turns. Run may be called concurrently for different sessions.
type Agent struct {
	o       Options
	offered []llm.Tool
	toolset string // of the offered tools; see session.Stamp
}

// New checks the options.
func New(o Options) (*Agent, error) {
	for i, h := range o.Hooks {
		if h.Name == "" {
			return nil, fmt.Errorf("agent: hook %d has no name", i)
		}
	}
	if o.Store == nil || o.Bus == nil || o.Guard == nil || o.Sessions == nil || o.Catalogue == nil || o.Prompt == nil || o.Model == nil || o.Zone == nil {
		return nil, errors.New("agent: an option is missing")
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
	a := &Agent{o: o, offered: offered(o.Catalogue)}
	a.toolset = session.StampOf("", a.offered).Tools
	return a, nil
}

// With makes an agent with other options; those not touched stay.
func (a *Agent) With(change func(*Options)) (*Agent, error) {
	o := a.o
	change(&o)
	return New(o)
}

// Stamp tells what requests with this system block are made of.
func (a *Agent) Stamp(system string) session.Stamp {
	if system == "" {
		return session.Stamp{Tools: a.toolset}
	}
	return session.Stamp{System: session.StampOf(system, nil).System, Tools: a.toolset}
}

// Turn is what is to be answered.
type Turn struct {
	Event bus.Event
	// Text is what is asked, Source whose words they are.
	Text   string
	Source provenance.Source
	// Outside is further text that came along and is not the owner's.
	Outside []string
	// OutsideFrom[i] is where Outside[i] came from; for texts beyond its end Origins holds.
	OutsideFrom []provenance.Origin
	// Origins are from where what is not the owner's in all this came.
	Origins []provenance.Origin
	Images  []llm.Image
	// Attended: the owner asked in a conversation and can answer.
	Attended bool
	// Private: nobody but the owner writes or reads in this conversation.
	Private bool
	// Guest: somebody who is not the owner asks and is answered.
	Guest bool
	// Origin names the entry point for the guard and the audit log.
	Origin string
	// Words are the owner's own that led to this turn and are not in its
	// conversation: those of the turn that handed the task on.
	Words []string
	// Person is whose words are answered: "owner", "channel:sender", or "" where
	// nobody speaks. Level, when it is narrower than the agent's, holds instead.
	Person string
	Level  guard.Level
	// Doubt says why the owner has to be asked before a call with these effects,
	// though it would be allowed; "" when he need not. nil: never.
	Doubt func(s *tools.Spec, e tools.Effects) string
	// Report is the session in which the owner is asked and told.
	Report, Channel, Chat string
	// Told is what Hob said by itself in this session since its last turn.
	Told []string
	// Depth is how often the task was handed on; 0 for a turn of its own.
	Depth int
	// Call, when set, is run instead of asking a model (`hob tool call`): the
	// answer is its result.
	Call *llm.ToolCall
	// Said, when set, returns what the owner has said to this turn since it was
	// last called.
	Said func() []Said
	// Hold tells that the turn waits for the owner in memory, until what it returns
	// is called. It may be nil, and is called concurrently.
	Hold func() (release func())
	// Cancelled: the owner stopped this turn while it waited for an answer.
	Cancelled bool
}

// Outcome is how a turn ended.
type Outcome struct {
	// Answer is, with an error, what had been shown of one when it broke off.
	Answer string
	// Source is Outside when outside text was in the context of the answer.
	Source provenance.Source
	// Origins are from where that text came.
	Origins []provenance.Origin
	// Messages are those not stored yet; the caller stores them together with
	// the end of the event.
	Messages []llm.Message
	// Record stores the ledger rows and audit lines of the last step, in the
	// same transaction.
	Record func(tx *store.Tx) error
	// Suspended: the turn waits for the owner and has been put away.
	Suspended   bool
	Interrupted bool
	Realm       string // whose memory the turn had
	Usage       llm.Usage
	Model       string
	Rounds      int
}

// Run works until there is an answer. Errors are *llm.Error when the model
// failed, and ErrDraining when the daemon ends and the turn should be put back.
func (a *Agent) Run(ctx context.Context, t Turn) (Outcome, error) {
	r := &run{Agent: a, t: t, limits: newCounter(a.o.Limits)}
	r.chain = r.links(ctx)
	if err := r.load(ctx); err != nil {
		return Outcome{}, err
	}
	if t.Cancelled {
		return r.interrupted(ctx), nil
	}
	if t.Call != nil {
		return r.single(ctx)
	}
	if err := r.choose(ctx); err != nil {
		return r.outcome(""), err
	}
	return r.loop(ctx)
}
