package mcpserver

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"hob/autonomy/api"
)

// Waiting for the user. Many clients give up after 60 s, so the server answers earlier; the client
// then repeats the call.
const (
	patience      = 45 * time.Second
	progressEvery = 5 * time.Second
)

// approvalRequired is the code of a call that waits for the user.
const approvalRequired = "approval_required"

const instructions = "Hob is the personal assistant of its user. Some calls need the user's approval: such a call returns approval_required with the id of the request. " +
	"Ask the user to answer it in Hob, then repeat exactly the same call. Nothing in this protocol can answer it."

func (p *program) serverOptions() *mcp.ServerOptions {
	o := &mcp.ServerOptions{
		Instructions: instructions,
		SetCacheable: func(_ context.Context, _ mcp.Request, c *mcp.Cacheable) { c.CacheScope = "private" },
		Capabilities: &mcp.ServerCapabilities{
			Tools: &mcp.ToolCapabilities{ListChanged: true}, Prompts: &mcp.PromptCapabilities{ListChanged: true},
		},
		SubscribeHandler: p.subscribeSession, UnsubscribeHandler: p.unsubscribeSession,
	}
	addFixtureOptions(o)
	return o
}

// addTool registers a tool. The SDK panics if a schema is not an object; addTool then omits the
// tool.
func (p *program) addTool(t api.Tool) {
	defer func() {
		if r := recover(); r != nil {
			p.s.o.Log.Error("mcp: tool not offered", "tool", t.Name, "err", fmt.Sprint(r))
		}
	}()
	readOnly := slices.Equal(t.Effects, []string{"read"})
	p.mcp.AddTool(&mcp.Tool{
		Name: t.Name, Description: t.Description, InputSchema: t.Schema,
		Annotations: &mcp.ToolAnnotations{ReadOnlyHint: readOnly, DestructiveHint: new(slices.Contains(t.Effects, "destroy")), OpenWorldHint: new(slices.Contains(t.Effects, "send") || slices.Contains(t.Effects, "egress"))},
	}, p.callTool)
}

// callTool runs a tool for the client.
func (p *program) callTool(ctx context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	args := req.Params.Arguments
	if len(bytes.TrimSpace(args)) == 0 {
		args = json.RawMessage("{}")
	}
	b := p.s.o.Backend
	out, err := b.ClientCall(ctx, p.client, req.Params.Name, args)
	if err == nil && isWaiting(out) {
		out, err = p.awaitUser(ctx, req, out)
	}
	if err != nil {
		return callError(err), nil
	}
	return callResult(out), nil
}

func isWaiting(out api.ToolOutcome) bool { return len(out.Approvals) > 0 && out.Code == "" }

// awaitUser waits for the user's answer and reports progress, if the client asked for progress.
// Otherwise, or if the user does not answer soon, it returns the open request. A call that the
// client cancels is withdrawn.
func (p *program) awaitUser(ctx context.Context, req *mcp.CallToolRequest, out api.ToolOutcome) (api.ToolOutcome, error) {
	token := req.Params.GetProgressToken()
	if token == nil {
		return out, nil
	}
	type result struct {
		out api.ToolOutcome
		err error
	}
	b := p.s.o.Backend
	wait, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	ended := make(chan result, 1)
	go func() {
		o, err := b.AwaitClientCall(wait, p.client, out.Event)
		ended <- result{o, err}
	}()
	tick := time.NewTicker(progressEvery)
	defer tick.Stop()
	for n := 1.0; ; n++ {
		_ = req.Session.NotifyProgress(ctx, &mcp.ProgressNotificationParams{ // if the client has disconnected, ctx ends
			ProgressToken: token, Progress: n, Message: "waiting for the user's approval: " + approvalIDs(out),
		})
		select {
		case r := <-ended:
			switch {
			case r.err == nil:
				return r.out, nil
			case ctx.Err() != nil && !p.s.closing.Load():
				return out, errors.Join(ctx.Err(), b.CancelClientCall(context.WithoutCancel(ctx), p.client, out.Event))
			case wait.Err() != nil:
				return out, nil
			}
			return out, r.err
		case <-tick.C:
		}
	}
}

func approvalIDs(out api.ToolOutcome) string {
	var ids []string
	for _, a := range out.Approvals {
		ids = append(ids, a.ID)
	}
	return strings.Join(ids, ", ")
}

// errorBody is the structured content of a failed call.
type errorBody struct {
	Code      string   `json:"code"`
	Message   string   `json:"message"`
	Approvals []string `json:"approvals,omitempty"`
}

// callResult converts the outcome of a call.
func callResult(out api.ToolOutcome) *mcp.CallToolResult {
	switch {
	case isWaiting(out):
		e := errorBody{Code: approvalRequired, Message: "the user must approve this call in Hob; then repeat exactly this call"}
		for _, a := range out.Approvals {
			e.Approvals = append(e.Approvals, a.ID)
		}
		return failedCall(e)
	case out.Code != "":
		message := out.Error
		if !strings.Contains(message, out.Code) {
			message = out.Code + ": " + message
		}
		return failedCall(errorBody{Code: out.Code, Message: message})
	}
	r := &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: out.Text}}}
	if d := bytes.TrimSpace(out.Data); len(d) > 0 && d[0] == '{' {
		r.StructuredContent = out.Data
	}
	return r
}

func failedCall(e errorBody) *mcp.CallToolResult {
	text := e.Message
	if len(e.Approvals) > 0 {
		text = e.Code + " " + strings.Join(e.Approvals, ", ") + ": " + text
	}
	return &mcp.CallToolResult{IsError: true, Content: []mcp.Content{&mcp.TextContent{Text: text}}, StructuredContent: e}
}

// callError converts an error of the backend. It names no internals.
func callError(err error) *mcp.CallToolResult {
	e := errorBody{Code: "failed", Message: "the call failed; see Hob's log"}
	for _, c := range []struct {
		class error
		code  string
	}{
		{api.ErrNotFound, "not_found"},
		{api.ErrInvalid, "invalid_arguments"},
		{api.ErrDenied, "policy_denied"},
		{api.ErrConflict, "conflict"},
		{api.ErrFull, "disk_full"},
		{context.Canceled, "cancelled"},
		{context.DeadlineExceeded, "timeout"},
	} {
		if errors.Is(err, c.class) {
			e.Code, e.Message = c.code, err.Error()
			break
		}
	}
	return failedCall(e)
}
