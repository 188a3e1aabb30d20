package app

import (
	"cmp"
	"context"
	"fmt"

	"hob/autonomy/bus"
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
	d.pairings = pairing.New(d.store, d.guard, pairing.Options{Paired: d.notifyPaired, Ended: func(tx *store.Tx, p pairing.Pairing) error {
		return d.bus.Owner.RevokeTx(tx, p.Channel, p.Sender)
	}, Spoiled: d.notifyCodeSpoiled})
}

// notifyCodeSpoiled notifies the user that the pairing code is no longer valid.
func (d *App) notifyCodeSpoiled(tx *store.Tx, channel string) error {
	session, _, _, err := d.bus.Owner.LastSession(context.Background())
	if err != nil {
		return err
	}
	text := fmt.Sprintf("The code for %s was written in a group, where other people can read it, and is no longer valid. Get a new one and send it only to me: hob channel pair %s", channel, channel)
	return d.intake.NotifyTx(tx, intake.Notice{Key: "spoiled:" + bus.NewID(), Text: text, Report: cmp.Or(session, "main")})
}

// notifyPaired notifies the user on the earlier channels, to reveal a pairing by somebody else.
func (d *App) notifyPaired(tx *store.Tx, p pairing.Pairing) error {
	session, _, _, err := d.bus.Owner.LastSession(context.Background())
	if err != nil {
		return err
	}
	text := fmt.Sprintf("The account %q on %s is now paired, and I treat its messages as yours. If this was not you: hob channel unpair %s", p.Sender, p.Channel, p.ID)
	return d.intake.NotifyTx(tx, intake.Notice{Key: "paired:" + p.ID, Text: text, Report: cmp.Or(session, "main")})
}
