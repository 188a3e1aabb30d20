package bus

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"hob/channels"
	"hob/platform/store"
)

// Drafts gives the bus as channels.Drafts.
func (b *Bus) Drafts() channels.Drafts { return draftStore{b} }

type draftStore struct{ b *Bus }

// Draft implements channels.Drafts.
func (d draftStore) Draft(ctx context.Context, event, channel, chat string) (id string, err error) {
	err = d.b.db.Read().QueryRowContext(ctx, `SELECT message FROM drafts WHERE event = ? AND channel = ? AND chat = ?`, event, channel, chat).Scan(&id)
	if errors.Is(err, sql.ErrNoRows) {
		return "", nil
	}
	if err != nil {
		return "", fmt.Errorf("bus: draft: %w", err)
	}
	return id, nil
}

// KeepDraft implements channels.Drafts.
func (d draftStore) KeepDraft(ctx context.Context, event, channel, chat, id string) error {
	err := d.b.db.Write(ctx, func(tx *store.Tx) error {
		if id == "" {
			_, err := tx.Exec(`DELETE FROM drafts WHERE event = ? AND channel = ? AND chat = ?`, event, channel, chat)
			return err
		}
		_, err := tx.Exec(`INSERT INTO drafts (event, channel, chat, message, shown_at) VALUES (?,?,?,?,?)
			ON CONFLICT (event, channel, chat) DO UPDATE SET message = excluded.message, shown_at = excluded.shown_at`, event, channel, chat, id, d.b.now().UnixMilli())
		return err
	})
	if err != nil {
		return fmt.Errorf("bus: draft: %w", err)
	}
	return nil
}

// undraftTx deletes the drafts of an event after its answer or another text was sent.
func undraftTx(tx *store.Tx, event string) error {
	_, err := tx.Exec(`DELETE FROM drafts WHERE event = ?`, event)
	return err
}
