package service

import (
	"context"

	"hob/channels"
)

// Receiver receives messages from channels, and answers /pair. It is created before the service, because the service
// needs the channels. The channels run later.
type Receiver struct{ service func() *Service }

// NewReceiver returns a Receiver. service returns the service, which may be created after the
// channels, but before they run.
func NewReceiver(service func() *Service) Receiver { return Receiver{service} }

// Receive implements channels.Receiver.
func (r Receiver) Receive(ctx context.Context, in channels.Inbound) (channels.Accepted, error) {
	return r.service().Receive(ctx, in)
}

// Known implements channels.DuplicateChecker.
func (r Receiver) Known(ctx context.Context, in channels.Inbound) (channels.Accepted, bool, error) {
	return r.service().Known(ctx, in)
}

// Overhear implements channels.RejectionObserver.
func (r Receiver) Overhear(ctx context.Context, in channels.Inbound) error {
	return r.service().Overhear(ctx, in)
}

// PairingText implements commands.Pairing.
func (r Receiver) PairingText(ctx context.Context, channel, by string) (string, error) {
	return r.service().PairingText(ctx, channel, by)
}
