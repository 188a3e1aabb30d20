package app

import (
	"context"
	"errors"
	"fmt"
	"time"

	"hob/autonomy/bus"
	"hob/channels"
	"hob/platform/provenance"
	"hob/platform/store"
	"hob/tools"
	"hob/tools/social"
)

// outboxSender gives the tools that write to people the outbox.
type outboxSender struct{ d *App }

// Channels implements social.Sender.
func (p outboxSender) Channels() []string {
	var out []string
	for _, h := range p.d.channels.Status() {
		if p.d.channels.Has(h.Name) && !h.Pull {
			out = append(out, h.Name)
		}
	}
	return out
}

// Owners implements social.Sender. A past user of the channel counts only while still paired.
func (p outboxSender) Owners(ctx context.Context, channel, chat string) (bool, error) {
	sender, ok, err := p.d.bus.Owner.PrivateChatSender(ctx, channel, chat)
	if err != nil || !ok {
		return false, err
	}
	return p.d.pairings.IsOwner(ctx, channel, sender)
}

// sendDelay returns how long a message to another person can be canceled on the channel.
func (p outboxSender) sendDelay(channel string) time.Duration {
	if s, ok := p.d.opt.Config.Channel(channel); ok {
		return s.SendDelay.Duration
	}
	return p.d.opt.Config.Autonomy.SendDelay.Duration
}

// SendTx implements social.Sender.
func (p outboxSender) SendTx(_ context.Context, tx *store.Tx, c tools.Call, m social.Message) (social.Sent, error) {
	o := bus.OutboxItem{
		Delivery:   channels.Delivery{Session: c.Report, Channel: m.Channel, Chat: m.To, Text: m.Text},
		Provenance: provenance.Worst(provenance.Hob, c.Provenance),
	}
	attached, err := p.attachFiles(&o, m)
	if err != nil {
		return social.Sent{}, err
	}
	at := time.Now()
	if !m.Owner {
		at = at.Add(p.sendDelay(m.Channel))
		o.NotBefore = at
	}
	d, err := p.d.bus.Outbox.SendTx(tx, c.Event, o)
	if errors.Is(err, bus.ErrNoWay) {
		return social.Sent{}, tools.Errorf(tools.Unsupported, "nothing was sent: %w", tools.CleanErr(err))
	}
	return social.Sent{ID: d.ID, At: at, Waits: !p.d.isLongRunning(), Attached: attached}, err
}

// CallBackTx implements social.Sender.
func (p outboxSender) CallBackTx(_ context.Context, tx *store.Tx, id string) (string, error) {
	d, err := p.d.bus.Outbox.CancelSendTx(tx, id, "canceled by the user")
	to := d.Channel
	if d.Chat != "" {
		to = d.Chat + " on " + to
	}
	switch {
	case errors.Is(err, bus.ErrTooLate):
		return "", tools.Errorf(tools.Conflict, "cannot cancel the message to %s: %s", to, p.tooLateReason(d))
	case err != nil:
		return "", err
	case d.MaybeRepeated:
		return fmt.Sprintf("Canceled the message to %s, but an earlier attempt may have arrived.", to), nil
	}
	return fmt.Sprintf("Canceled: the message to %s was not sent.", to), nil
}

// tooLateReason returns why it is too late.
func (p outboxSender) tooLateReason(d bus.Delivery) string {
	switch d.State {
	case channels.Sent:
		return "it was sent at " + d.SentAt.In(p.d.zone()).Format("15:04:05")
	case channels.Sending:
		return "it is being sent now"
	case channels.Cancelled:
		return "it was already canceled"
	}
	return "it is " + string(d.State)
}
