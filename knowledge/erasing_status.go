package knowledge

import (
	"context"
	"errors"
	"fmt"
	"time"

	"hob/knowledge/store"
)

// States of an erasure.
const (
	EraseOpen    = "open"    // begun: the facts are gone, the rest waits for the turn that asked to end
	EraseSwept   = "swept"   // taken out once; turns that ran meanwhile may have written of it again
	EraseCleared = "cleared" // nothing is left but what the file of the database holds of removed rows
	EraseDone    = "done"
)

// ErasureStatus says how far an erasure is.
type ErasureStatus struct {
	ID       string `json:"id"`
	State    string `json:"state"`
	Rows     int    `json:"rows"`     // removed
	Scrubbed int    `json:"scrubbed"` // rows and files in which something was replaced
	Files    int    `json:"files"`    // removed
	Backups  int    `json:"backups"`  // older ones, in whose place a new one was made
	// Trouble is why it could not be finished when that was last tried.
	Trouble string    `json:"trouble,omitempty"`
	BegunAt time.Time `json:"begun_at"`
	EndedAt time.Time `json:"ended_at,omitzero"`
}

// Status of one erasure, ErrNoErasure when there is none of that id.
func (x *Erasing) Status(ctx context.Context, id string) (ErasureStatus, error) {
	list, err := x.list(ctx, `WHERE id = ?`, id)
	if err == nil && len(list) == 0 {
		err = fmt.Errorf("%w: %s", ErrNoErasure, id)
	}
	if err != nil {
		return ErasureStatus{ID: id}, err
	}
	return list[0], nil
}

// List returns erasures, the newest first.
func (x *Erasing) List(ctx context.Context, limit int) ([]ErasureStatus, error) {
	return x.list(ctx, `ORDER BY begun_at DESC, id LIMIT ?`, limit)
}

func (x *Erasing) list(ctx context.Context, where string, args ...any) (out []ErasureStatus, err error) {
	rows, err := x.st.Reader(ctx).Query(`SELECT id, state, removed, scrubbed, files, backups, begun_at, ended_at FROM erasures `+where, args...)
	if err != nil {
		return nil, fmt.Errorf("knowledge: erasures: %w", err)
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	for rows.Next() {
		var s ErasureStatus
		var begun, ended int64
		if err := rows.Scan(&s.ID, &s.State, &s.Rows, &s.Scrubbed, &s.Files, &s.Backups, &begun, &ended); err != nil {
			return nil, fmt.Errorf("knowledge: erasures: %w", err)
		}
		s.BegunAt, s.EndedAt = store.Time(begun), store.Time(ended)
		x.mu.Lock()
		s.Trouble = x.trouble[s.ID]
		x.mu.Unlock()
		out = append(out, s)
	}
	return out, rows.Err()
}

// Wait returns when an erasure is done, or with ctx's error. Run must be running.
func (x *Erasing) Wait(ctx context.Context, id string) (ErasureStatus, error) {
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

// ErasedMark names how far erasures are. Whoever holds a text outside of a transaction
// reads it before the text, and again in the transaction that writes of it: when
// it is another, what is held may have been forgotten meanwhile.
func ErasedMark(q store.Querier) (mark string, err error) {
	var begun, open, swept, changed int
	err = q.QueryRow(`SELECT count(*), coalesce(sum(state = ?), 0), coalesce(sum(state = ?), 0), coalesce(sum(removed + scrubbed), 0) FROM erasures`,
		EraseOpen, EraseSwept).Scan(&begun, &open, &swept, &changed)
	if err != nil {
		return "", fmt.Errorf("knowledge: erasures: %w", err)
	}
	return fmt.Sprintf("%d.%d.%d.%d", begun, open, swept, changed), nil
}
