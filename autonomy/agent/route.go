package agent

import (
	"context"
	"encoding/json"

	"hob/autonomy/llm"
	"hob/tools"
)

// resolveAll finds the tools of the calls. With replay, it also restores the outcome of calls
// that ran before a crash.
func (r *run) resolveAll(ctx context.Context, calls []llm.ToolCall, replay bool) []*step {
	steps := make([]*step, len(calls))
	for i, c := range calls {
		s := &step{call: c, args: c.Args}
		steps[i] = s
		if i >= maxCalls {
			s.refuse("route", tools.Errorf(tools.TooManyCalls, "an answer may have %d calls; this one was refused, make it in the next answer", maxCalls))
		}
		if err := r.beforeTool(ctx, s, true); err != nil {
			s.refuse("route", denial("route", err)) // no early link ends a turn
		}
		if replay {
			r.replay(ctx, s)
		}
	}
	return steps
}

// routing resolves the actual tool of a call, including one inside use_tool.
func (r *run) routing() link {
	return link{name: "route", early: true, beforeTool: func(_ context.Context, s *step) error {
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
			s.tool = finder{r.o.Catalogue}
			return nil
		}
		t, ok := r.o.Catalogue.Get(name)
		if other, there := r.elsewhere(name); !ok && there {
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

// elsewhere finds a tool that there is, but not for this agent.
func (r *run) elsewhere(name string) (tools.Tool, bool) {
	if r.o.Whole == nil {
		return nil, false
	}
	return r.o.Whole.Get(name)
}

// checking compares the arguments with the tool's schema.
func (r *run) checking() link {
	return link{name: "schema", early: true, beforeTool: func(_ context.Context, s *step) error {
		return tools.Check(s.tool, s.args)
	}}
}
