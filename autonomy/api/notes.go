package api

import (
	"context"
	"time"

	"hob/platform/provenance"
)

// Notes are the user's notes in Hob.
type Notes interface {
	Notes(ctx context.Context, q Query) ([]Note, error)
}

// Note is one stored note.
type Note struct {
	ID         string            `json:"id"`
	Title      string            `json:"title"`
	Text       string            `json:"text"`
	Provenance provenance.Source `json:"provenance"`
	CreatedAt  time.Time         `json:"created_at"`
	UpdatedAt  time.Time         `json:"updated_at"`
}
