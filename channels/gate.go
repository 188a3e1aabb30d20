package channels

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync/atomic"
)

// gate stands between one channel and the engine: it decides who is heard and
// which conversation a message belongs to.
type gate struct {
	name    string
	allow   []string
	shared  bool // the members of a group share a conversation
	to      Receiver
	log     *slog.Logger
	refused atomic.Int64
}

func newGate(name string, ch Channel, o Options) *gate {
	g := &gate{name: name, to: o.Receiver, log: o.Log, shared: o.SharedGroups}
	if a, ok := ch.(Allower); ok {
		g.allow = a.Allow()
	}
	return g
}

// Receive hands a message on, or answers ErrStranger. Other people get a
// conversation of their own, whatever the channel asked for, so that their
// words never stand in the owner's.
func (g *gate) Receive(ctx context.Context, in Inbound) (Accepted, error) {
	in.Channel = g.name
	own := in.Conversation(g.shared)
	switch {
	case in.Group && in.Sender == "": // whose conversation it is nobody knows
		return Accepted{}, fmt.Errorf("channels: %s: a message of a group does not say who wrote it: %w", g.name, ErrStranger)
	case in.FromOwner:
		if in.Session == "" {
			in.Session = own
		}
	case in.Sender == "" || !slices.Contains(g.allow, in.Sender):
		n := g.refused.Add(1)
		g.log.Info("message from a stranger was not taken", "channel", g.name, "sender", in.Sender, "refused", n)
		return Accepted{}, ErrStranger
	default:
		in.Session = own
	}
	in.Text = strings.ToValidUTF8(in.Text, "\uFFFD")
	acc, err := g.to.Receive(ctx, in)
	if err != nil {
		return acc, fmt.Errorf("channels: %s: take a message: %w", g.name, err)
	}
	return acc, nil
}
