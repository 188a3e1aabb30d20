package modelrouter

import (
	"context"
	"fmt"
	"sync"
	"time"

	"hob/platform/store"
)

// SessionModels holds the models that the user chose for conversations. Methods may be called
// concurrently.
type SessionModels struct {
	db *store.Store

	mu   sync.Mutex
	pins map[string]string // session -> model; nil until loaded
}

// NewPins creates the set over a store opened with Migrations. It does no I/O.
func NewPins(db *store.Store) *SessionModels { return &SessionModels{db: db} }

// Of returns the model chosen for a conversation, or "".
func (p *SessionModels) Of(ctx context.Context, session string) (string, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.pins == nil {
		pins, err := p.readPins(ctx)
		if err != nil {
			return "", err
		}
		p.pins = pins
	}
	return p.pins[session], nil
}

func (p *SessionModels) readPins(ctx context.Context) (map[string]string, error) {
	rows, err := p.db.Read().QueryContext(ctx, `SELECT session, model FROM session_models`)
	if err != nil {
		return nil, fmt.Errorf("modelrouter: read the models of conversations: %w", err)
	}
	defer rows.Close()
	out := map[string]string{}
	for rows.Next() {
		var session, model string
		if err := rows.Scan(&session, &model); err != nil {
			return nil, fmt.Errorf("modelrouter: read the models of conversations: %w", err)
		}
		out[session] = model
	}
	return out, rows.Err()
}

func (p *SessionModels) setPin(ctx context.Context, session, model string) error {
	if _, err := p.Of(ctx, session); err != nil { // Of loads the map
		return err
	}
	return p.db.Write(ctx, func(tx *store.Tx) error {
		var err error
		if model == "" {
			_, err = tx.Exec(`DELETE FROM session_models WHERE session = ?`, session)
		} else {
			_, err = tx.Exec(`INSERT INTO session_models (session, model, chosen_at) VALUES (?,?,?)
				ON CONFLICT (session) DO UPDATE SET model = excluded.model, chosen_at = excluded.chosen_at`, session, model, time.Now().UnixMilli())
		}
		if err != nil {
			return fmt.Errorf("modelrouter: store the model of a conversation: %w", err)
		}
		tx.AfterCommit(func() {
			p.mu.Lock()
			defer p.mu.Unlock()
			p.pins[session] = model
		})
		return nil
	})
}
