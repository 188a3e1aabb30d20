package mcpserver

import (
	"bytes"
	"context"
	"errors"
	"slices"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"hob/autonomy/api"
)

// Resources. Reading a resource runs its tool, so the policy, the audit log and the limits of the
// token apply.
const (
	tasksURI = "hob://tasks"
	notesURI = "hob://notes/{id}"
)

// replaceResources registers the resources that belong to the tools of the client. The caller must
// hold p.mu.
func (p *program) replaceResources(now []api.Tool) {
	changed := func(tool string) (has, changed bool) {
		is := func(t api.Tool) bool { return t.Name == tool }
		has = slices.ContainsFunc(now, is)
		return has, has != slices.ContainsFunc(p.tools, is)
	}
	switch has, is := changed("list_tasks"); {
	case is && has:
		p.mcp.AddResource(tasksResource(), p.readResource)
	case is:
		p.mcp.RemoveResources(tasksURI)
	}
	switch has, is := changed("list_notes"); {
	case is && has:
		p.mcp.AddResourceTemplate(noteTemplate(), p.readResource)
	case is:
		p.mcp.RemoveResourceTemplates(notesURI)
	}
}

func tasksResource() *mcp.Resource {
	return &mcp.Resource{URI: tasksURI, Name: "tasks", Title: "Tasks", Description: "The open tasks of the user", MIMEType: "application/json"}
}

func noteTemplate() *mcp.ResourceTemplate {
	return &mcp.ResourceTemplate{URITemplate: notesURI, Name: "note", Title: "Note", Description: "One note of the user; list_notes returns the ids", MIMEType: "application/json"}
}

func (p *program) readResource(ctx context.Context, req *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
	uri := req.Params.URI
	out, err := p.s.o.Backend.ClientResource(ctx, p.client, uri)
	switch {
	case errors.Is(err, api.ErrNotFound), err == nil && out.Code == "not_found":
		return nil, mcp.ResourceNotFoundError(uri)
	case err != nil:
		return nil, errors.New(callError(err).Content[0].(*mcp.TextContent).Text) //nolint:forcetypeassert // failedCall sets a text
	case isWaiting(out) || out.Code != "":
		return nil, &jsonrpc.Error{Code: jsonrpc.CodeInvalidRequest, Message: callResult(out).Content[0].(*mcp.TextContent).Text} //nolint:forcetypeassert // failedCall sets a text
	}
	c := &mcp.ResourceContents{URI: uri, MIMEType: "text/plain", Text: out.Text}
	if d := bytes.TrimSpace(out.Data); len(d) > 0 {
		c.MIMEType, c.Text = "application/json", string(d)
	}
	return &mcp.ReadResourceResult{Contents: []*mcp.ResourceContents{c}}, nil
}

// getPrompt returns a skill as one message of the user.
func (p *program) getPrompt(ctx context.Context, req *mcp.GetPromptRequest) (*mcp.GetPromptResult, error) {
	k, err := p.s.o.Backend.ClientPrompt(ctx, p.client, req.Params.Name)
	if err != nil {
		return nil, &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: "there is no such prompt; list them with prompts/list"}
	}
	return &mcp.GetPromptResult{Description: k.Description, Messages: []*mcp.PromptMessage{{Role: "user", Content: &mcp.TextContent{Text: k.Text}}}}, nil
}
