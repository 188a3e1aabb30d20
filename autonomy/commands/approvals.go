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
		return "You have allowed nothing beforehand.", nil
	}
	var b strings.Builder
	b.WriteString("You have allowed beforehand:")
	for _, g := range list {
		fmt.Fprintf(&b, "\n%s — %s", g.ID, g.Text(c.o.Zone()))
	}
	b.WriteString("\n/revoke ID takes one back.")
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
			return "", errors.New("say which one: /revoke ID; /grants lists them")
		}
		id = list[0].ID
	}
	g, err := c.o.Approvals.Revoke(ctx, id, "chat")
	if err != nil {
		return "", err
	}
	return "Taken back: " + g.Text(c.o.Zone()), nil
}

func (c *Commands) cmdPair(ctx context.Context, ev bus.Event, channel string) (string, error) {
	if err := approvals.RequireKnownOrigin(ev); err != nil {
		return "", err
	}
	if c.o.Pair == nil {
		return "", errors.New("no channel can be paired")
	}
	// Anyone who reads a code may be the first to send it.
	if m, err := payload.ParseMessage(ev); err != nil || m.Shared {
		return "", errors.Join(err, errors.New("others could read and use the code here; send this in a private chat, or use hob channel pair in a terminal"))
	}
	return c.o.Pair(ctx, channel, "chat")
}

// cmdPaired answers a message with a pairing code that has paired the account of its sender.
func (c *Commands) cmdPaired(_ context.Context, ev bus.Event, _ string) (string, error) {
	said := "This account is yours: what comes from it I take as your word, also when others write or speak there, such as people with whom you share a list or a room. "
	if approvals.RequireKnownOrigin(ev) != nil {
		said += "Who that is nobody can tell me, so it answers none of my questions. "
	}
	return said + "`hob channel list` shows it, `hob channel unpair` undoes it.", nil
}
