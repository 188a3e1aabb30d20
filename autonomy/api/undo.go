package api

import (
	"context"
	"encoding/json"
	"time"

	"hob/platform/provenance"
)

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
	UndoneBy   string            `json:"undone_by,omitempty"` // the event that undid it
	StartedAt  time.Time         `json:"started_at"`
	FinishedAt time.Time         `json:"finished_at,omitzero"`
	// Origins are the sources of the untrusted text in context at the call.
	Origins []provenance.Origin `json:"origins,omitempty"`
	// Returned are the sources of the untrusted text that the call itself returned.
	Returned []provenance.Origin `json:"returned,omitempty"`
}
