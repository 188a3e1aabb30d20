package daemon

import (
	"cmp"
	"context"
	"fmt"
	"strings"

	"hob/autonomy/bus"
	"hob/autonomy/pairing"
	"hob/channels"
	"hob/channels/web"
	"hob/knowledge/store"
)

// owners hands on to the pairings, which are made later.
type owners struct{ d *Daemon }

// IsOwner implements channels.Owners.
func (o owners) IsOwner(ctx context.Context, channel, sender string) (bool, error) {
	return o.d.pairings.IsOwner(ctx, channel, sender)
}

// Pair implements channels.Owners.
func (o owners) Pair(ctx context.Context, in channels.Inbound) (bool, error) {
	return o.d.pairings.Pair(ctx, in)
}

func (d *Daemon) openPairings() {
	d.pairings = pairing.New(d.store, d.guard, pairing.Options{Paired: d.paired, Ended: func(tx *store.Tx, p pairing.Pairing) error {
		return d.bus.DisownTx(tx, p.Channel, p.Sender)
	}, Spoiled: d.spoiled})
}

// spoiled tells the owner that nobody can pair with his code any more.
func (d *Daemon) spoiled(tx *store.Tx, channel string) error {
	session, _, _, err := d.bus.LastOwnerSession(context.Background())
	if err != nil {
		return err
	}
	text := fmt.Sprintf("The code for %s was written in a group, where others read it, and is worth nothing any more. Write a new one to me alone: hob channel pair %s", channel, channel)
	return d.loop.TellTx(tx, "spoiled:"+bus.NewID(), text, cmp.Or(session, "main"))
}

// paired tells the owner of it where he was before: if it was somebody else who
// had the code, he learns it.
func (d *Daemon) paired(tx *store.Tx, p pairing.Pairing) error {
	session, _, _, err := d.bus.LastOwnerSession(context.Background())
	if err != nil {
		return err
	}
	text := fmt.Sprintf("The account %q on %s is paired with me now, and I take what it writes as your word. If that was not you: hob channel unpair %s", p.Sender, p.Channel, p.ID)
	return d.loop.TellTx(tx, "paired:"+p.ID, text, cmp.Or(session, "main"))
}

// newCode makes a code for a channel on which somebody can write.
func (d *Daemon) newCode(ctx context.Context, channel, by string) (pairing.Code, error) {
	var names []string
	for _, h := range d.channels.Status() {
		if h.Pull || h.Deaf || h.State == "failed" {
			continue
		}
		if h.Name == channel {
			return d.pairings.NewCode(ctx, channel, by)
		}
		names = append(names, h.Name)
	}
	where := "no channel is configured on which you could write to me"
	if len(names) > 0 {
		where = "the channels are " + strings.Join(names, ", ")
	}
	return pairing.Code{}, fmt.Errorf("%w: %q is no channel that can be paired; %s", web.ErrInvalid, channel, where)
}

func (d *Daemon) pairCode(ctx context.Context, channel, by string) (string, error) {
	c, err := d.newCode(ctx, channel, by)
	if err != nil {
		return "", fmt.Errorf("%s", strings.TrimPrefix(err.Error(), web.ErrInvalid.Error()+": ")) //nolint:err113 // for a person to read
	}
	return fmt.Sprintf("Write this on %s, alone in a message and not in a group, within ten minutes: %s", channel, c.Code), nil
}

// Pair implements web.Backend.
func (b *backend) Pair(ctx context.Context, channel, by string) (any, error) {
	c, err := b.d.newCode(ctx, channel, by)
	return c, classify(err)
}

// Unpair implements web.Backend.
func (b *backend) Unpair(ctx context.Context, id, by string) (any, error) {
	p, err := b.d.pairings.Remove(ctx, id, by)
	return p, classify(err)
}
