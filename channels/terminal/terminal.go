// Package terminal implements the channel of `hob chat` and `hob ask`. These commands use the
// HTTP API and fetch their messages, so the package only contains what the daemon needs: the
// channel's name, which they send as X-Hob-Channel, and that it is a pull channel.
package terminal

import (
	"context"

	"hob/channels"
)

// Name is the channel's name.
const Name = "terminal"

// Channel is a pull channel (channels.Channel).
type Channel struct{}

// New returns the channel.
func New() Channel { return Channel{} }

// Pull implements channels.PullChannel.
func (Channel) Pull() {}

// Run implements channels.Channel; messages arrive through the HTTP API.
func (Channel) Run(ctx context.Context, _ channels.Receiver) error {
	<-ctx.Done()
	return nil
}

// Send implements channels.Channel; it is never called on a pull channel.
func (Channel) Send(context.Context, channels.Delivery) (channels.Receipt, error) {
	return channels.Receipt{}, channels.Errorf(channels.Unsupported, "terminal: cannot push; clients fetch their messages")
}
