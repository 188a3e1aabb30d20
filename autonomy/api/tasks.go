package api

import (
	"context"
	"time"

	"hob/platform/provenance"
)

// Tasks are the user's tasks in Hob.
type Tasks interface {
	// Tasks lists the open tasks; with Query.All also the completed ones.
	Tasks(ctx context.Context, q Query) ([]Task, error)
}

// Task is one stored task.
type Task struct {
	ID     string `json:"id"`
	Title  string `json:"title"`
	Status string `json:"status"` // open or done
	// Due is a day (2026-03-10), an instant (RFC 3339) or empty.
	Due        string            `json:"due"`
	Priority   string            `json:"priority"` // low, medium, high, critical or empty
	Project    string            `json:"project"`
	Notes      string            `json:"notes"`
	Provenance provenance.Source `json:"provenance"`
	CreatedAt  time.Time         `json:"created_at"`
	UpdatedAt  time.Time         `json:"updated_at"`
	DoneAt     time.Time         `json:"done_at,omitzero"`
}
