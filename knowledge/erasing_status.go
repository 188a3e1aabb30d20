package knowledge

import (
	"context"
	"errors"
	"fmt"
	"time"

	"hob/platform/store"
)

// States of an erasure.
const (
	EraseOpen    = "open"    // started: the facts are removed; the other data is removed when the requesting turn ends
	EraseSwept   = "swept"   // swept once, but turns that ran in the meantime may have written parts of the data again
	EraseCleared = "cleared" // removed everywhere except in free pages of the database file
	EraseDone    = "done"
)

// ErasureStatus reports the progress of an erasure.
type ErasureStatus struct {
	ID       string `json:"id"`
	State    string `json:"state"`
	Rows     int    `json:"rows"`     // number of removed rows
	Scrubbed int    `json:"scrubbed"` // number of rows and files that were redacted
	Files    int    `json:"files"`    // number of removed files
	Backups  int    `json:"backups"`  // number of older backups that were replaced by a new one
	// Trouble is the error of the last attempt.
	Trouble string    `json:"trouble,omitempty"`
	BegunAt time.Time `json:"begun_at"`
	EndedAt time.Time `json:"ended_at,omitzero"`
}

// Status returns the status of one erasure, or ErrNoErasure if the id is unknown.
func (x *ErasureService) Status(ctx context.Context, id string) (ErasureStatus, error) {
	list, err := x.listErasures(ctx, `WHERE id = ?`, id)
	if err == nil && len(list) == 0 {
		err = fmt.Errorf("%w: %s", ErrNoErasure, id)
	}
	if err != nil {
		return ErasureStatus{ID: id}, err
	}
	return list[0], nil
}

// List returns erasures, newest first.
func (x *ErasureService) List(ctx context.Context, limit int) ([]ErasureStatus, error) {
	return x.listErasures(ctx, `ORDER BY begun_at DESC, id LIMIT ?`, limit)
}

func (x *ErasureService) listErasures(ctx context.Context, where string, args ...any) (out []ErasureStatus, err error) {
	rows, err := x.st.Reader(ctx).Query(`SELECT id, state, removed, scrubbed, files, backups, begun_at, ended_at FROM erasures `+where, args...)
	if err != nil {
		return nil, fmt.Errorf("knowledge: read erasures: %w", err)
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	for rows.Next() {
		var s ErasureStatus
		var begun, ended int64
		if err := rows.Scan(&s.ID, &s.State, &s.Rows, &s.Scrubbed, &s.Files, &s.Backups, &begun, &ended); err != nil {
			return nil, fmt.Errorf("knowledge: read erasures: %w", err)
		}
		s.BegunAt, s.EndedAt = store.Time(begun), store.Time(ended)
		x.mu.Lock()
		s.Trouble = x.trouble[s.ID]
		x.mu.Unlock()
		out = append(out, s)
	}
	return out, rows.Err()
}

// Wait blocks until an erasure is done or ctx ends. Run must be running.
func (x *ErasureService) Wait(ctx context.Context, id string) (ErasureStatus, error) {
	for {
		x.mu.Lock()
		changed := x.changed
		x.mu.Unlock()
		s, err := x.Status(ctx, id)
		if err != nil || s.State == EraseDone {
			return s, err
		}
		select {
		case <-ctx.Done():
			return s, ctx.Err()
		case <-changed:
		}
	}
}

// ErasureMark returns a value that changes with each erasure. Code that holds text outside a
// transaction must read the mark before the text, and again in the transaction that writes the
// text. If the mark has changed, the text may have been erased in the meantime.
func ErasureMark(q store.Querier) (mark string, err error) {
	if err = q.QueryRow(`SELECT ` + ErasureMarkSQL).Scan(&mark); err != nil {
		return "", fmt.Errorf("knowledge: read erasures: %w", err)
	}
	return mark, nil
}

// ErasureMarkSQL is the expression for ErasureMark in a query that reads something else as well.
const ErasureMarkSQL = `(SELECT count(*) || '.' || count(*) FILTER (WHERE state = '` + EraseOpen + `') || '.' || count(*) FILTER (WHERE state = '` + EraseSwept + `') || '.' || coalesce(sum(removed + scrubbed), 0) FROM erasures)`
