package pairing

import (
	"context"
	"time"

	"hob/platform/store"
)

// Age lets the open codes grow older.
func (p *Pairings) Age(ctx context.Context, d time.Duration) error {
	return p.db.Write(ctx, func(tx *store.Tx) error {
		_, err := tx.Exec(`UPDATE pairing_codes SET expires_at = expires_at - ?`, d.Milliseconds())
		return err
	})
}
