package bus

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"hob/channels"
	"hob/platform/store"
)

// maxKept is the maximum size of one value in a channel's state, in bytes.
const maxKept = 64 << 10

const schemaKept = `
CREATE TABLE channel_state (
	channel TEXT NOT NULL, key TEXT NOT NULL, value BLOB NOT NULL, changed_at INTEGER NOT NULL,
	PRIMARY KEY (channel, key)) WITHOUT ROWID;
`

// NewChannelState returns the persistent state of a channel.
func NewChannelState(db *store.Store, channel string) channels.StateStore {
	return channelState{db, channel}
}

type channelState struct {
	db      *store.Store
	channel string
}

// Get implements channels.StateStore.
func (k channelState) Get(ctx context.Context, key string) (value []byte, err error) {
	err = k.db.Read().QueryRowContext(ctx, `SELECT value FROM channel_state WHERE channel = ? AND key = ?`, k.channel, key).Scan(&value)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("bus: read state of channel %s: %w", k.channel, err)
	}
	return value, nil
}

// Set implements channels.StateStore.
func (k channelState) Set(ctx context.Context, key string, value []byte) error {
	if len(value) > maxKept {
		return fmt.Errorf("bus: save state of channel %s: value of %s exceeds %d bytes", k.channel, key, maxKept)
	}
	err := k.db.Write(ctx, func(tx *store.Tx) error {
		if value == nil {
			_, err := tx.Exec(`DELETE FROM channel_state WHERE channel = ? AND key = ?`, k.channel, key)
			return err
		}
		_, err := tx.Exec(`INSERT INTO channel_state (channel, key, value, changed_at) VALUES (?,?,?,?)
			ON CONFLICT (channel, key) DO UPDATE SET value = excluded.value, changed_at = excluded.changed_at`, k.channel, key, value, time.Now().UnixMilli())
		return err
	})
	if err != nil {
		return fmt.Errorf("bus: save state of channel %s: %w", k.channel, err)
	}
	return nil
}
