package api

import (
	"context"
	"time"

	"hob/platform/provenance"
)

// Agents are the agents and the tasks that one delegates to another.
type Agents interface {
	// Agents lists the agents, or the one named Query.Of.
	Agents(ctx context.Context, q Query) ([]Agent, error)
	// Delegations lists the running tasks; with Query.All also ended ones. Query.Of selects one.
	Delegations(ctx context.Context, q Query) ([]Delegation, error)
	CancelDelegation(ctx context.Context, id string) (Delegation, error)
}

// Agent is an agent as lists show it.
type Agent struct {
	Name      string   `json:"name"`
	About     string   `json:"about"`
	Model     string   `json:"model"` // as configured
	Tools     int      `json:"tools"`
	Realm     string   `json:"realm"`
	Level     string   `json:"level"`
	Delegates []string `json:"delegates"`
	Isolation string   `json:"isolation"`
	Budget    float64  `json:"budget_share"`
	Default   bool     `json:"default"` // answers where no route fits
	Routes    []string `json:"routes"`
	Folder    string   `json:"folder"`
	Trouble   string   `json:"trouble,omitempty"` // why it cannot work now
}

// Delegation is one delegated task.
type Delegation struct {
	ID         string            `json:"id"`
	Call       string            `json:"call"`
	Parent     string            `json:"parent"`  // the event that created it
	Session    string            `json:"session"` // of the parent; its own is Session/ID
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
