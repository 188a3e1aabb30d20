package tools

import (
	"time"

	"hob/platform/provenance"
)

// TaskRequest is a task that a call delegates to an agent.
type TaskRequest struct {
	Agent      string   `json:"agent,omitempty" jsonschema:"agent that does it; default yourself"`
	Task       string   `json:"task" jsonschema:"what to do, complete and in plain words: the agent sees nothing else"`
	Input      string   `json:"input,omitempty" jsonschema:"material for the task"`
	Tools      []string `json:"tools,omitempty" jsonschema:"only these tools, as names or patterns"`
	Background bool     `json:"background,omitempty" jsonschema:"continue immediately; the result is reported later"`
	FollowUp   bool     `json:"follow_up,omitempty" jsonschema:"background: continue here with the result"`
}

// SessionQuery selects the conversations of sessions_list.
type SessionQuery struct {
	Agent string    // only those that this agent answers; "" means all
	Since time.Time // only those active since then; zero means all
	All   bool      // also delegated tasks, background work and conversations with other people
	Limit int       // 0 means 50
}

// AgentRow is one agent in the Data of agents_list.
type AgentRow struct {
	Name      string `json:"name"`
	About     string `json:"about,omitempty"`
	Kind      string `json:"kind"` // "local", or "remote" for an agent on the network
	Current   bool   `json:"current,omitempty"`
	Tools     int    `json:"tools,omitempty"` // number of its tools
	Container bool   `json:"container,omitempty"`
	Delegable bool   `json:"delegable"` // the caller may delegate to it
	Problem   string `json:"problem,omitempty"`
	OpenTasks int    `json:"open_tasks"`
}

// Notice is a notification that Hob sent or deferred.
type Notice struct {
	ID         string            `json:"id"`
	Text       string            `json:"text"`
	At         time.Time         `json:"at"`
	Until      time.Time         `json:"until,omitzero"` // deferred until then
	Provenance provenance.Source `json:"provenance"`
}
