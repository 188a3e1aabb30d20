package apiclient

import (
	"context"

	"hob/autonomy/api"
	"hob/channels/web"
)

const mcpPath = "/api/v1/mcp"

// MCPServers implements api.MCP.
func (c *Client) MCPServers(ctx context.Context, q api.Query) ([]api.MCPServer, error) {
	return getValue[[]api.MCPServer](ctx, c, mcpPath+"/servers", listValues(q, "id", "state"))
}

// MCPTools implements api.MCP.
func (c *Client) MCPTools(ctx context.Context, q api.Query) ([]api.MCPTool, error) {
	return getValue[[]api.MCPTool](ctx, c, mcpPath+"/tools", listValues(q, "id", "state"))
}

// MCPLogs implements api.MCP.
func (c *Client) MCPLogs(ctx context.Context, q api.Query) ([]api.MCPLogLine, error) {
	return getValue[[]api.MCPLogLine](ctx, c, mcpPath+"/logs", listValues(q, "id", "state"))
}

// MCPOffers implements api.MCP.
func (c *Client) MCPOffers(ctx context.Context, q api.Query) ([]api.MCPOffer, error) {
	return getValue[[]api.MCPOffer](ctx, c, mcpPath+"/offers", listValues(q, "id", "state"))
}

// MCPPrompt implements api.MCP.
func (c *Client) MCPPrompt(ctx context.Context, name string, call api.MCPPromptCall) (api.MCPPromptText, error) {
	return postValue[api.MCPPromptText](ctx, c, inPath(mcpPath+"/servers", name)+"/prompt", call)
}

// MCPValues implements api.MCP.
func (c *Client) MCPValues(ctx context.Context, name string, q api.MCPValueQuery) ([]string, error) {
	return postValue[[]string](ctx, c, inPath(mcpPath+"/servers", name)+"/values", q)
}

// TestMCP implements api.MCP.
func (c *Client) TestMCP(ctx context.Context, name string) (api.MCPServer, error) {
	return postValue[api.MCPServer](ctx, c, inPath(mcpPath+"/servers", name)+"/test", struct{}{})
}

// TrustMCP implements api.MCP.
func (c *Client) TrustMCP(ctx context.Context, name string, digests []string) ([]api.MCPTool, error) {
	return postValue[[]api.MCPTool](ctx, c, inPath(mcpPath+"/servers", name)+"/trust", web.MCPTrustRequest{Digests: digests})
}

// LoginMCP implements api.MCP.
func (c *Client) LoginMCP(ctx context.Context, name string, wait bool) (api.MCPLogin, error) {
	return postValue[api.MCPLogin](ctx, c, inPath(mcpPath+"/servers", name)+"/login", web.MCPLoginRequest{Wait: wait})
}
