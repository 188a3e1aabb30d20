package turn

import (
	"context"
	"log/slog"
	"time"
)

// loggingMiddleware returns the outermost middleware. The database has the contents; the log records
// durations.
func (r *turnRun) loggingMiddleware(ctx context.Context) middleware {
	l := middleware{name: "log"}
	if !r.o.Log.Enabled(ctx, slog.LevelDebug) {
		return l
	}
	var asked time.Time
	l.beforeModel = func(context.Context, *modelCall) error {
		asked = time.Now()
		return nil
	}
	l.afterModel = func(ctx context.Context, q *modelCall) {
		r.o.Log.DebugContext(ctx, "model answered", "event", r.t.Event.ID, "model", r.model.Info().Name(), "round", r.round,
			"took", time.Since(asked), "input", q.resp.Usage.Input, "output", q.resp.Usage.Output, "calls", len(q.resp.Calls()))
	}
	l.afterTool = func(ctx context.Context, s *callStep) {
		tool := "(none)" // a name invented by the model is a text, and the log contains no texts
		if s.tool != nil {
			tool = s.tool.Spec().Name
		}
		r.o.Log.DebugContext(ctx, "tool call ended", "event", r.t.Event.ID, "call", s.call.ID, "tool", tool,
			"verdict", s.dec.Verdict.String(), "rule", s.dec.Rule, "outcome", outcomeOf(s), "took", s.took)
	}
	return l
}
