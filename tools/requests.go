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

// Notice is a notification that Hob sent or deferred.
type Notice struct {
	ID         string            `json:"id"`
	Text       string            `json:"text"`
	At         time.Time         `json:"at"`
	Until      time.Time         `json:"until,omitzero"` // deferred until then
	Provenance provenance.Source `json:"provenance"`
}
