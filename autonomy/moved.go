package autonomy

import (
	"context"

	"hob/platform/store"
	"hob/watchers"
)

// Moved implements watchers.ZoneChangeSink. It notifies the owner once of a new zone and the schedules
// that follow it.
func (l *Loop) Moved(ctx context.Context, move watchers.ZoneChange, save func(*store.Tx) error) error {
	return l.o.Store.Write(ctx, func(tx *store.Tx) error {
		if err := l.tellTx(tx, move.Source, move.Key, move.Text, ""); err != nil {
			return err
		}
		return save(tx)
	})
}
