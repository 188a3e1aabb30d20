package web

import (
	"net/http"

	"hob/autonomy/api"
)

// MCPLoginRequest is the body of the login route.
type MCPLoginRequest struct {
	Wait bool `json:"wait,omitempty"` // respond when the login has ended
}

// MCPTrustRequest is the body of the trust route.
type MCPTrustRequest struct {
	Digests []string `json:"digests"` // the digests of the changed tools that the user saw
}

// mcpRoutes returns the routes for the MCP servers whose tools Hob uses.
func (s *Server) mcpRoutes() []route {
	const at = "/api/v1/mcp/"
	name, only := pathParam("name", "name of the server in [mcp.servers.NAME]"), queryParam("id", "only this server")
	return []route{
		{
			method: "GET", path: at + "servers", id: "mcp_servers", tag: "lists", summary: "List the configured MCP servers with their state",
			params: []param{only}, endpoint: listEndpoint(s, s.backend.MCPServers),
		},
		{
			method: "GET", path: at + "tools", id: "mcp_tools", tag: "lists", summary: "List what the MCP servers offer; connects to servers whose tools are not known yet",
			params: []param{only}, endpoint: listEndpoint(s, s.backend.MCPTools),
		},
		{
			method: "GET", path: at + "logs", id: "mcp_logs", tag: "lists", summary: "Get the last lines of a server's log, oldest first",
			params: []param{queryParam("id", "the server"), limitParam("200")}, endpoint: listEndpoint(s, s.backend.MCPLogs),
		},
		{
			method: "GET", path: at + "offers", id: "mcp_offers", tag: "lists", summary: "List the resources and prompts of an MCP server; connects to it",
			params: []param{queryParam("id", "the server")}, endpoint: listEndpoint(s, s.backend.MCPOffers),
		},
		{
			method: "POST", path: at + "servers/{name}/prompt", id: "mcp_prompt", tag: "api", summary: "Get a prompt of a server", params: []param{name},
			endpoint: actionEndpoint(s, func(r *http.Request, _ call, in api.MCPPromptCall) (api.MCPPromptText, error) {
				return s.backend.MCPPrompt(r.Context(), r.PathValue("name"), in)
			}),
		},
		{
			method: "POST", path: at + "servers/{name}/values", id: "mcp_values", tag: "api", summary: "List the values that a server suggests for an argument of a prompt", params: []param{name},
			endpoint: actionEndpoint(s, func(r *http.Request, _ call, in api.MCPValueQuery) ([]string, error) {
				out, err := s.backend.MCPValues(r.Context(), r.PathValue("name"), in)
				return notNil(out), err
			}),
		},
		{
			method: "POST", path: at + "servers/{name}/test", id: "mcp_test", tag: "api", summary: "Connect to a server and list its tools", params: []param{name},
			endpoint: readEndpoint(s, func(r *http.Request, _ call) (api.MCPServer, error) {
				return s.backend.TestMCP(r.Context(), r.PathValue("name"))
			}),
		},
		{
			method: "POST", path: at + "servers/{name}/trust", id: "mcp_trust", tag: "api", grave: true, summary: "Accept the changed tools of a server", params: []param{name},
			endpoint: actionEndpoint(s, func(r *http.Request, _ call, in MCPTrustRequest) ([]api.MCPTool, error) {
				out, err := s.backend.TrustMCP(r.Context(), r.PathValue("name"), in.Digests)
				return notNil(out), err
			}),
		},
		{
			method: "POST", path: at + "servers/{name}/login", id: "mcp_login", tag: "api", grave: true, params: []param{name},
			summary: "Sign in to a server with OAuth: returns the address to open in a browser",
			endpoint: actionEndpoint(s, func(r *http.Request, _ call, in MCPLoginRequest) (api.MCPLogin, error) {
				return s.backend.LoginMCP(r.Context(), r.PathValue("name"), in.Wait)
			}),
		},
	}
}
