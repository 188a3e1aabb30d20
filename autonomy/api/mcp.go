package api

import (
	"context"
	"encoding/json"
	"time"
)

// MCP manages the MCP servers whose tools Hob uses ([mcp.servers.NAME]). The lists show what is
// configured now, in file order.
type MCP interface {
	// MCPServers lists the servers, or only Query.Of. It starts none.
	MCPServers(ctx context.Context, q Query) ([]MCPServer, error)
	// MCPTools lists the tools, resources and prompts of the servers, or only of Query.Of. It
	// connects to servers whose tools are not known yet.
	MCPTools(ctx context.Context, q Query) ([]MCPTool, error)
	// MCPOffers lists the resources, the resource templates and the prompts of the server Query.Of. It
	// connects to the server.
	MCPOffers(ctx context.Context, q Query) ([]MCPOffer, error)
	// MCPPrompt gets a prompt of a server. Its texts are untrusted.
	MCPPrompt(ctx context.Context, name string, call MCPPromptCall) (MCPPromptText, error)
	// MCPValues lists the values that a server suggests for an argument of a prompt. The list is empty
	// if the server suggests none.
	MCPValues(ctx context.Context, name string, q MCPValueQuery) ([]string, error)
	// TestMCP connects to a server and lists its tools. The error names the cause and the remedy.
	TestMCP(ctx context.Context, name string) (MCPServer, error)
	// TrustMCP accepts the changed tools of a server whose Digest the user saw, and returns them. It
	// returns ErrConflict, and accepts nothing, if a tool changed again.
	TrustMCP(ctx context.Context, name string, digests []string) ([]MCPTool, error)
	// LoginMCP signs in to a server with OAuth. The first call returns the address to open; with
	// wait, the call returns when the login has ended.
	LoginMCP(ctx context.Context, name string, wait bool) (MCPLogin, error)
	// MCPLogs returns the last lines that the server Query.Of wrote to its log, oldest first.
	MCPLogs(ctx context.Context, q Query) ([]MCPLogLine, error)
}

// MCPServer describes one server.
type MCPServer struct {
	Name string `json:"name"`
	// State is off (disabled), idle (not started yet), starting, running, failed or login (it
	// requires `hob mcp login NAME`).
	State string `json:"state"`
	// Cause is the reason of the state, with a remedy after the last "; ". It is empty if the server works.
	Cause     string    `json:"cause,omitempty"`
	Address   string    `json:"address"` // the program with its arguments, or the URL
	Revision  string    `json:"revision,omitempty"`
	Tools     int       `json:"tools"`
	Held      int       `json:"held"`    // tools that changed and wait for `hob mcp trust NAME`
	Sandbox   string    `json:"sandbox"` // sandbox of the program: bubblewrap, landlock, seatbelt or none; "" for a URL
	StartedAt time.Time `json:"started_at,omitzero"`
	// Watched lists the URIs of the resources that watchers follow, while Hob runs.
	Watched []string `json:"watched,omitempty"`
}

// MCPTool describes one tool, resource or prompt of a server. Its texts come from the server.
type MCPTool struct {
	Name   string `json:"name"` // NAME__TOOL for a tool
	Server string `json:"server"`
	Kind   string `json:"kind"` // tool, resource or prompt
	// State is ready, changed (held back until `hob mcp trust NAME`), gone (the server no longer
	// offers it) or refused.
	State       string          `json:"state"`
	Cause       string          `json:"cause,omitempty"`
	Effects     []string        `json:"effects"` // effects that Hob assumes
	Description string          `json:"description"`
	Changed     string          `json:"changed,omitempty"` // the new description of a changed tool
	Schema      json.RawMessage `json:"schema,omitempty"`
	// NewSchema is the schema of a changed tool, if it is different.
	NewSchema json.RawMessage `json:"new_schema,omitempty"`
	// Digest identifies the new declaration of a changed tool, for TrustMCP.
	Digest string `json:"digest,omitempty"`
}

// MCPOffer describes a resource, a resource template or a prompt of a server. Its texts come from
// the server.
type MCPOffer struct {
	Server      string        `json:"server"`
	Kind        string        `json:"kind"` // resource, template or prompt
	Name        string        `json:"name"` // URI of a resource, URI template, or name of a prompt
	Description string        `json:"description"`
	Arguments   []MCPArgument `json:"arguments,omitempty"` // of a prompt
	Watched     bool          `json:"watched"`             // whether a watcher follows the resource
}

// MCPArgument describes an argument of a prompt.
type MCPArgument struct {
	Name        string `json:"name"`
	Description string `json:"description"`
	Required    bool   `json:"required"`
}

// MCPPromptCall selects a prompt with its arguments.
type MCPPromptCall struct {
	Prompt    string            `json:"prompt"`
	Arguments map[string]string `json:"arguments,omitempty"`
}

// MCPPromptText is the text of a prompt.
type MCPPromptText struct {
	Description string             `json:"description"`
	Messages    []MCPPromptMessage `json:"messages"`
}

// MCPPromptMessage is one message of a prompt.
type MCPPromptMessage struct {
	Role string `json:"role"` // user or assistant
	Text string `json:"text"`
}

// MCPValueQuery asks for the values of a prompt's argument that begin with Value.
type MCPValueQuery struct {
	Prompt   string            `json:"prompt"`
	Argument string            `json:"argument"`
	Value    string            `json:"value"`
	Others   map[string]string `json:"others,omitempty"` // the values of the other arguments
}

// MCPLogin is the state of a login.
type MCPLogin struct {
	Server string `json:"server"`
	// State is open (the user has not signed in yet) or done.
	State string `json:"state"`
	URL   string `json:"url,omitempty"` // address to open in a browser
}

// MCPLogLine is one line of a server's log.
type MCPLogLine struct {
	At   time.Time `json:"at"`
	Text string    `json:"text"`
}
