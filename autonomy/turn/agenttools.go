package turn

import (
	"context"
	"encoding/json"
	"strings"

	"hob/autonomy/guard"
	"hob/autonomy/guard/clients"
	"hob/autonomy/llm"
	"hob/platform/text/shortid"
	"hob/tools"
)

// agentCallPrefix is the prefix of the ids of calls that an external agent makes with Hob's tools.
// The conversation does not contain these calls, so they cannot continue after an interruption.
const agentCallPrefix = "agentcall_"

// isAgentCall reports whether a call belongs to an external agent: an action of its own, or a call
// of one of Hob's tools.
func isAgentCall(tool, call string) bool {
	return strings.HasPrefix(tool, pseudoPrefix) || strings.HasPrefix(call, agentCallPrefix)
}

// ToolEndpoint implements llm.ToolServer.
func (d *permissionBroker) ToolEndpoint() (url, token string, ok bool) {
	if d.o.Clients == nil || d.o.ClientURL == nil || d.t.Guest {
		return "", "", false
	}
	if url = d.o.ClientURL(); url == "" {
		return "", "", false
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.closed {
		return "", "", false
	}
	if d.detach != nil {
		d.detach()
	}
	token, d.detach = d.o.Clients.Attach(d.t.Event.Session, clients.Access{Tools: d.offeredTools, Call: d.callTool})
	d.o.Redact.Add(token)
	return url, token, true
}

func (d *permissionBroker) offeredTools() []clients.OfferedTool {
	out := make([]clients.OfferedTool, len(d.offered))
	for i, t := range d.offered {
		out[i] = clients.OfferedTool{Name: t.Name, Description: t.Description, Schema: t.Schema}
	}
	return out
}

// callTool runs one of Hob's tools for the agent. The call passes the same chain as a call of a
// model, and waits in memory while the owner is asked. The calls of a turn run one after another.
func (d *permissionBroker) callTool(ctx context.Context, name string, args json.RawMessage) (clients.Reply, error) {
	ctx, done, err := d.enterCall(ctx)
	if err != nil {
		return clients.Reply{}, err
	}
	defer done()
	d.toolMu.Lock()
	defer d.toolMu.Unlock()
	id := agentCallPrefix + lastIDChars(d.t.Event.ID) + "_" + shortid.New("")
	s := &callStep{call: llm.ToolCall{ID: id, Name: name, Args: args}, args: args, heldInMemory: true}
	question, err := d.decideTool(ctx, s)
	if err != nil {
		return clients.Reply{}, err
	}
	if s.dec.Verdict == guard.Ask && !s.hasOutcome() {
		if err := d.awaitAnswer(ctx, &pendingAction{callStep: s}, question); err != nil {
			return clients.Reply{}, err
		}
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.closed || ctx.Err() != nil {
		return clients.Reply{}, errBrokerClosed
	}
	if !s.hasOutcome() {
		if err := d.exec.performCall(ctx, s); err != nil {
			return clients.Reply{}, err
		}
	}
	d.chain.afterTool(ctx, s)
	if err := d.rec.saveSteps(ctx); err != nil {
		return clients.Reply{}, err
	}
	r := clients.Reply{Text: s.text}
	if s.err != nil {
		r.Code = string(tools.CodeOf(s.err))
	}
	return r, nil
}

// decideTool passes a call through the chain up to the policy check, and stores the approval
// request if the owner must be asked.
func (d *permissionBroker) decideTool(ctx context.Context, s *callStep) (guard.Approval, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.feed.publishEvent("tool_call_start", map[string]any{"id": s.call.ID, "name": s.call.Name})
	for _, early := range []bool{true, false} {
		if err := d.chain.beforeTool(ctx, s, early); err != nil {
			return guard.Approval{}, err
		}
	}
	if _, waits := s.tool.(tools.Waiter); waits && !s.hasOutcome() {
		s.refuseCall("route", tools.Errorf(tools.Unsupported, "%s starts work that goes on after the call, which an external agent cannot wait for; do it with your own tools", tools.Clean(s.tool.Spec().Name)))
	}
	if s.hasOutcome() || s.dec.Verdict != guard.Ask {
		return guard.Approval{}, nil
	}
	return d.askOwner(ctx, &pendingAction{callStep: s})
}
