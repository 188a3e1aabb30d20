package discord_test

import (
	"testing"

	"go.uber.org/goleak"

	"hob/channels"
	"hob/channels/channelstest"
	"hob/channels/discord/discordtest"
)

type object = discordtest.Object

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestConformance(t *testing.T) {
	channelstest.Conform(t, func(t *testing.T) (channels.Channel, channelstest.Platform) {
		w := discordtest.New(t)
		return w.Open(), w
	})
}
