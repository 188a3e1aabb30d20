package turn

import (
	"context"
	"encoding/json"

	"hob/autonomy/llm"
	"hob/tools"
)

// resolveAll finds the tools of the calls. With replay, it also restores the outcome of calls
// that ran before a crash.
func (r *turnRun) resolveAll(ctx context.Context, calls []llm.ToolCall, replay bool) []*callStep {
	steps := make([]*callStep, len(calls))
	for i, c := range calls {
		s := &callStep{call: c, args: c.Args}
		steps[i] = s
		if i >= maxCalls {
			s.refuseCall("route", tools.Errorf(tools.TooManyCalls, "an answer may have %d calls; this one was refused, make it in the next answer", maxCalls))
		}
		if err := r.beforeTool(ctx, s, true); err != nil {
			s.refuseCall("route", denialError("route", err)) // no early link ends a turn
		}
		if replay {
			r.replayCall(ctx, s)
		}
	}
	return steps
}

// routingMiddleware resolves the actual tool of a call, including one inside use_tool.
func (r *turnRun) routingMiddleware() middleware {
	return middleware{name: "route", early: true, beforeTool: func(_ context.Context, s *callStep) error {
		name := s.call.Name
		if s.call.Truncated {
			return tools.Errorf(tools.TruncatedCall, "the arguments of %s arrived cut off, so nothing was done; call again with shorter arguments", tools.Clean(name))
		}
		if name == useTool {
			var in useArgs
			if err := json.Unmarshal(s.call.Args, &in); err != nil || in.Name == "" {
				return tools.Errorf(tools.InvalidArguments, "use_tool takes {\"name\": ..., \"arguments\": {...}}")
			}
			name, s.args = in.Name, in.Arguments
			if len(s.args) == 0 {
				s.args = json.RawMessage("{}")
			}
		}
		if name == findTools {
			s.tool = toolFinder{r.o.Catalogue}
			return nil
		}
		t, ok := r.o.Catalogue.Get(name)
		if other, there := r.findOtherAgentTool(name); !ok && there {
			s.tool = other
			return tools.Errorf(tools.PolicyDenied, "%s: %s is not one of your tools; do without it, or say what is missing", tools.PolicyDenied, tools.Clean(name))
		}
		if !ok {
			return tools.Errorf(tools.NotFound, "there is no tool %q; call find_tools with a few words", tools.Clean(name))
		}
		s.tool = tools.For(t, s.args)
		return nil
	}}
}

// findOtherAgentTool finds a tool that there is, but not for this agent.
func (r *turnRun) findOtherAgentTool(name string) (tools.Tool, bool) {
	if r.o.Whole == nil {
		return nil, false
	}
	return r.o.Whole.Get(name)
}

// schemaMiddleware compares the arguments with the tool's schema.
func (r *turnRun) schemaMiddleware() middleware {
	return middleware{name: "schema", early: true, beforeTool: func(_ context.Context, s *callStep) error {
		return tools.Check(s.tool, s.args)
	}}
}
