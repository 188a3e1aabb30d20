package discord_test

import (
	"testing"

	"go.uber.org/goleak"

	"hob/channels"
	"hob/channels/channelstest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestConformance(t *testing.T) {
	channelstest.Conform(t, func(t *testing.T) (channels.Channel, channelstest.Platform) {
		w := newWorld(t)
		return w.open(), w
	})
}
