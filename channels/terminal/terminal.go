// Package terminal is the channel of the owner's terminal: `hob chat` and
// `hob ask`. These commands speak the HTTP API and fetch what is said to them,
// so here is only what the daemon needs to know: the channel's name, which they
// send as X-Hob-Channel, and that it pulls. The composition root makes it.
package terminal

import (
	"context"

	"hob/channels"
)

// Name is the channel's name.
const Name = "terminal"

// Channel is a channels.Channel whose clients pull.
type Channel struct{}

// New makes the channel.
func New() Channel { return Channel{} }

// Pull implements channels.Puller.
func (Channel) Pull() {}

// Run implements channels.Channel; messages arrive through the HTTP API.
func (Channel) Run(ctx context.Context, _ channels.Receiver) error {
	<-ctx.Done()
	return nil
}

// Send implements channels.Channel; it is never called on a channel that pulls.
func (Channel) Send(context.Context, channels.Delivery) (channels.Receipt, error) {
	return channels.Receipt{}, channels.Errorf(channels.Unsupported, "terminal: cannot push; clients fetch their messages")
}
