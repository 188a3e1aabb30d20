package turn

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"time"

	"hob/autonomy/llm"
	"hob/tools"
)

// middleware is an internal middleware of the chain. It works on the call itself, while a Hook gets a
// copy.
type middleware struct {
	name string
	// early marks a link that sees every call of an answer before the first one runs, because it
	// determines which calls may run in parallel.
	early bool
	// always: it concerns calls that an earlier link refused, too.
	always      bool
	beforeModel func(ctx context.Context, q *modelCall) error
	afterModel  func(ctx context.Context, q *modelCall)
	beforeTool  func(ctx context.Context, s *callStep) error
	afterTool   func(ctx context.Context, s *callStep)
}

// modelCall is one request to the model in progress.
type modelCall struct {
	req  llm.Request
	resp llm.Response
	took time.Duration
}

// turnAbort is an error of a link that ends the turn instead of the call.
type turnAbort struct{ error }

func (e turnAbort) Unwrap() error { return e.error }

// buildChain returns the chain of a turn, in its fixed order (see Hook).
func (r *turnRun) buildChain(ctx context.Context) []middleware {
	chain := make([]middleware, 0, 8+len(r.o.Hooks))
	chain = append(chain, r.loggingMiddleware(ctx), r.routingMiddleware(), r.schemaMiddleware(), r.limitMiddleware())
	for _, h := range r.o.Hooks {
		chain = append(chain, r.hookMiddleware(h))
	}
	return append(chain, r.policyMiddleware(), r.feedMiddleware(), r.truncationMiddleware(), r.auditMiddleware(), r.answerTextMiddleware())
}

// beforeModel passes a request along the chain.
func (r *turnRun) beforeModel(ctx context.Context, q *modelCall) error {
	for _, l := range r.chain {
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

// afterModel passes an answer back along it.
func (r *turnRun) afterModel(ctx context.Context, q *modelCall) {
	for i := len(r.chain) - 1; i >= 0; i-- {
		if l := r.chain[i]; l.afterModel != nil {
			r.runAfterHook(l.name, func() { l.afterModel(ctx, q) })
		}
	}
}

// beforeTool passes a call along the early or the late part of the chain. A link that fails or
// panics denies the call. The returned error ends the turn.
func (r *turnRun) beforeTool(ctx context.Context, s *callStep, early bool) error {
	for _, l := range r.chain {
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

// afterTool passes the result of a call back along the chain.
func (r *turnRun) afterTool(ctx context.Context, s *callStep) {
	for i := len(r.chain) - 1; i >= 0; i-- {
		if l := r.chain[i]; l.afterTool != nil {
			r.runAfterHook(l.name, func() { l.afterTool(ctx, s) })
		}
	}
}

// denialError returns the error that the model gets for a failed link.
func denialError(name string, err error) error {
	if _, ok := errors.AsType[*tools.Error](err); ok {
		return err
	}
	return tools.Errorf(tools.PolicyDenied, "%s: the check %q broke down, so the call is refused: %w", tools.PolicyDenied, tools.Clean(name), err)
}

// checkWithRecover runs a link's check; a panic is an error.
func checkWithRecover(check func() error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("panic: %v", p)
		}
	}()
	return check()
}

// runAfterHook runs the second half of a link; a panic is logged.
func (r *turnRun) runAfterHook(name string, do func()) {
	defer func() {
		if p := recover(); p != nil {
			r.o.Log.Error("hook panicked", "hook", name, "event", r.t.Event.ID, "panic", fmt.Sprint(p))
		}
	}()
	do()
}

// hookMiddleware makes a link of a hook: it is given copies.
func (r *turnRun) hookMiddleware(h Hook) middleware {
	l := middleware{name: h.Name}
	if h.BeforeModel != nil {
		l.beforeModel = func(ctx context.Context, q *modelCall) error { return h.BeforeModel(ctx, r.modelCall(q)) }
	}
	if h.AfterModel != nil {
		l.afterModel = func(ctx context.Context, q *modelCall) { h.AfterModel(ctx, r.modelCall(q)) }
	}
	if h.BeforeTool != nil {
		l.beforeTool = func(ctx context.Context, s *callStep) error { return h.BeforeTool(ctx, r.hookToolCall(s)) }
	}
	if h.AfterTool != nil {
		l.afterTool = func(ctx context.Context, s *callStep) { h.AfterTool(ctx, r.hookToolCall(s)) }
	}
	return l
}

func (r *turnRun) modelCall(q *modelCall) ModelCall {
	return ModelCall{
		Event: r.t.Event.ID, Session: r.t.Event.Session, Model: r.model.Info(), Round: r.round, Final: q.req.NoTools,
		MaxTokens: q.req.MaxTokens, Usage: q.resp.Usage, Answered: q.resp.Model, Took: q.took,
	}
}

func (r *turnRun) hookToolCall(s *callStep) ToolCall {
	c := ToolCall{
		Event: r.t.Event.ID, Session: r.t.Event.Session, Call: s.call.ID, Tool: s.call.Name, Args: bytes.Clone(s.args),
		Attended: r.t.Attended, Tainted: r.isTainted(), Text: s.text, Err: s.err, Took: s.took,
	}
	if s.tool != nil {
		c.Tool, c.Effects = s.tool.Spec().Name, s.tool.Spec().Effects
	}
	return c
}
