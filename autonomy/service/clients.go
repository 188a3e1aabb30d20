package service

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"hob/autonomy/api"
	"hob/autonomy/approvals"
	"hob/autonomy/bus"
	"hob/autonomy/guard"
	"hob/autonomy/guard/clients"
	"hob/platform/store"
	"hob/tools"
)

// Clients implements api.Clients.
func (sv *Service) Clients(ctx context.Context, q api.Query) ([]api.Client, error) {
	kind := cmp.Or(q.State, clients.MCP)
	if err := oneOf(kind, clients.MCP, clients.A2A); err != nil {
		return nil, err
	}
	list, err := sv.o.Clients.List(ctx, kind)
	return ConvertEach(list, func(c clients.Client) api.Client { return api.Client(c) }), Classify(err)
}

// CreateClient implements api.Clients.
func (sv *Service) CreateClient(ctx context.Context, n api.NewClient) (api.ClientToken, error) {
	var expires time.Time
	if n.Expires != "" {
		d, err := approvals.ParseGrantDuration(n.Expires)
		if err != nil {
			return api.ClientToken{}, fmt.Errorf("%w: expires: %w", api.ErrInvalid, err)
		}
		expires = time.Now().Add(d)
	}
	if n.Kind == clients.MCP {
		for _, t := range n.Tools {
			if !slices.Contains(sv.o.Config.MCPTools(), t) {
				return api.ClientToken{}, fmt.Errorf("%w: %q is not in [mcp.server] tools; add it there first: hob config set mcp.server.tools", api.ErrInvalid, t)
			}
		}
	}
	token, err := sv.o.Clients.Create(ctx, n.Kind, n.Name, n.Tools, expires)
	if err != nil {
		return api.ClientToken{}, Classify(err)
	}
	sv.o.Redact.Add(token)
	c, err := sv.o.Clients.Authenticate(ctx, n.Kind, token)
	if err != nil {
		return api.ClientToken{}, Classify(err)
	}
	out := api.ClientToken{Client: api.Client(c), Token: token}
	for _, t := range sv.clientTools(c) {
		out.Callable = append(out.Callable, t.Spec().Name)
	}
	return out, nil
}

// RevokeClient implements api.Clients. The token is invalid even if an open call cannot be ended.
func (sv *Service) RevokeClient(ctx context.Context, kind, client string) (api.Client, error) {
	c, err := sv.o.Clients.Revoke(ctx, kind, client)
	if err != nil {
		return api.Client{}, Classify(err)
	}
	open, err := sv.o.Clients.OpenCalls(ctx, c)
	for _, event := range open {
		err = errors.Join(err, sv.CancelClientCall(ctx, api.Client(c), event))
	}
	return api.Client(c), Classify(err)
}

// AuthenticateClient implements api.ClientCalls.
func (sv *Service) AuthenticateClient(ctx context.Context, kind, token string) (api.Client, error) {
	c, err := sv.o.Clients.Authenticate(ctx, kind, token)
	return api.Client(c), Classify(err)
}

// IsClientValid reports whether the client with an id exists and its token has not expired.
func (sv *Service) IsClientValid(ctx context.Context, kind, id string) (bool, error) {
	valid, err := sv.o.Clients.IsValid(ctx, kind, id)
	return valid, Classify(err)
}

// ClientTools implements api.ClientCalls.
func (sv *Service) ClientTools(_ context.Context, c api.Client) ([]api.Tool, error) {
	if c.Kind == clients.Session {
		a, ok := sv.o.Clients.SessionAccess(clients.Client(c))
		if !ok {
			return nil, Classify(clients.ErrUnknownToken)
		}
		return ConvertEach(a.Tools(), func(t clients.OfferedTool) api.Tool {
			return api.Tool{Name: t.Name, Description: t.Description, Schema: t.Schema}
		}), nil
	}
	return ConvertEach(sv.clientTools(clients.Client(c)), apiTool), nil
}

// clientTools returns the tools that a client may call: those in the configuration that exist and
// that its token allows.
func (sv *Service) clientTools(c clients.Client) (out []tools.Tool) {
	if c.Kind != clients.MCP {
		return nil
	}
	for _, name := range sv.o.Config.MCPTools() {
		if t, ok := sv.o.Catalog.Get(name); ok && c.MayCall(name) {
			out = append(out, t)
		}
	}
	return out
}

// keepDenial is how long a call that the user denied stays denied without another request.
const keepDenial = time.Hour

// ClientCall implements api.ClientCalls.
func (sv *Service) ClientCall(ctx context.Context, ac api.Client, tool string, args json.RawMessage) (api.ToolOutcome, error) {
	if ac.Kind == clients.Session {
		return sv.callForAgent(ctx, clients.Client(ac), tool, args)
	}
	return sv.callForClient(ctx, clients.Client(ac), tool, tool, args)
}

// callForAgent runs a tool in the running turn of an external agent.
func (sv *Service) callForAgent(ctx context.Context, c clients.Client, tool string, args json.RawMessage) (api.ToolOutcome, error) {
	a, ok := sv.o.Clients.SessionAccess(c)
	if !ok {
		return api.ToolOutcome{}, Classify(clients.ErrUnknownToken)
	}
	r, err := a.Call(ctx, tool, args)
	if err != nil {
		return api.ToolOutcome{}, fmt.Errorf("%w: the turn is over: %w", api.ErrDenied, err)
	}
	out := api.ToolOutcome{Text: r.Text, Code: r.Code}
	if r.Code != "" {
		out.Error = r.Text
	}
	return out, nil
}

// callForClient runs a tool for a client that may call the tool allowedBy.
func (sv *Service) callForClient(ctx context.Context, c clients.Client, allowedBy, tool string, args json.RawMessage) (api.ToolOutcome, error) {
	t, ok := sv.o.Catalog.Get(tool)
	if !ok || !slices.ContainsFunc(sv.clientTools(c), func(t tools.Tool) bool { return t.Spec().Name == allowedBy }) {
		return api.ToolOutcome{}, fmt.Errorf("tool %q: %w; call tools/list for the tools of this client", tool, api.ErrNotFound)
	}
	readOnly := t.Spec().All().ReadOnly()
	var event string
	err := sv.o.Store.Write(ctx, func(tx *store.Tx) (err error) {
		event, err = sv.o.Clients.JoinCallTx(tx, c, guard.HashArguments(tool, args), func(event string) (bool, error) {
			return sv.canJoinCall(ctx, event, readOnly)
		}, func() (string, error) { return sv.o.Intake.ClientCallTx(tx, c.Person(), tool, args) })
		return err
	})
	if err != nil {
		return api.ToolOutcome{}, Classify(err)
	}
	s, err := sv.Wait(ctx, event)
	if err != nil {
		return api.ToolOutcome{}, err
	}
	return sv.clientOutcome(ctx, c, s)
}

// ClientResource implements api.ClientCalls. list_notes also returns the text of notes, so a client
// that may call it may read one note.
func (sv *Service) ClientResource(ctx context.Context, ac api.Client, uri string) (api.ToolOutcome, error) {
	c := clients.Client(ac)
	if uri == "hob://tasks" {
		return sv.callForClient(ctx, c, "list_tasks", "list_tasks", json.RawMessage("{}"))
	}
	id, ok := strings.CutPrefix(uri, "hob://notes/")
	if !ok || id == "" {
		return api.ToolOutcome{}, fmt.Errorf("resource %q: %w", uri, api.ErrNotFound)
	}
	args, err := json.Marshal(map[string]string{"note": id})
	if err != nil {
		return api.ToolOutcome{}, err
	}
	return sv.callForClient(ctx, c, "list_notes", "read_note", args)
}

// ClientResourceVersion implements api.ClientCalls.
func (sv *Service) ClientResourceVersion(ctx context.Context, ac api.Client, uri string) (string, error) {
	id, isNote := strings.CutPrefix(uri, "hob://notes/")
	tool, isNote := "list_tasks", isNote && id != ""
	if isNote {
		tool = "list_notes"
	}
	if !isNote && uri != "hob://tasks" || !slices.ContainsFunc(sv.clientTools(clients.Client(ac)), func(t tools.Tool) bool { return t.Spec().Name == tool }) {
		return "", fmt.Errorf("resource %q: %w", uri, api.ErrNotFound)
	}
	if !isNote {
		list, err := sv.Tasks(ctx, api.Query{})
		return versionOf(list, err)
	}
	list, err := sv.Notes(ctx, api.Query{}) // the list contains the newest notes first, so a changed note is in it
	return versionOf(slices.DeleteFunc(list, func(n api.Note) bool { return n.ID != id }), err)
}

// versionOf returns a digest of a list.
func versionOf[T any](list []T, err error) (string, error) {
	if err != nil {
		return "", err
	}
	b, err := json.Marshal(list)
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:]), err
}

// SkillPrompts provides the skills that external programs may read.
type SkillPrompts interface {
	api.Skills

	// SkillPrompts returns the skills, sorted by name, without their text.
	SkillPrompts(ctx context.Context) ([]api.SkillPrompt, error)
	// SkillPrompt returns a skill with its text, or an error that wraps api.ErrNotFound.
	SkillPrompt(ctx context.Context, name string) (api.SkillPrompt, error)
}

// Skills implements api.Skills.
func (sv *Service) Skills(ctx context.Context) ([]api.Skill, error) {
	if sv.o.Skills == nil {
		return nil, nil
	}
	return sv.o.Skills.Skills(ctx)
}

// ClientPrompts implements api.ClientCalls.
func (sv *Service) ClientPrompts(ctx context.Context, c api.Client) ([]api.SkillPrompt, error) {
	if sv.o.Skills == nil || c.Kind != clients.MCP {
		return nil, nil
	}
	return sv.o.Skills.SkillPrompts(ctx)
}

// ClientPrompt implements api.ClientCalls.
func (sv *Service) ClientPrompt(ctx context.Context, c api.Client, name string) (api.SkillPrompt, error) {
	if sv.o.Skills == nil || c.Kind != clients.MCP {
		return api.SkillPrompt{}, fmt.Errorf("skill %q: %w", name, api.ErrNotFound)
	}
	return sv.o.Skills.SkillPrompt(ctx, name)
}

// canJoinCall reports whether a repeated call gets the outcome of an earlier event. The result of a
// finished lookup may be out of date, and an old denial does not apply forever.
func (sv *Service) canJoinCall(ctx context.Context, event string, readOnly bool) (bool, error) {
	e, err := sv.o.Bus.Inbox.Event(ctx, event)
	switch {
	case errors.Is(err, bus.ErrNotFound):
		return false, nil
	case err != nil:
		return false, err
	case e.State != bus.Done && e.State != bus.Dead:
		return true, nil
	}
	calls, err := sv.o.Bus.Ledger.Calls(ctx, event)
	if err != nil {
		return false, err
	}
	denied := slices.ContainsFunc(calls, func(c bus.Entry) bool { return c.Code == string(tools.DeniedByOwner) })
	if denied {
		return time.Since(e.DoneAt) < keepDenial, nil
	}
	return !readOnly, nil
}

// clientOutcome returns the outcome of a client's call. A final outcome is returned only once,
// except for a denial by the user, which applies for keepDenial.
func (sv *Service) clientOutcome(ctx context.Context, c clients.Client, s api.EventStatus) (api.ToolOutcome, error) {
	out, err := sv.callOutcome(ctx, s)
	if data := json.RawMessage(sv.o.Redact.Text(string(out.Data))); json.Valid(data) { // the text of results is redacted where it is stored
		out.Data = data
	} else {
		out.Data = nil
	}
	if err != nil || len(out.Approvals) > 0 || out.Code == string(tools.DeniedByOwner) {
		return out, err
	}
	return out, Classify(sv.o.Clients.EndCall(ctx, c, s.ID))
}

// AwaitClientCall implements api.ClientCalls.
func (sv *Service) AwaitClientCall(ctx context.Context, ac api.Client, event string) (api.ToolOutcome, error) {
	c := clients.Client(ac)
	if owns, err := sv.o.Clients.OwnsCall(ctx, c, event); err != nil || !owns {
		return api.ToolOutcome{}, Classify(cmp.Or(err, fmt.Errorf("call %q: %w", event, clients.ErrNotFound)))
	}
	for {
		closed, cancel := sv.o.Bus.Inbox.EventClosed(event)
		e, err := sv.o.Bus.Inbox.Event(ctx, event)
		if err == nil && e.State != bus.Done && e.State != bus.Dead {
			select {
			case <-closed:
			case <-time.After(time.Second): // the event may have been suspended before this loop waited
			case <-ctx.Done():
				err = ctx.Err()
			}
			cancel()
			if err == nil {
				continue
			}
			return api.ToolOutcome{}, err
		}
		cancel()
		if err != nil {
			return api.ToolOutcome{}, Classify(err)
		}
		s, err := sv.eventStatus(ctx, e)
		if err != nil {
			return api.ToolOutcome{}, err
		}
		return sv.clientOutcome(ctx, c, s)
	}
}

// CancelClientCall implements api.ClientCalls.
func (sv *Service) CancelClientCall(ctx context.Context, ac api.Client, event string) error {
	c := clients.Client(ac)
	owns, err := sv.o.Clients.OwnsCall(ctx, c, event)
	if err != nil || !owns {
		return Classify(err)
	}
	e, err := sv.o.Bus.Inbox.Event(ctx, event)
	if err == nil {
		_, err = sv.o.Loop.Stop(ctx, e.Session)
	}
	return Classify(errors.Join(err, sv.o.Clients.EndCall(ctx, c, event)))
}
