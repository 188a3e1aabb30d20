package tools

import (
	"time"

	"hob/platform/provenance"
)

// TaskRequest is a task that a call delegates to an agent.
type TaskRequest struct {
	Agent      string   `json:"agent,omitempty" jsonschema:"who does it; default yourself"`
	Task       string   `json:"task" jsonschema:"what to do, whole and in plain words: it sees nothing else"`
	Input      string   `json:"input,omitempty" jsonschema:"material for it"`
	Tools      []string `json:"tools,omitempty" jsonschema:"only these, as names or patterns"`
	Background bool     `json:"background,omitempty" jsonschema:"go on at once; the result is told later"`
	FollowUp   bool     `json:"follow_up,omitempty" jsonschema:"background: work on with the result here"`
}

// Notice is a notification that Hob sent or deferred.
type Notice struct {
	ID         string            `json:"id"`
	Text       string            `json:"text"`
	At         time.Time         `json:"at"`
	Until      time.Time         `json:"until,omitzero"` // deferred until then
	Provenance provenance.Source `json:"provenance"`
}
