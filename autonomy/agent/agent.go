// Package agent runs one turn: it asks the model, runs the tools it wants past
// the guard, and asks again until there is an answer, a question to the owner,
// or a limit is reached. Each step is recorded before the next begins, so that
// a turn cut off by a crash goes on where it was; a call with effects is never
// repeated. It does not finish events, deliver texts or choose what to work on:
// the loop above does.
package agent

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"time"

	"hob/autonomy/bus"
	"hob/autonomy/guard"
	"hob/autonomy/llm"
	"hob/autonomy/prompt"
	"hob/autonomy/session"
	"hob/knowledge/store"
	"hob/platform/failpoint"
	"hob/platform/provenance"
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

// Options of New; all but Limits and Log are required.
type Options struct {
	Store     *store.Store
	Bus       *bus.Bus
	Guard     *guard.Guard
	Sessions  *session.Sessions
	Catalogue *tools.Catalogue
	Prompt    *prompt.Builder
	// Model returns the brain to use now.
	Model func(ctx context.Context) (llm.Model, error)
	// Zone is the owner's current zone.
	Zone   func() *time.Location
	Limits Limits
	Log    *slog.Logger
}

// Agent runs turns. Run may be called concurrently for different sessions.
type Agent struct {
	o       Options
	offered []llm.Tool
}

// New checks the options.
func New(o Options) (*Agent, error) {
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
	return &Agent{o: o, offered: offered(o.Catalogue)}, nil
}

// Turn is what is to be answered.
type Turn struct {
	Event bus.Event
	// Text is what is asked, Source whose words they are.
	Text   string
	Source provenance.Source
	// Outside is further text that came along and is not the owner's.
	Outside []string
	Images  []llm.Image
	// Attended: the owner asked in a conversation and can answer.
	Attended bool
	// Origin names the entry point for the guard and the audit log.
	Origin string
	// Report is the session in which the owner is asked and told.
	Report, Channel, Chat string
	// Told is what Hob said by itself in this session since its last turn.
	Told []string
	// Call, when set, is run instead of asking a model (`hob tool call`): the
	// answer is its result.
	Call *llm.ToolCall
	// Cancelled: the owner stopped this turn while it waited for an answer.
	Cancelled bool
}

// Outcome is how a turn ended.
type Outcome struct {
	Answer string
	// Source is Outside when outside text was in the context of the answer.
	Source provenance.Source
	// Messages are those not stored yet; the caller stores them together with
	// the end of the event.
	Messages []llm.Message
	// Record stores the ledger rows and audit lines of the last step, in the
	// same transaction.
	Record func(tx *store.Tx) error
	// Suspended: the turn waits for the owner and has been put away.
	Suspended   bool
	Interrupted bool
	Usage       llm.Usage
	Model       string
	Rounds      int
}

// run is one turn in progress.
type run struct {
	*Agent
	t       Turn
	model   llm.Model
	msgs    []llm.Message // the whole request
	stored  int           // how many of this turn's messages are stored
	own     int           // index in msgs where this turn begins
	pending []func(*store.Tx) error
	ledger  map[string]bus.Entry
	limits  counter
	usage   llm.Usage
	round   int
	partial string
	retried bool
	by      string            // the model that answered last, when several were asked
	begun   map[string]string // ids of the calls that are being streamed
}

// Run works until there is an answer. Errors are *llm.Error when the model
// failed, and ErrDraining when the daemon ends and the turn should be put back.
func (a *Agent) Run(ctx context.Context, t Turn) (Outcome, error) {
	r := &run{Agent: a, t: t, limits: newCounter(a.o.Limits)}
	if err := r.load(ctx); err != nil {
		return Outcome{}, err
	}
	if t.Cancelled {
		return r.interrupted(), nil
	}
	if t.Call != nil {
		return r.single(ctx)
	}
	model, err := a.o.Model(ctx)
	if err != nil {
		return r.outcome(""), err
	}
	r.model = model
	a.o.Bus.Feed.Publish("message_start", t.Event.ID, t.Event.Session, map[string]string{"model": model.Info().Name()})
	return r.loop(ctx)
}

func (r *run) load(ctx context.Context) error {
	before, recorded, err := r.o.Sessions.History(ctx, r.t.Event.Session, r.t.Event.ID)
	if err != nil {
		return err
	}
	r.own = len(before)
	r.stored = len(recorded)
	r.msgs = append(append(make([]llm.Message, 0, len(before)+len(recorded)+8), before...), recorded...)
	r.ledger = map[string]bus.Entry{}
	if len(recorded) == 0 {
		r.msgs = append(r.msgs, r.question())
	}
	if r.t.Event.Attempts <= 1 && r.t.Event.Crashes == 0 && len(recorded) == 0 {
		return nil // the first try: nothing can have run
	}
	entries, err := r.o.Bus.Calls(ctx, r.t.Event.ID)
	if err != nil {
		return err
	}
	for _, e := range entries {
		r.ledger[e.Call] = e
	}
	for _, m := range recorded {
		if m.Role == llm.Assistant {
			r.round++
		}
	}
	return nil
}

// question is the current message: context first, then outside text, then the
// words that are to be answered.
func (r *run) question() llm.Message {
	now := time.Now().In(r.o.Zone())
	m := llm.Message{Role: llm.User}
	m.Parts = append(m.Parts, llm.Part{Text: r.o.Prompt.Now(now, r.t.Told), Source: provenance.Hob, Context: true})
	for _, o := range r.t.Outside {
		m.Parts = append(m.Parts, llm.Part{Text: o, Source: provenance.Outside})
	}
	for i := range r.t.Images {
		m.Parts = append(m.Parts, llm.Part{Image: &r.t.Images[i], Source: r.t.Source})
	}
	m.Parts = append(m.Parts, llm.Part{Text: r.t.Text, Source: r.t.Source})
	return m
}

func (r *run) loop(ctx context.Context) (Outcome, error) {
	for {
		if last := r.msgs[len(r.msgs)-1]; last.Role == llm.Assistant {
			calls := callsOf(last)
			if len(calls) == 0 { // a crash came between the answer and its end
				return r.outcome(textOf(last)), nil
			}
			suspended, err := r.act(ctx, calls)
			if err != nil {
				return r.ended(ctx, err)
			}
			if suspended {
				return Outcome{Suspended: true}, nil
			}
		}
		resp, err := r.ask(ctx)
		if err != nil {
			return r.ended(ctx, err)
		}
		if len(resp.Calls()) == 0 {
			text := strings.TrimSpace(resp.Text())
			if text == "" {
				if !r.retried && !r.limits.final {
					r.retried = true
					continue
				}
				text = r.limits.diagnosis()
				resp.Parts = []llm.Part{{Text: text}}
			}
			r.msgs = append(r.msgs, assistant(resp))
			return r.outcome(text), nil
		}
		r.msgs = append(r.msgs, assistant(resp))
		if err := r.save(ctx); err != nil {
			return Outcome{}, err
		}
	}
}

// single runs the one call of a turn without a model.
func (r *run) single(ctx context.Context) (Outcome, error) {
	if last := r.msgs[len(r.msgs)-1]; last.Role == llm.User {
		resp := llm.Response{Parts: []llm.Part{{Call: r.t.Call}}}
		r.name(resp.Parts)
		r.msgs = append(r.msgs, assistant(resp))
		if err := r.save(ctx); err != nil {
			return Outcome{}, err
		}
	}
	suspended, err := r.act(ctx, callsOf(r.msgs[len(r.msgs)-1]))
	if err != nil {
		return r.ended(ctx, err)
	}
	if suspended {
		return Outcome{Suspended: true}, nil
	}
	return r.outcome(r.msgs[len(r.msgs)-1].Parts[0].Result.Text), nil
}

// ask makes one model call.
func (r *run) ask(ctx context.Context) (llm.Response, error) {
	r.round++
	if r.round > r.o.Limits.Rounds || r.usage.Output > r.o.Limits.Tokens {
		r.limits.final = true
	}
	req := llm.Request{System: r.o.Prompt.System(), Messages: r.msgs, Tools: r.offered, NoTools: r.limits.final, Now: time.Now().In(r.o.Zone())}
	var resp llm.Response
	r.partial = ""
	r.begun = map[string]string{}
	failpoint.Hit("model.call.before")
	for e, err := range r.model.Stream(ctx, req) {
		if err != nil {
			r.partial = resp.Text()
			return resp, err
		}
		resp.Add(e)
		r.publish(e)
	}
	failpoint.Hit("model.call.after")
	r.usage = r.usage.Add(resp.Usage)
	r.by = resp.Model
	if r.limits.final {
		resp.Parts = dropCalls(resp.Parts)
	}
	r.name(resp.Parts)
	return resp, nil
}

// name gives every call an id that is the same after a crash and unique in the
// conversation, whatever the model sent.
func (r *run) name(parts []llm.Part) {
	n := 0
	for i := range parts {
		if c := parts[i].Call; c != nil {
			c.ID = r.callID(n)
			n++
		}
	}
}

// callID is the id of the nth call of the answer that comes next.
func (r *run) callID(n int) string {
	return fmt.Sprintf("call_%s_%d_%d", tail(r.t.Event.ID, 12), len(r.msgs)-r.own, n)
}

func tail(s string, n int) string {
	s = strings.ReplaceAll(s, "-", "")
	return s[max(0, len(s)-n):]
}

func (r *run) publish(e llm.Event) {
	feed, id, sess := r.o.Bus.Feed, r.t.Event.ID, r.t.Event.Session
	switch e.Kind {
	case llm.TextDelta:
		feed.Publish("content_delta", id, sess, map[string]string{"text": e.Text})
	case llm.CallStart: // calls are done in the order in which they begin
		r.begun[e.Call.ID] = r.callID(len(r.begun))
		feed.Publish("tool_call_start", id, sess, map[string]string{"id": r.begun[e.Call.ID], "name": e.Call.Name})
	case llm.CallDelta:
		feed.Publish("tool_call_delta", id, sess, map[string]string{"id": r.begun[e.Call.ID], "arguments": e.Text})
	}
}

// save makes the steps so far durable.
func (r *run) save(ctx context.Context) error {
	fresh, record := r.fresh(), r.take()
	err := r.o.Store.Write(context.WithoutCancel(ctx), func(tx *store.Tx) error {
		if err := record(tx); err != nil {
			return err
		}
		return r.o.Sessions.AppendTx(tx, r.t.Event.Session, r.t.Event.ID, fresh)
	})
	if err != nil {
		return fmt.Errorf("agent: record step: %w", err)
	}
	r.stored += len(fresh)
	return nil
}

func (r *run) fresh() []llm.Message { return r.msgs[r.own+r.stored:] }

// take hands over what is to be written with the next transaction.
func (r *run) take() func(*store.Tx) error {
	todo := r.pending
	r.pending = nil
	return func(tx *store.Tx) error {
		for _, f := range todo {
			if err := f(tx); err != nil {
				return err
			}
		}
		return nil
	}
}

func (r *run) outcome(answer string) Outcome {
	o := Outcome{Answer: answer, Messages: r.fresh(), Record: r.take(), Usage: r.usage, Rounds: r.round, Source: provenance.Hob}
	if r.model != nil {
		o.Model = cmp.Or(r.by, r.model.Info().Name())
	}
	if r.tainted() {
		o.Source = provenance.Outside
	}
	return o
}

// ended sorts out why a turn could not go on.
func (r *run) ended(ctx context.Context, err error) (Outcome, error) {
	switch cause := context.Cause(ctx); {
	case errors.Is(cause, ErrStopped):
		o := r.interrupted()
		return o, nil
	case ctx.Err() != nil:
		return Outcome{}, ErrDraining
	}
	return r.outcome(""), err
}

// interrupted keeps what was said so far, marked as cut off, and answers every
// open call so that the history stays well formed.
func (r *run) interrupted() Outcome {
	text := strings.TrimSpace(r.partial)
	if last := r.msgs[len(r.msgs)-1]; last.Role == llm.Assistant {
		m := llm.Message{Role: llm.ToolRole}
		for _, c := range callsOf(last) {
			m.Parts = append(m.Parts, llm.Part{Result: &llm.ToolResult{ID: c.ID, Name: c.Name, Text: "cancelled: the owner stopped this turn", Error: true}, Source: provenance.Hob})
		}
		if len(m.Parts) > 0 {
			r.msgs = append(r.msgs, m)
		}
	}
	answer := "Stopped."
	if text != "" {
		answer = text + " … [interrupted]"
	}
	r.msgs = append(r.msgs, llm.Message{Role: llm.Assistant, Parts: []llm.Part{{Text: answer, Source: provenance.Hob}}})
	o := r.outcome(answer)
	o.Interrupted = true
	return o
}

// tainted reports whether outside text is in the context of the next call.
func (r *run) tainted() bool {
	for _, m := range r.msgs {
		for _, p := range m.Parts {
			if p.Source.Tainted() {
				return true
			}
		}
	}
	return false
}

// assistant stores the model's answer; what it says counts as Hob's own words:
// the taint is carried by the parts it was made from.
func assistant(resp llm.Response) llm.Message {
	m := llm.Message{Role: llm.Assistant, Parts: resp.Parts}
	for i := range m.Parts {
		m.Parts[i].Source = provenance.Hob
	}
	return m
}

func dropCalls(parts []llm.Part) []llm.Part {
	out := parts[:0]
	for _, p := range parts {
		if p.Call == nil {
			out = append(out, p)
		}
	}
	return out
}

func callsOf(m llm.Message) []llm.ToolCall {
	r := llm.Response{Parts: m.Parts}
	return r.Calls()
}

func textOf(m llm.Message) string {
	r := llm.Response{Parts: m.Parts}
	return strings.TrimSpace(r.Text())
}
