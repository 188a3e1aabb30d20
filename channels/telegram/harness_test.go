package telegram_test

import (
	"cmp"
	"context"
	"log/slog"
	"sync"
	"testing"
	"time"

	"hob/channels"
	"hob/channels/channelstest"
	"hob/channels/telegram"
	"hob/channels/telegram/telegramtest"
	"hob/platform/safehttp"
)

type object = telegramtest.Object

// api is a server, and the first bot that was made for it.
type api struct {
	*telegramtest.Server
	t  *testing.T
	it *bot
}

func newAPI(t *testing.T) *api { return &api{Server: telegramtest.New(t), t: t} }

// Reopen implements channelstest.Reopener.
func (a *api) Reopen(t *testing.T) channels.Channel { return a.it.open(t) }

// bot is a channel that talks to the server.
type bot struct {
	deps channels.Deps
	conf telegram.Config
	opt  telegram.Options
}

func (a *api) bot() *bot {
	network, err := safehttp.New(safehttp.Options{Dial: a.Dial})
	if err != nil {
		a.t.Fatal(err)
	}
	b := &bot{
		deps: channels.Deps{Network: network, Keep: &channelstest.Keeper{}, Log: slog.New(slog.DiscardHandler)}, conf: telegram.Config{Token: telegramtest.Token},
		opt: telegram.Options{Base: a.URL, Poll: 5 * time.Second, Pause: time.Millisecond},
	}
	a.it = cmp.Or(a.it, b)
	return b
}

func (b *bot) open(t *testing.T) *telegram.Channel {
	t.Helper()
	ch, err := telegram.New(b.conf, b.deps, b.opt)
	if err != nil {
		t.Fatal(err)
	}
	return ch
}

// run runs a channel; what it returns ends that.
func run(t *testing.T, ch channels.Channel, r channels.Receiver) (end func() error) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- ch.Run(ctx, r) }()
	end = sync.OnceValue(func() error {
		cancel()
		return <-done
	})
	t.Cleanup(func() { _ = end() })
	return end
}

// eventually waits until f is true.
func eventually(t *testing.T, what string, f func() bool) {
	t.Helper()
	until := time.Now().Add(20 * time.Second)
	for !f() {
		if time.Now().After(until) {
			t.Fatal("waited in vain: " + what)
		}
		time.Sleep(2 * time.Millisecond)
	}
}

// listening waits until the channel has passed what was written before it was there.
func (a *api) listening(t *testing.T) {
	t.Helper()
	eventually(t, "the bot listens", func() bool { return a.Called("getUpdates") >= 2 })
}
