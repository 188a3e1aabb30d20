package mcp

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"time"

	"github.com/google/jsonschema-go/jsonschema"
	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"hob/autonomy/config"
	"hob/platform/provenance"
	"hob/tools"
)

// Category is the category of the tools of all servers.
const Category = "mcp"

// defaultEffects are assumed for a tool without [mcp.servers.NAME.effects]: its arguments reach a
// service, so that each call needs approval.
const defaultEffects = tools.Send

// foreignTool is one tool of a server.
type foreignTool struct {
	s     *server
	name  string // the tool's name on the server
	kind  string // "" for a tool of the server
	spec  tools.Spec
	held  bool
	check func() *jsonschema.Resolved // nil if Hob cannot use the schema to validate arguments
}

func newTool(s *server, p *pin) *foreignTool {
	t := &foreignTool{s: s, name: p.spec.Name, kind: p.spec.Kind, held: p.next != nil, spec: tools.Spec{
		Name: s.cfg.Name + tools.ForeignSeparator + p.spec.Name, Category: Category, Description: p.spec.Description, Effects: effectsOf(s.cfg, p.spec),
		Foreign: true, Remote: passesOn(s.cfg), Timeout: s.cfg.Timeout.Duration + modernTimeout + connectTimeout + listTimeout, Schema: func() json.RawMessage { return p.spec.Schema },
	}}
	if p.spec.Kind == listKind { // the call sends no data that the model chose
		t.spec.Effects, t.spec.Remote = tools.Read, false
	}
	if t.spec.Description == "" {
		t.spec.Description = p.spec.Title
	}
	t.check = sync.OnceValue(func() *jsonschema.Resolved {
		var schema jsonschema.Schema
		if json.Unmarshal(p.spec.Schema, &schema) != nil || !hasBoundedRefs(p.spec.Schema) {
			return nil
		}
		resolved, err := schema.Resolve(nil) // without a loader: references to other documents are not fetched
		if err != nil {
			return nil
		}
		return resolved
	})
	return t
}

// passesOn reports whether a server may send the arguments of calls elsewhere, although the user
// declares the tool as read. A sandboxed program without network access cannot send them. For a
// program without a sandbox, Hob believes the declaration, because it can already read and send the
// files of the user, who trusts it.
func passesOn(c config.MCPServer) bool { return c.Command == "" || c.Sandbox && c.Network }

// effectsOf returns the effects of a tool that the user configured, or the default.
func effectsOf(c config.MCPServer, spec toolSpec) tools.Effects {
	var out tools.Effects
	for name := range strings.SplitSeq(c.Effects[spec.Name], "+") {
		for i, n := range config.EffectNames() {
			if n == name {
				out |= 1 << i
			}
		}
	}
	switch {
	case out != 0:
		return out
	case c.Document != "" && readsOnly(spec):
		return tools.Egress // Hob sends only a GET, but the address contains values that the model chose
	}
	return defaultEffects
}

// Spec implements tools.Tool.
func (t *foreignTool) Spec() *tools.Spec { return &t.spec }

// Summary implements tools.Summarizer.
func (t *foreignTool) Summary(json.RawMessage) string {
	if t.s.cfg.Document != "" {
		return fmt.Sprintf("Call %s of the service %s", t.name, t.s.cfg.Name)
	}
	return fmt.Sprintf("Call %s of the MCP server %s", t.name, t.s.cfg.Name)
}

// Check rejects a call of a tool that is held back, and arguments that violate the schema.
func (t *foreignTool) Check(args json.RawMessage) error {
	if t.held {
		return t.heldError()
	}
	if len(bytes.TrimSpace(args)) == 0 {
		args = json.RawMessage("{}")
	}
	var v map[string]any
	if err := json.Unmarshal(args, &v); err != nil || v == nil {
		return tools.Errorf(tools.InvalidArguments, "the arguments of %s are not a JSON object", tools.Clean(t.spec.Name))
	}
	if r := t.check(); r != nil {
		err := r.Validate(v)
		if err != nil && r.Validate(withoutNulls(v)) == nil {
			return nil
		}
		if err != nil {
			return tools.Errorf(tools.InvalidArguments, "%s: %s; call find_tools with its name to see the arguments", tools.Clean(t.spec.Name), cutText(err.Error(), 500))
		}
	}
	return nil
}

func (t *foreignTool) heldError() error {
	return tools.Errorf(tools.PolicyDenied, "%s has changed since Hob first saw this tool, so it is held back; the user can see the change with hob mcp tools %s, and accept it with: hob mcp trust %s",
		tools.Clean(t.spec.Name), tools.Clean(t.s.cfg.Name), tools.Clean(t.s.cfg.Name))
}

// Call implements tools.Tool.
func (t *foreignTool) Call(ctx context.Context, c tools.Call) (tools.Result, error) {
	return t.callServer(ctx, c, &callRound{}, func() {})
}

// callServer makes a call that may send the answers in r. It calls begin before it sends the call.
func (t *foreignTool) callServer(ctx context.Context, c tools.Call, r *callRound, begin func()) (tools.Result, error) {
	ses, err := t.s.connectServer(ctx)
	if err != nil {
		return tools.Result{}, t.notCalled(ctx, err)
	}
	if err := t.s.updateTools(ctx, ses); err != nil {
		return tools.Result{}, t.notCalled(ctx, err)
	}
	switch p := t.s.pinOf(t.name); {
	case p == nil || p.gone:
		return tools.Result{}, tools.Errorf(tools.NotFound, "the MCP server %s no longer offers %s", tools.Clean(t.s.cfg.Name), tools.Clean(t.name))
	case p.next != nil:
		return tools.Result{}, t.heldError()
	}
	begin()
	t.startRound(ctx, ses, c, r)
	return t.awaitRound(ctx, c, r)
}

// sendCall sends the call and converts its result.
func (t *foreignTool) sendCall(ctx context.Context, ses *session, c tools.Call) (tools.Result, error) {
	if t.kind != "" {
		res, err := t.callAdded(ctx, ses, c.Args)
		if err != nil && tools.CodeOf(err) != tools.InvalidArguments {
			err = t.callError(ctx, err)
		}
		return res, err
	}
	params := &mcp.CallToolParams{Name: t.name}
	if len(bytes.TrimSpace(c.Args)) > 0 {
		params.Arguments = c.Args
	}
	params.SetProgressToken(c.ID)
	defer t.s.followProgress(c.ID, c.Progress)()
	res, err := ses.CallTool(ctx, params)
	if err != nil {
		return tools.Result{}, t.callError(ctx, err)
	}
	return t.resultOf(c, res)
}

// notCalled returns the error of a call that never reached the server.
func (t *foreignTool) notCalled(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return tools.Errorf(tools.CodeOf(ctx.Err()), "the call of %s was stopped before it reached the MCP server", tools.Clean(t.spec.Name))
	}
	return tools.Errorf(tools.Failed, "the MCP server %s is not available: %w", tools.Clean(t.s.cfg.Name), err)
}

// callError returns the error of a call that reached the server.
func (t *foreignTool) callError(ctx context.Context, err error) error {
	name, server := tools.Clean(t.spec.Name), tools.Clean(t.s.cfg.Name)
	if errors.Is(err, errAsked) {
		return errAsked
	}
	if no, ok := errors.AsType[*refusal](err); ok {
		return tools.Errorf(tools.Failed, "%s: %w", name, no)
	}
	if login, ok := errors.AsType[*loginError](err); ok { // the server refused the request
		return tools.Errorf(tools.Failed, "%s: the MCP server %s refused the call: %w", name, server, login)
	}
	code := tools.OutcomeUnknown
	unknown := "; it is unknown whether the call took effect, so check before you repeat it"
	if t.spec.Effects.ReadOnly() {
		code, unknown = tools.Failed, ""
	}
	if wire, ok := errors.AsType[*jsonrpc.Error](err); ok {
		if wire.Code == jsonrpc.CodeInvalidParams {
			code = tools.InvalidArguments
		} else if code = tools.Failed; wire.Code == jsonrpc.CodeMethodNotFound {
			code = tools.Unsupported
		}
		return tools.Errorf(code, "%s: the MCP server %s answered with an error: %s", name, server, cutText(wire.Message, 1000))
	}
	switch cause := context.Cause(ctx); {
	case cause != nil && !errors.Is(cause, errCallTimeout):
		return tools.Errorf(tools.CodeOf(cause), "%s: the call was stopped%s", name, tools.Clean(unknown))
	case cause != nil:
		if code == tools.Failed {
			code = tools.TimedOut
		}
		return tools.Errorf(code, "%s: the MCP server %s did not answer within %v ([mcp.servers.%s] timeout)%s", name, server, t.s.cfg.Timeout.Duration, server, tools.Clean(unknown))
	case errors.Is(err, mcp.ErrConnectionClosed), errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return tools.Errorf(code, "%s: the MCP server %s ended during the call%s", name, server, tools.Clean(unknown))
	}
	return tools.Errorf(code, "%s: the call of the MCP server %s failed: %w%s", name, server, err, tools.Clean(unknown))
}

// followProgress passes the progress of a call to report until the returned function is called.
func (s *server) followProgress(token string, report func(float64, string)) func() {
	if report == nil {
		return func() {}
	}
	s.mu.Lock()
	s.progress[token] = report
	s.mu.Unlock()
	return func() {
		s.mu.Lock()
		delete(s.progress, token)
		s.mu.Unlock()
	}
}

// maxNote is the size of a progress message, in bytes.
const maxNote = 200

func (s *server) reportProgress(p *mcp.ProgressNotificationParams) {
	token, ok := p.ProgressToken.(string)
	if !ok {
		return
	}
	s.mu.Lock()
	report := s.progress[token]
	s.mu.Unlock()
	if report == nil {
		return
	}
	fraction := -1.0
	if p.Total > 0 {
		fraction = min(max(p.Progress/p.Total, 0), 1)
	}
	report(fraction, strings.Join(strings.Fields(cutText(p.Message, maxNote)), " "))
}

// Limits of a result.
const (
	maxResult   = 512 << 10 // bytes of text
	maxPictures = 4
	maxPicture  = 8 << 20 // bytes
)

// resultOf converts a result. The complete result is untrusted.
func (t *foreignTool) resultOf(c tools.Call, res *mcp.CallToolResult) (tools.Result, error) {
	var b strings.Builder
	pictures := 0
	for i, part := range res.Content {
		if b.Len() > maxResult {
			break
		}
		if b.Len() > 0 {
			b.WriteString("\n")
		}
		if img, ok := part.(*mcp.ImageContent); ok {
			pictures++
			b.WriteString(t.pictureText(c, i, img, pictures))
			continue
		}
		b.WriteString(contentText(part))
	}
	out := tools.Result{Source: provenance.Outside, Origins: []provenance.Origin{{Kind: "mcp", Label: t.s.cfg.Name, Via: t.spec.Name}}}
	if res.StructuredContent != nil {
		if raw, err := json.Marshal(res.StructuredContent); err == nil && len(raw) <= maxResult {
			out.Data = json.RawMessage(raw)
			if b.Len() == 0 {
				b.Write(raw)
			}
		}
	}
	out.Text = boundText(b.String())
	if res.IsError {
		return tools.Result{}, &tools.Error{Code: tools.Failed, Message: fmt.Sprintf("%s reported an error: %s", t.spec.Name, cutText(out.Text, 4000)), Source: provenance.Outside}
	}
	if out.Text == "" {
		out.Text = "(no output)"
	}
	return out, nil
}

// boundText shortens a result.
func boundText(s string) string {
	n := len(s)
	if n <= maxResult {
		return cutText(s, maxResult)
	}
	return cutText(s, maxResult) + fmt.Sprintf("\n(cut: the result has %.1f MB)", float64(n)/(1<<20))
}

// pictureText stores a picture and returns the text that replaces it in the result.
func (t *foreignTool) pictureText(c tools.Call, n int, img *mcp.ImageContent, count int) string {
	ext := map[string]string{"image/png": ".png", "image/jpeg": ".jpg", "image/gif": ".gif", "image/webp": ".webp"}[img.MIMEType]
	switch {
	case ext == "" || len(img.Data) > maxPicture || count > maxPictures || t.s.m.opt.KeepPicture == nil:
		return fmt.Sprintf("(a picture of %d KB, not stored)", len(img.Data)>>10)
	}
	path, err := t.s.m.opt.KeepPicture(fmt.Sprintf("mcp-%s-%d%s", c.ID, n, ext), img.Data)
	if err != nil {
		return "(a picture, not stored: " + err.Error() + ")"
	}
	return fmt.Sprintf("(picture: %s)", path)
}

// contentText returns the text for one part of a result.
func contentText(part mcp.Content) string {
	switch p := part.(type) {
	case *mcp.TextContent:
		return p.Text
	case *mcp.ResourceLink:
		return strings.TrimSpace(fmt.Sprintf("(resource: %s %s %s)", cutText(p.URI, 500), cutText(p.Name, 200), cutText(p.Description, 500)))
	case *mcp.EmbeddedResource:
		if p.Resource == nil {
			return ""
		}
		if p.Resource.Text != "" || len(p.Resource.Blob) == 0 {
			return fmt.Sprintf("(resource: %s)\n%s", cutText(p.Resource.URI, 500), p.Resource.Text)
		}
		return fmt.Sprintf("(resource: %s, %d KB of %s)", cutText(p.Resource.URI, 500), len(p.Resource.Blob)>>10, cutText(p.Resource.MIMEType, 100))
	case *mcp.AudioContent:
		return fmt.Sprintf("(sound: %d KB)", len(p.Data)>>10)
	}
	return "(content of an unknown kind)"
}

// startedAt returns the start time of the connection, or the zero time if there is none.
func (ses *session) startedAt() time.Time {
	if ses == nil {
		return time.Time{}
	}
	return ses.since.UTC()
}
