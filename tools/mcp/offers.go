package mcp

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"hob/autonomy/api"
)

// Limits of the resources and prompts of a server.
const (
	maxOffers    = 1000
	maxArguments = 50 // arguments of a prompt
)

// errAsks means that a server asks a question although no chat can answer it.
var errAsks = errors.New("the server asks a question before it answers; call the tool in a chat, which can ask you")

// collectOffers lists the resources, the resource templates and the prompts of a server.
func (s *server) collectOffers(ctx context.Context, ses *session) ([]api.MCPOffer, error) {
	var out []api.MCPOffer
	watched := s.watchedURIs()
	add := func(o api.MCPOffer, texts ...string) bool {
		o.Server, o.Name = s.cfg.Name, cutText(o.Name, 500)
		o.Description = strings.Join(strings.Fields(cutText(strings.Join(texts, " "), 300)), " ")
		o.Watched = o.Kind == resourceKind && slices.Contains(watched, o.Name)
		out = append(out, o)
		return len(out) < maxOffers
	}
	caps := ses.InitializeResult().Capabilities
	if caps == nil {
		return nil, nil
	}
	if caps.Resources != nil {
		for r, err := range ses.Resources(ctx, nil) {
			if err != nil {
				return nil, err
			}
			if !add(api.MCPOffer{Kind: resourceKind, Name: r.URI}, r.Name, r.Description) {
				return out, nil
			}
		}
		for r, err := range ses.ResourceTemplates(ctx, nil) {
			if err != nil { // a server may offer resources and no templates
				break
			}
			if !add(api.MCPOffer{Kind: "template", Name: r.URITemplate}, r.Name, r.Description) {
				return out, nil
			}
		}
	}
	if caps.Prompts != nil {
		for p, err := range ses.Prompts(ctx, nil) {
			if err != nil {
				return nil, err
			}
			o := api.MCPOffer{Kind: promptKind, Name: p.Name}
			for _, a := range p.Arguments {
				if a != nil && len(o.Arguments) < maxArguments {
					o.Arguments = append(o.Arguments, api.MCPArgument{Name: cutText(a.Name, 100), Description: cutText(a.Description, 300), Required: a.Required})
				}
			}
			if !add(o, p.Description) {
				return out, nil
			}
		}
	}
	return out, nil
}

// listOffers formats what a server offers for a model.
func (s *server) listOffers(ctx context.Context, ses *session) (string, error) {
	list, err := s.collectOffers(ctx, ses)
	var b strings.Builder
	for _, o := range list {
		name := o.Name
		if o.Kind == promptKind {
			var args []string
			for _, a := range o.Arguments {
				args = append(args, a.Name)
			}
			name += "(" + strings.Join(args, ", ") + ")"
		}
		if b.Len() < maxResult {
			fmt.Fprintf(&b, "%s %s %s\n", o.Kind, name, o.Description)
		}
	}
	return strings.TrimSpace(b.String()), err
}

// withServer calls the function use with the connection to a server, within the time limit for
// calls.
func (m *Manager) withServer(ctx context.Context, name string, use func(ctx context.Context, s *server, ses *session) error) error {
	s, err := m.findServer(ctx, name)
	if err != nil {
		return err
	}
	ses, err := s.connectServer(ctx)
	if err == nil {
		ctx, cancel := context.WithTimeout(ctx, s.cfg.Timeout.Duration)
		defer cancel()
		err = use(ctx, s, ses)
	}
	if err != nil {
		return fmt.Errorf("MCP server %s: %w", name, err)
	}
	return nil
}

// MCPOffers implements api.MCP.
func (m *Manager) MCPOffers(ctx context.Context, q api.Query) (out []api.MCPOffer, err error) {
	err = m.withServer(ctx, q.Of, func(ctx context.Context, s *server, ses *session) (err error) {
		out, err = s.collectOffers(ctx, ses)
		return err
	})
	return out, err
}

// MCPPrompt implements api.MCP.
func (m *Manager) MCPPrompt(ctx context.Context, name string, call api.MCPPromptCall) (out api.MCPPromptText, err error) {
	err = m.withServer(ctx, name, func(ctx context.Context, _ *server, ses *session) error {
		if caps := ses.InitializeResult().Capabilities; caps == nil || caps.Prompts == nil {
			return fmt.Errorf("the server offers no prompts: %w; list its tools with: hob mcp tools %s", api.ErrNotFound, name)
		}
		r, err := ses.GetPrompt(ctx, &mcp.GetPromptParams{Name: call.Prompt, Arguments: call.Arguments})
		switch {
		case err != nil:
			return fmt.Errorf("get the prompt %s: %w; list the prompts with: hob mcp prompt %s", cutText(call.Prompt, 100), err, name)
		case r.NeedsInput():
			return errAsks
		}
		out.Description = cutText(r.Description, maxDescription)
		room := maxPromptText
		for _, p := range r.Messages {
			if p != nil && room > 0 {
				text := cutText(contentText(p.Content), room)
				room -= len(text)
				out.Messages = append(out.Messages, api.MCPPromptMessage{Role: cutText(string(p.Role), 20), Text: text})
			}
		}
		return nil
	})
	return out, err
}

// MCPValues implements api.MCP.
func (m *Manager) MCPValues(ctx context.Context, name string, q api.MCPValueQuery) (out []string, err error) {
	err = m.withServer(ctx, name, func(ctx context.Context, _ *server, ses *session) error {
		if caps := ses.InitializeResult().Capabilities; caps == nil || caps.Completions == nil {
			return nil
		}
		r, err := ses.Complete(ctx, &mcp.CompleteParams{
			Ref:      &mcp.CompleteReference{Type: "ref/prompt", Name: q.Prompt},
			Argument: mcp.CompleteParamsArgument{Name: q.Argument, Value: q.Value}, Context: &mcp.CompleteContext{Arguments: q.Others},
		})
		if err != nil {
			return err
		}
		for _, v := range r.Completion.Values[:min(len(r.Completion.Values), maxValues)] {
			out = append(out, strings.Join(strings.Fields(cutText(v, 500)), " "))
		}
		return nil
	})
	return out, err
}
