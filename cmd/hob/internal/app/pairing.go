package app

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"hob/autonomy/api"
	"hob/autonomy/bus"
	"hob/autonomy/guard/pairing"
	"hob/autonomy/intake"
	"hob/autonomy/service"
	"hob/channels"
	"hob/cmd/hob/internal/channel"
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

func (d *App) openPairings() {
	d.pairings = pairing.New(d.store, d.guard, pairing.Options{Paired: d.notifyPaired, Ended: func(tx *store.Tx, p pairing.Pairing) error {
		return d.bus.RevokeOwnerTx(tx, p.Channel, p.Sender)
	}, Spoiled: d.notifyCodeSpoiled})
}

// notifyCodeSpoiled notifies the user that the pairing code is no longer valid.
func (d *App) notifyCodeSpoiled(tx *store.Tx, channel string) error {
	session, _, _, err := d.bus.LastOwnerSession(context.Background())
	if err != nil {
		return err
	}
	text := fmt.Sprintf("The code for %s was written in a group, where other people can read it, and is no longer valid. Get a new one and send it only to me: hob channel pair %s", channel, channel)
	return d.intake.NotifyTx(tx, intake.Notice{Key: "spoiled:" + bus.NewID(), Text: text, Report: cmp.Or(session, "main")})
}

// notifyPaired notifies the user on the earlier channels, to reveal a pairing by somebody else.
func (d *App) notifyPaired(tx *store.Tx, p pairing.Pairing) error {
	session, _, _, err := d.bus.LastOwnerSession(context.Background())
	if err != nil {
		return err
	}
	text := fmt.Sprintf("The account %q on %s is now paired, and I treat its messages as yours. If this was not you: hob channel unpair %s", p.Sender, p.Channel, p.ID)
	return d.intake.NotifyTx(tx, intake.Notice{Key: "paired:" + p.ID, Text: text, Report: cmp.Or(session, "main")})
}

// newCode creates a code for a channel that receives messages.
func (d *App) newCode(ctx context.Context, name, by string) (pairing.Code, error) {
	var names []string
	for _, h := range d.channels.Status() {
		if h.Pull || h.Deaf || h.State == "failed" {
			continue
		}
		if h.Name == name {
			return d.pairings.NewCode(ctx, name, by)
		}
		names = append(names, h.Name)
	}
	return pairing.Code{}, fmt.Errorf("%w: %s", api.ErrInvalid, d.unpairableReason(name, names))
}

// unpairableReason explains why a channel has no code, and what to do. names are the channels that
// have one.
func (d *App) unpairableReason(name string, names []string) string {
	i := slices.IndexFunc(d.channels.Status(), func(h channels.Health) bool { return h.Name == name })
	k, known := channel.Find(name)
	s, there := d.latestConfig().Channel(name)
	switch {
	case i >= 0 && d.channels.Status()[i].State == "failed":
		return fmt.Sprintf("%s does not work, so no account can be paired there; see: hob channel status %s", name, name)
	case k.Always || i >= 0:
		return fmt.Sprintf("%s needs no code; everyone who can use it counts as you", name)
	case there && s.Enabled:
		return fmt.Sprintf("%s was set up after Hob was started; hob stop, then hob start", name)
	case there:
		return fmt.Sprintf("%s is disabled; hob config set channels.%s.enabled true, then hob stop and hob start", name, name)
	case known:
		return fmt.Sprintf("%s is not set up; hob channel add %s", name, name)
	case len(names) == 0:
		return fmt.Sprintf("channel %q not found; there are %s", name, strings.Join(channel.Names(), ", "))
	}
	return fmt.Sprintf("channel %q not found; you can pair on %s", name, strings.Join(names, ", "))
}

func (d *App) pairCode(ctx context.Context, channel, by string) (string, error) {
	c, err := d.newCode(ctx, channel, by)
	if err != nil {
		return "", fmt.Errorf("%s", strings.TrimPrefix(err.Error(), api.ErrInvalid.Error()+": ")) //nolint:err113 // for a person to read
	}
	return fmt.Sprintf("Send this code on %s within 10 minutes, in a separate message and not in a group: %s", channel, c.Code), nil
}

// Pair implements api.Channels.
func (b *backend) Pair(ctx context.Context, channel, by string) (api.PairingCode, error) {
	c, err := b.d.newCode(ctx, channel, by)
	return api.PairingCode(c), service.Classify(err)
}

// Unpair implements api.Channels.
func (b *backend) Unpair(ctx context.Context, id, by string) (api.Pairing, error) {
	p, err := b.d.pairings.Remove(ctx, id, by)
	return api.Pairing(p), service.Classify(err)
}
