package api

import (
	"context"
	"encoding/json"
	"time"

	"hob/platform/provenance"
)

// Tools lists and calls tools.
type Tools interface {
	// Tools lists the tools, or the best matches for Query.Text.
	Tools(ctx context.Context, q Query) ([]Tool, error)
	// Call runs one tool through the guard with the user's authority in a session.
	Call(ctx context.Context, session, tool string, args json.RawMessage) (ToolOutcome, error)
}

// Tool describes one tool.
type Tool struct {
	Name        string          `json:"name"`
	Category    string          `json:"category"`
	Description string          `json:"description"`
	Effects     []string        `json:"effects"`
	Platforms   []string        `json:"platforms"`
	Own         bool            `json:"own"`
	Core        bool            `json:"core"`
	Schema      json.RawMessage `json:"schema"` // JSON Schema of the arguments
}

// ToolOutcome is the result of one tool call.
type ToolOutcome struct {
	Text      string          `json:"text"`
	Data      json.RawMessage `json:"data,omitempty"`
	Call      string          `json:"call"`
	Event     string          `json:"event,omitempty"` // id of the turn that made the call
	Undo      string          `json:"undo,omitempty"`  // id to use with `hob undo`
	Approvals []Approval      `json:"approvals,omitempty"`
	// Code and Error are set if the call failed with a typed tool error.
	Code  string `json:"code,omitempty"`
	Error string `json:"error,omitempty"`
}

// Undo lists the actions that can be undone. The tool "undo" undoes them.
type Undo interface {
	Undoable(ctx context.Context, q Query) ([]LedgerEntry, error)
}

// LedgerEntry is one tool call in the ledger.
type LedgerEntry struct {
	Call       string            `json:"call"`
	Event      string            `json:"event"`
	Session    string            `json:"session"`
	Tool       string            `json:"tool"`
	Args       json.RawMessage   `json:"arguments"`
	Effects    string            `json:"effects"`
	State      string            `json:"state"`
	Decision   string            `json:"decision"`
	Code       string            `json:"code,omitempty"`
	Result     string            `json:"result,omitempty"`
	Data       json.RawMessage   `json:"data,omitempty"`
	Source     provenance.Source `json:"source,omitempty"`
	UndoLabel  string            `json:"undo_label,omitempty"`
	UndoneAt   time.Time         `json:"undone_at,omitzero"`
	UndoneBy   string            `json:"undone_by,omitempty"` // id of the event that undid the call
	StartedAt  time.Time         `json:"started_at"`
	FinishedAt time.Time         `json:"finished_at,omitzero"`
	// Origins lists the sources of the untrusted text in context when the call was made.
	Origins []provenance.Origin `json:"origins,omitempty"`
	// Returned lists the sources of the untrusted text that the call itself returned.
	Returned []provenance.Origin `json:"returned,omitempty"`
}

// Skills lists the skills.
type Skills interface {
	// Skills lists the skills, sorted by name, with the state of their trust.
	Skills(ctx context.Context) ([]Skill, error)
}

// Skill describes a skill without its text. A skill that is not trusted is untrusted text, also its
// name and its description.
type Skill struct {
	Name        string `json:"name"`
	Description string `json:"description"`
	State       string `json:"state" schema:"enum=trusted|untrusted|changed|invalid"`
	Problem     string `json:"problem,omitempty"` // why the skill is invalid
	Origin      string `json:"origin" schema:"enum=folder|template|mcp"`
	// From is the template, the MCP server, or where the folder was added from.
	From      string    `json:"from,omitempty"`
	TrustedAt time.Time `json:"trusted_at,omitzero"`
}

// Agents gives access to the agents and the delegated tasks.
type Agents interface {
	// Agents lists the agents, or only the agent called Query.Of.
	Agents(ctx context.Context, q Query) ([]Agent, error)
	// Delegations lists the queued and running tasks, and with Query.All also ended ones. Query.Of
	// selects one task.
	Delegations(ctx context.Context, q Query) ([]Delegation, error)
	CancelDelegation(ctx context.Context, id string) (Delegation, error)
}

// Agent describes an agent in a list.
type Agent struct {
	Name      string   `json:"name"`
	About     string   `json:"about"`
	Model     string   `json:"model"` // model as configured
	Tools     int      `json:"tools"`
	Realm     string   `json:"realm"`
	Level     string   `json:"level"`
	Delegates []string `json:"delegates"`
	Isolation string   `json:"isolation"`
	Budget    float64  `json:"budget_share"`
	Default   bool     `json:"default"` // whether the agent answers if no route matches
	Routes    []string `json:"routes"`
	Folder    string   `json:"folder"`
	Trouble   string   `json:"trouble,omitempty"` // reason why the agent cannot work now
}

// Delegation is one delegated task.
type Delegation struct {
	ID         string            `json:"id"`
	Call       string            `json:"call"`
	Parent     string            `json:"parent"`  // id of the event that created the task
	Session    string            `json:"session"` // session of the parent; the session of the task itself is Session/ID
	Event      string            `json:"event"`
	Agent      string            `json:"agent"`
	Task       string            `json:"task"`
	Background bool              `json:"background"`
	State      string            `json:"state"`
	Result     string            `json:"result,omitempty"`
	Source     provenance.Source `json:"source,omitempty"`
	Rounds     int               `json:"rounds"`
	Tokens     int               `json:"tokens"`
	CreatedAt  time.Time         `json:"created_at"`
	EndedAt    time.Time         `json:"ended_at,omitzero"`
}
