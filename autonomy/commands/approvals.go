package commands

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"hob/autonomy/approvals"
	"hob/autonomy/bus"
	"hob/autonomy/payload"
)

func (c *Commands) cmdGrants(ctx context.Context, _ bus.Event, _ string) (string, error) {
	list, err := c.o.Guard.Grants(ctx, false, "", 100)
	if err != nil {
		return "", err
	}
	if len(list) == 0 {
		return "You have no grants.", nil
	}
	var b strings.Builder
	b.WriteString("Your grants:")
	for _, g := range list {
		fmt.Fprintf(&b, "\n%s — %s", g.ID, g.Text(c.o.Zone()))
	}
	b.WriteString("\nRevoke one with /revoke ID.")
	return b.String(), nil
}

func (c *Commands) cmdRevoke(ctx context.Context, ev bus.Event, id string) (string, error) {
	if err := approvals.RequireKnownOrigin(ev); err != nil {
		return "", err
	}
	if id == "" {
		list, err := c.o.Guard.Grants(ctx, false, "", 2)
		if err != nil {
			return "", err
		}
		if len(list) != 1 {
			return "", errors.New("name the grant: /revoke ID; list the grants with /grants")
		}
		id = list[0].ID
	}
	g, err := c.o.Approvals.Revoke(ctx, id, "chat")
	if err != nil {
		return "", err
	}
	return "Revoked: " + g.Text(c.o.Zone()), nil
}

func (c *Commands) cmdPair(ctx context.Context, ev bus.Event, channel string) (string, error) {
	if err := approvals.RequireKnownOrigin(ev); err != nil {
		return "", err
	}
	if c.o.Pairing == nil {
		return "", errors.New("no channel can be paired")
	}
	// Anyone who reads a code could be the first to send it.
	if m, err := payload.ParseMessage(ev); err != nil || m.Shared {
		return "", errors.Join(err, errors.New("others could read and use the code here; send this in a private chat, or use hob channel pair in a terminal"))
	}
	return c.o.Pairing.PairingText(ctx, channel, "chat")
}

// cmdPaired answers a message with a pairing code that has paired the sender's account.
func (c *Commands) cmdPaired(_ context.Context, ev bus.Event, _ string) (string, error) {
	said := "This account is paired. I treat its messages as yours, including those that other people write or speak there, such as people who share a list or a room with you. "
	if approvals.RequireKnownOrigin(ev) != nil {
		said += "I cannot tell who wrote a message, so I accept no approvals from this account. "
	}
	return said + "`hob channel list` shows the account, and `hob channel unpair` removes it.", nil
}
