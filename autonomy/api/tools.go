package api

import (
	"context"
	"encoding/json"
)

// Tools lists and calls tools.
type Tools interface {
	// Tools lists the tools, or the best matches of Query.Text.
	Tools(ctx context.Context, q Query) ([]Tool, error)
	// Call runs one tool through the guard, as the user, in a session.
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
	Schema      json.RawMessage `json:"schema"` // of the arguments
}

// ToolOutcome is the result of one tool call.
type ToolOutcome struct {
	Text      string          `json:"text"`
	Data      json.RawMessage `json:"data,omitempty"`
	Call      string          `json:"call"`
	Event     string          `json:"event,omitempty"` // the turn of the call
	Undo      string          `json:"undo,omitempty"`  // id for `hob undo`
	Approvals []Approval      `json:"approvals,omitempty"`
	// Code and Error are set when the call failed: a typed tool error.
	Code  string `json:"code,omitempty"`
	Error string `json:"error,omitempty"`
}
