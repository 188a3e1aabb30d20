package channels

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"hob/platform/failpoint"
)

// wordless is the text for a message without text that is still processed because it mentions Hob
// or forwards something.
const wordless = "[no words]"

// inboundFilter filters the messages of one channel before they reach the engine: it rejects senders
// who are not allowed and selects the conversation.
type inboundFilter struct {
	name    string
	allow   func() []string // nil means that only the owner is allowed
	shared  bool            // members of a group share a conversation
	owners  Owners
	to      Receiver
	log     *slog.Logger
	refused atomic.Int64
	// everything accepts group messages even if they are not addressed to Hob.
	everything  bool
	unmentioned atomic.Int64
	settle      time.Duration
	files       Files
	brought     guestUploads
	heard       func()
	pull        bool // clients of the channel see errors in the state of their messages
}

func newGate(name string, ch Channel, m *Manager) *inboundFilter {
	o, choice := m.opt, m.opt.Choices[name]
	g := &inboundFilter{
		name: name, owners: o.Owners, to: o.Receiver, log: o.Log, shared: o.SharedGroups, everything: choice.Unmentioned,
		files: o.Files, heard: func() { m.countReceived(name) },
	}
	if g.pull = m.Pull(name); !g.pull {
		g.settle = channelLimits(ch).Debounce
		if choice.Settle != nil {
			g.settle = *choice.Settle
		}
	}
	if a, ok := ch.(Allower); ok {
		g.allow = a.Allow
	}
	return g
}

// isAllowedSender reports whether the owner allows a sender.
func (g *inboundFilter) isAllowedSender(sender string) bool {
	return sender != "" && g.allow != nil && slices.ContainsFunc(g.allow(), func(id string) bool { return SenderID(id) == sender })
}

// AdmitsSender implements Doorkeeper.
func (g *inboundFilter) AdmitsSender(ctx context.Context, in Inbound) (bool, error) {
	in.Channel, in.Sender = g.name, SenderID(in.Sender)
	if in.Sender == "" || g.isAllowedSender(in.Sender) {
		return in.Sender != "", nil
	}
	if g.owners == nil {
		return false, nil
	}
	yes, err := g.owners.IsOwner(ctx, g.name, in.Sender)
	if p, ok := g.owners.(Pairer); ok && err == nil && !yes {
		yes, err = p.Pairs(ctx, in)
	}
	if err != nil {
		return false, fmt.Errorf("channels: %s: check the sender: %w", g.name, err)
	}
	return yes, nil
}

// Receive forwards a message or returns ErrStranger. Other people always get separate
// conversations, so that their text is never mixed with the owner's.
func (g *inboundFilter) Receive(ctx context.Context, in Inbound) (Accepted, error) {
	in.Channel, in.Sender, in.Debounce = g.name, SenderID(in.Sender), 0
	if err := g.identifySender(ctx, &in); err != nil {
		return Accepted{}, fmt.Errorf("channels: %s: identify the sender: %w", g.name, err)
	}
	own := in.Conversation(g.shared)
	switch {
	case in.Group && in.Sender == "": // without a sender, no conversation can be chosen
		return Accepted{}, fmt.Errorf("channels: %s: a group message has no sender: %w", g.name, ErrStranger)
	case in.FromOwner:
		if in.Session == "" {
			in.Session = own
		}
	case !g.isAllowedSender(in.Sender):
		if n := g.refused.Add(1); n&(n-1) == 0 { // log only at powers of two, so that a flood cannot fill the disk
			g.log.Info("messages from unknown senders rejected", "channel", g.name, "sender", in.Sender, "refused", n)
		}
		return Accepted{}, g.reportRejected(ctx, in, own)
	default:
		in.Session = own
	}
	if in.Group && !in.Mentioned && !g.everything { // addressed to the group, not to Hob
		g.unmentioned.Add(1)
		return Accepted{}, g.reportRejected(ctx, in, own)
	}
	if !in.Forwarded || in.FromOwner { // forwarded text belongs to the owner's message that accompanies it
		in.Debounce = g.settle
	}
	if acc, known, err := g.checkDuplicate(ctx, in); err != nil || known {
		return acc, err
	}
	if err := g.fetchFiles(ctx, &in); err != nil {
		return Accepted{}, err
	}
	in.Text = strings.ToValidUTF8(in.Text, "\uFFFD")
	if strings.TrimSpace(in.Text) == "" && len(in.Images) == 0 && (len(in.Outside) > 0 || in.Mentioned) {
		in.Text = wordless
	}
	failpoint.Hit("message.fetched")
	acc, err := g.to.Receive(ctx, in)
	if errors.Is(err, ErrUnfit) && !g.pull { // the platform would deliver it again forever
		g.log.Warn("message dropped", "channel", g.name, "sender", in.Sender, "error", err)
		err = fmt.Errorf("%w: %w", ErrStranger, err)
	}
	if err != nil {
		return acc, fmt.Errorf("channels: %s: accept a message: %w", g.name, err)
	}
	if !acc.Repeated {
		g.heard()
	}
	return acc, nil
}

// identifySender determines whether the sender is the owner. Only text that the sender wrote can
// contain a pairing code, never quoted or forwarded text. Group messages pair no one, because other
// members read the code.
func (g *inboundFilter) identifySender(ctx context.Context, in *Inbound) error {
	if in.FromOwner || in.Sender == "" || g.owners == nil {
		return nil
	}
	yes, err := g.owners.IsOwner(ctx, g.name, in.Sender)
	if yes && err == nil {
		in.FromOwner = true
		if in.Forwarded { // forwarded by the owner, written by another person
			in.Outside, in.Text = append(in.Outside, in.Text), "[forwarded]"
		}
	}
	if err != nil || yes || in.Forwarded || len(in.Outside) > 0 || len(in.Images) > 0 || len(in.Files) > 0 {
		return err
	}
	if yes, err = g.owners.Pair(ctx, *in); err != nil || !yes || in.Group {
		return err
	}
	in.FromOwner, in.Text, in.Payload = true, PairedCommand, nil
	return nil
}

// reportRejected passes a rejected message to the observer. If the observer returns an error, the
// message stays unacknowledged, so that the platform delivers it again.
func (g *inboundFilter) reportRejected(ctx context.Context, in Inbound, session string) error {
	to, ok := g.to.(RejectionObserver)
	if !ok {
		return ErrStranger
	}
	in.Session, in.Files, in.Text = session, nil, strings.ToValidUTF8(in.Text, "\uFFFD")
	if err := to.Overhear(ctx, in); err != nil {
		return fmt.Errorf("channels: %s: report a rejected message: %w", g.name, err)
	}
	return ErrStranger
}
