package api

import (
	"context"
	"encoding/json"
	"time"
)

// Clients manages the tokens of external programs: MCP clients and A2A agents.
type Clients interface {
	// Clients lists the clients of the kind Query.State, including expired ones.
	Clients(ctx context.Context, q Query) ([]Client, error)
	// CreateClient creates a client and returns its token, which cannot be read again. It returns
	// ErrConflict if the name is in use.
	CreateClient(ctx context.Context, n NewClient) (ClientToken, error)
	// RevokeClient makes a client's token invalid, ends its open calls, and closes their approval
	// requests. client is the name or the id.
	RevokeClient(ctx context.Context, kind, client string) (Client, error)
}

// Client is an external program with a token.
type Client struct {
	ID   string `json:"id"`
	Kind string `json:"kind" schema:"enum=mcp|a2a|session"`
	Name string `json:"name"`
	// Tools lists the tools that the token allows; without it, the configuration alone decides.
	Tools     []string  `json:"tools,omitempty"`
	Expires   time.Time `json:"expires_at,omitzero"` // without it, the token does not expire
	CreatedAt time.Time `json:"created_at"`
}

// NewClient describes a new client.
type NewClient struct {
	Kind    string   `json:"kind" schema:"enum=mcp|a2a"`
	Name    string   `json:"name"`              // 1 to 40 letters, digits, dots, underscores and hyphens
	Tools   []string `json:"tools,omitempty"`   // the only tools that the client may call (default: all configured ones)
	Expires string   `json:"expires,omitempty"` // a duration such as "30d" (default: never)
}

// ClientToken is a new client with its token.
type ClientToken struct {
	Client Client `json:"client"`
	Token  string `json:"token"`
	// Callable lists the tools that the client can call now.
	Callable []string `json:"callable,omitempty"`
}

// ClientCalls serves external programs. The server of each protocol authenticates a program and
// then acts for it: with the program's rights, never with the user's.
type ClientCalls interface {
	// AuthenticateClient returns the client of a kind to which a token belongs. It returns ErrDenied
	// if the token is wrong, revoked or expired.
	AuthenticateClient(ctx context.Context, kind, token string) (Client, error)
	// ClientTools lists the tools that a client may call, ordered by name.
	ClientTools(ctx context.Context, c Client) ([]Tool, error)
	// ClientCall runs a tool for a client through the guard. The arguments are untrusted text. If
	// the call needs the user's approval, ClientCall returns the open requests. When the client
	// repeats exactly this call, it gets the outcome of the first call, once.
	ClientCall(ctx context.Context, c Client, tool string, args json.RawMessage) (ToolOutcome, error)
	// ClientResource reads hob://tasks or hob://notes/ID for a client. It requires that the client
	// may call the tools that read these records.
	ClientResource(ctx context.Context, c Client, uri string) (ToolOutcome, error)
	// ClientResourceVersion returns a value that changes with a resource that ClientResource reads, or
	// ErrNotFound if the client may not read it. It starts no call.
	ClientResourceVersion(ctx context.Context, c Client, uri string) (string, error)
	// ClientPrompts lists the skills that a client may read as prompts, without their text.
	ClientPrompts(ctx context.Context, c Client) ([]SkillPrompt, error)
	// ClientPrompt returns a skill with its text, or ErrNotFound.
	ClientPrompt(ctx context.Context, c Client, name string) (SkillPrompt, error)
	// AwaitClientCall waits for the end of a call that needs approval.
	AwaitClientCall(ctx context.Context, c Client, event string) (ToolOutcome, error)
	// CancelClientCall ends a call of a client and closes its approval requests.
	CancelClientCall(ctx context.Context, c Client, event string) error
}

// SkillPrompt is a skill that external programs read as a prompt.
type SkillPrompt struct {
	Name        string `json:"name"`
	Description string `json:"description"`
	Text        string `json:"text,omitempty"`
}
