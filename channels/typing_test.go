package channels_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"hob/channels"
	"hob/channels/channelstest"
)

func TestTypingIndicators(t *testing.T) {
	refuses := func(err error) func(string) error { return func(string) error { return err } }
	tests := []struct {
		name  string
		shown func(string) error
		run   func(ctx context.Context, h *managerFixture)
		want  int // number of typing indicators sent
	}{
		{"an immediate answer", nil, func(ctx context.Context, h *managerFixture) {
			h.Typing(ctx, "x", "c")()
		}, 0},
		{"while the turn runs", nil, func(ctx context.Context, h *managerFixture) {
			stop := h.Typing(ctx, "x", "c")
			time.Sleep(11 * time.Second) // 0.5, 5.5 and 10.5 s
			stop()
			stop()
		}, 3},
		{"two turns of one chat share a sign", nil, func(ctx context.Context, h *managerFixture) {
			first, second := h.Typing(ctx, "x", "c"), h.Typing(ctx, "x", "c")
			time.Sleep(time.Second)
			first()
			time.Sleep(5 * time.Second)
			second()
		}, 2},
		{"two chats have their own", nil, func(ctx context.Context, h *managerFixture) {
			first, second := h.Typing(ctx, "x", "c"), h.Typing(ctx, "x", "d")
			time.Sleep(time.Second)
			first()
			second()
		}, 2},
		{"the turn's context ends", nil, func(ctx context.Context, h *managerFixture) {
			ctx, cancel := context.WithCancel(ctx)
			h.Typing(ctx, "x", "c")
			time.Sleep(time.Second)
			cancel()
		}, 1},
		{"errors do not stop the turn", refuses(errors.New("busy")), func(ctx context.Context, h *managerFixture) {
			stop := h.Typing(ctx, "x", "c")
			time.Sleep(6 * time.Second)
			stop()
		}, 2},
		{"a panic does not stop the turn", func(string) error { panic("typing") }, func(ctx context.Context, h *managerFixture) {
			stop := h.Typing(ctx, "x", "c")
			time.Sleep(6 * time.Second)
			stop()
		}, 2},
		{"a chat without typing signs", refuses(channels.Errorf(channels.Unsupported, "no signs here")), func(ctx context.Context, h *managerFixture) {
			stop := h.Typing(ctx, "x", "c")
			time.Sleep(time.Minute)
			stop()
		}, 1},
		{"a channel without signs", nil, func(ctx context.Context, h *managerFixture) {
			stop := h.Typing(ctx, "plain", "c")
			time.Sleep(time.Minute)
			stop()
		}, 0},
		{"Hob ends before the turn", nil, func(ctx context.Context, h *managerFixture) {
			h.Typing(ctx, "x", "c")
			time.Sleep(time.Second)
			h.cancel()
			time.Sleep(time.Minute)
			h.Typing(ctx, "x", "d")
		}, 1},
	}
	for _, tc := range tests {
		t.Run(tc.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				x := &channelstest.Typing{Fake: &channelstest.Fake{}, Shown: tc.shown}
				h := startManager(t, channelstest.NewOutbox(), map[string]channels.Channel{"x": x, "plain": &channelstest.Fake{}}, channels.Options{})
				tc.run(t.Context(), h)
				time.Sleep(time.Minute)
				synctest.Wait()
				if d := cmp.Diff(tc.want, x.Typed()); d != "" {
					t.Error(d)
				}
				if got := x.Arrived(); len(got) > 0 {
					t.Errorf("texts arrived: %q", got)
				}
				h.cancel()
			})
		})
	}
}
