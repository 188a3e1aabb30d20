// Package terminal implements the channel for `hob chat` and `hob ask`. These commands use the HTTP
// API and fetch their messages. The package therefore contains only what the daemon needs: the
// channel name, which the commands send as X-Hob-Channel, and the fact that it is a pull channel.
package terminal

import (
	"context"

	"hob/channels"
)

// Name is the channel's name.
const Name = "terminal"

// Channel is a pull channel. It implements channels.Channel.
type Channel struct{}

// New returns the channel.
func New() Channel { return Channel{} }

// Pull implements channels.PullChannel.
func (Channel) Pull() {}

// Run implements channels.Channel. It only waits, because messages arrive through the HTTP API.
func (Channel) Run(ctx context.Context, _ channels.Receiver) error {
	<-ctx.Done()
	return nil
}

// Send implements channels.Channel. It is never called on a pull channel.
func (Channel) Send(context.Context, channels.Delivery) (channels.Receipt, error) {
	return channels.Receipt{}, channels.Errorf(channels.Unsupported, "terminal: cannot push; clients fetch their messages")
}
