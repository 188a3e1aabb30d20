package terminal_test

import (
	"context"
	"testing"

	"hob/channels"
	"hob/channels/terminal"
)

func TestOpen_PullChannel(t *testing.T) {
	var ch channels.Channel = terminal.New()
	if _, ok := ch.(channels.PullChannel); !ok {
		t.Error("the terminal channel is not a PullChannel")
	}
	if _, err := ch.Send(t.Context(), channels.Delivery{}); channels.ClassOf(err) != channels.Unsupported {
		t.Errorf("Send: %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := ch.Run(ctx, nil); err != nil {
		t.Errorf("Run: %v", err)
	}
}
