package turn

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"hob/autonomy/llm"
	"hob/tools"
)

// Hook is called at several points in the chain through which every model call and every tool call
// in a turn passes. The order is fixed:
//
//	route -> schema -> limits -> skills -> Options.Hooks ->
//	Options.Programs -> policy -> approval -> execute -> audit ->
//	truncate -> Options.Programs -> Options.Hooks -> limits -> log
//
// route and schema find the tool and validate its arguments, limits refuses loops, skills applies
// the allowed-tools of the skills in force, and policy is the guard. The steps after a call run in reverse order, so that the ledger contains the complete
// result, and hooks see the text that the model will read.
//
// A Hook can only restrict. It gets copies and may refuse, but it cannot change earlier messages,
// the call or its result. Any function may be nil. Within a turn they are called one after another,
// and turns in different sessions call them concurrently.
type Hook struct {
	Name string
	// BeforeModel refuses a model call by returning an error, which ends the turn. If the error is
	// an *llm.Error, it determines whether the loop retries.
	BeforeModel func(ctx context.Context, m ModelCall) error
	// AfterModel receives the result of a model call. A panic is logged.
	AfterModel func(ctx context.Context, m ModelCall)
	// BeforeTool refuses a tool call by returning an error. A *tools.Error is passed to the model
	// unchanged. Any other error or a panic denies the call, as a policy would. Calls that were
	// already refused are not passed to BeforeTool.
	BeforeTool func(ctx context.Context, c ToolCall) error
	// AfterTool receives the result of a call, including a refused one. A panic is logged.
	AfterTool func(ctx context.Context, c ToolCall)
}

// ModelCall is a copy of a request to a model, for hooks.
type ModelCall struct {
	Event, Session string
	Model          llm.Info
	Round          int  // 1 for the first call in the turn
	Final          bool // whether no more tool calls are allowed
	MaxTokens      int  // output limit; 0 means the driver's default
	// Usage, Answered and Took are set after the call. Answered is the name of the model that
	// answered.
	Usage    llm.Usage
	Answered string
	Took     time.Duration
}

// ToolCall is a copy of a tool call, for hooks.
type ToolCall struct {
	Event, Session, Call string
	Tool                 string // tool that is executed, even inside use_tool
	Effects              tools.Effects
	Args                 json.RawMessage
	Attended, Tainted    bool
	// Text, Err and Took are set after the call. Text is what the model reads.
	Text string
	Err  error
	Took time.Duration
}

// middleware is one link of the chain. It works on the call itself, while a Hook gets a copy.
type middleware struct {
	name string
	// early reports whether the link processes every call in an answer before the first one runs,
	// because it determines which calls may run in parallel.
	early bool
	// always reports whether the middleware also processes calls that an earlier one refused.
	always      bool
	beforeModel func(ctx context.Context, q *modelCall) error
	afterModel  func(ctx context.Context, q *modelCall)
	beforeTool  func(ctx context.Context, s *callStep) error
	afterTool   func(ctx context.Context, s *callStep)
}

// modelCall is a request to the model that is in progress.
type modelCall struct {
	model llm.Model
	round int // 1 for the first call in the turn
	req   llm.Request
	resp  llm.Response
	took  time.Duration
}

// turnAbort is an error from a link that ends the turn instead of only the call.
type turnAbort struct{ error }

func (e turnAbort) Unwrap() error { return e.error }

// hookChain passes model calls and tool calls through the chain (see Hook).
type hookChain struct {
	o     *Options
	t     *Turn
	conv  *conversation
	links []middleware
}

// buildChain returns the chain for a turn, in the fixed order (see Hook).
func (r *turnRun) buildChain(ctx context.Context) []middleware {
	chain := make([]middleware, 0, 10+len(r.o.Hooks))
	chain = append(chain, r.chain.loggingMiddleware(ctx), r.calls.routingMiddleware(), r.calls.schemaMiddleware(), r.budget.limitMiddleware())
	if r.o.Skills != nil {
		chain = append(chain, r.calls.skillMiddleware())
	}
	for _, h := range r.o.Hooks {
		chain = append(chain, r.chain.hookMiddleware(h))
	}
	return append(chain, r.chain.programMiddleware(), r.policy.policyMiddleware(), r.feed.feedMiddleware(), r.calls.truncationMiddleware(), r.calls.auditMiddleware(), r.model.answerTextMiddleware())
}

// beforeModel passes a request through the chain.
func (hc *hookChain) beforeModel(ctx context.Context, q *modelCall) error {
	for _, l := range hc.links {
		if l.beforeModel == nil {
			continue
		}
		err := checkWithRecover(func() error { return l.beforeModel(ctx, q) })
		if _, clear := errors.AsType[*llm.Error](err); err != nil && !clear {
			return fmt.Errorf("hook %q failed before the model call: %w", l.name, err)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// afterModel passes an answer back through the chain.
func (hc *hookChain) afterModel(ctx context.Context, q *modelCall) {
	for i := len(hc.links) - 1; i >= 0; i-- {
		if l := hc.links[i]; l.afterModel != nil {
			hc.runAfterHook(l.name, func() { l.afterModel(ctx, q) })
		}
	}
}

// beforeTool passes a call through the early or the late part of the chain. A link that fails or
// panics denies the call. An error that beforeTool returns ends the turn.
func (hc *hookChain) beforeTool(ctx context.Context, s *callStep, early bool) error {
	if !s.ran {
		s.inView, s.tainted = hc.conv.contextOrigins(), hc.conv.isTainted()
	}
	for _, l := range hc.links {
		if l.beforeTool == nil || l.early != early || s.hasOutcome() && !l.always {
			continue
		}
		err := checkWithRecover(func() error { return l.beforeTool(ctx, s) })
		if e, ok := errors.AsType[turnAbort](err); ok {
			return e.error
		}
		if err != nil {
			s.refuseCall(l.name, denialError(l.name, err))
		}
	}
	return nil
}

// afterTool passes the result of a call back through the chain.
func (hc *hookChain) afterTool(ctx context.Context, s *callStep) {
	for i := len(hc.links) - 1; i >= 0; i-- {
		if l := hc.links[i]; l.afterTool != nil {
			hc.runAfterHook(l.name, func() { l.afterTool(ctx, s) })
		}
	}
}

// denialError returns the error that the model receives if a link failed.
func denialError(name string, err error) error {
	if _, ok := errors.AsType[*tools.Error](err); ok {
		return err
	}
	return tools.Errorf(tools.PolicyDenied, "the check %q failed, so the call is refused: %w", tools.Clean(name), err)
}

// checkWithRecover runs the check of a link and converts a panic into an error.
func checkWithRecover(check func() error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("panic: %v", p)
		}
	}()
	return check()
}

// runAfterHook runs the second half of a link. A panic is logged.
func (hc *hookChain) runAfterHook(name string, do func()) {
	defer func() {
		if p := recover(); p != nil {
			hc.o.Log.Error("hook panicked", "hook", name, "event", hc.t.Event.ID, "panic", fmt.Sprint(p))
		}
	}()
	do()
}

// hookMiddleware returns the middleware for a hook. The hook gets copies.
func (hc *hookChain) hookMiddleware(h Hook) middleware {
	l := middleware{name: h.Name}
	if h.BeforeModel != nil {
		l.beforeModel = func(ctx context.Context, q *modelCall) error { return h.BeforeModel(ctx, hc.modelCallCopy(q)) }
	}
	if h.AfterModel != nil {
		l.afterModel = func(ctx context.Context, q *modelCall) { h.AfterModel(ctx, hc.modelCallCopy(q)) }
	}
	if h.BeforeTool != nil {
		l.beforeTool = func(ctx context.Context, s *callStep) error { return h.BeforeTool(ctx, hc.toolCallCopy(s)) }
	}
	if h.AfterTool != nil {
		l.afterTool = func(ctx context.Context, s *callStep) { h.AfterTool(ctx, hc.toolCallCopy(s)) }
	}
	return l
}

func (hc *hookChain) modelCallCopy(q *modelCall) ModelCall {
	return ModelCall{
		Event: hc.t.Event.ID, Session: hc.t.Event.Session, Model: q.model.Info(), Round: q.round, Final: q.req.NoTools,
		MaxTokens: q.req.MaxTokens, Usage: q.resp.Usage, Answered: q.resp.Model, Took: q.took,
	}
}

func (hc *hookChain) toolCallCopy(s *callStep) ToolCall {
	c := ToolCall{
		Event: hc.t.Event.ID, Session: hc.t.Event.Session, Call: s.call.ID, Tool: s.call.Name, Args: bytes.Clone(s.args),
		Attended: hc.t.Attended, Tainted: hc.conv.isTainted(), Text: s.text, Err: s.err, Took: s.took,
	}
	if s.tool != nil {
		c.Tool, c.Effects = s.tool.Spec().Name, s.tool.Spec().Effects
	}
	return c
}

// loggingMiddleware returns the outermost middleware. The log records only durations, because the
// database has the contents.
func (hc *hookChain) loggingMiddleware(ctx context.Context) middleware {
	l := middleware{name: "log"}
	if !hc.o.Log.Enabled(ctx, slog.LevelDebug) {
		return l
	}
	var asked time.Time
	l.beforeModel = func(context.Context, *modelCall) error {
		asked = time.Now()
		return nil
	}
	l.afterModel = func(ctx context.Context, q *modelCall) {
		hc.o.Log.DebugContext(ctx, "model answered", "event", hc.t.Event.ID, "model", q.model.Info().Name(), "round", q.round,
			"took", time.Since(asked), "input", q.resp.Usage.Input, "output", q.resp.Usage.Output, "calls", len(q.resp.Calls()))
	}
	l.afterTool = func(ctx context.Context, s *callStep) {
		tool := "(none)" // a name that the model invented counts as message text, which the log must not contain
		if s.tool != nil {
			tool = s.tool.Spec().Name
		}
		hc.o.Log.DebugContext(ctx, "tool call ended", "event", hc.t.Event.ID, "call", s.call.ID, "tool", tool,
			"verdict", s.dec.Verdict.String(), "rule", s.dec.Rule, "outcome", outcomeOf(s), "took", s.took)
	}
	return l
}
