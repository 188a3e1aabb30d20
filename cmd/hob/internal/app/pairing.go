package app

import (
	"cmp"
	"context"

	"hob/autonomy/guard/pairing"
	"hob/autonomy/intake"
	"hob/channels"
	"hob/platform/store"
)

// lateOwners forwards to the pairings, which are created later.
type lateOwners struct{ d *App }

// IsOwner implements channels.Owners.
func (o lateOwners) IsOwner(ctx context.Context, channel, sender string) (bool, error) {
	return o.d.pairings.IsOwner(ctx, channel, sender)
}

// Pair implements channels.Owners.
func (o lateOwners) Pair(ctx context.Context, in channels.Inbound) (bool, error) {
	return o.d.pairings.Pair(ctx, in)
}

// Pairs implements channels.Pairer.
func (o lateOwners) Pairs(ctx context.Context, in channels.Inbound) (bool, error) {
	return o.d.pairings.Pairs(ctx, in)
}

// pairingText forwards to the service, which is created after the loop.
func (d *App) pairingText(ctx context.Context, channel, by string) (string, error) {
	return d.service.PairingText(ctx, channel, by)
}

func (d *App) openPairings() {
	d.pairings = pairing.New(d.store, d.guard, pairing.Options{
		Notify: func(tx *store.Tx, key, text string) error {
			session, _, _, err := d.bus.Owner.LastSession(context.Background())
			if err != nil {
				return err
			}
			return d.intake.NotifyTx(tx, intake.Notice{Key: key, Text: text, Report: cmp.Or(session, "main")})
		},
		Ended: func(tx *store.Tx, p pairing.Pairing) error { return d.bus.Owner.RevokeTx(tx, p.Channel, p.Sender) },
	})
}
