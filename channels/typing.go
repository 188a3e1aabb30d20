package channels

import (
	"context"
	"sync"
	"time"

	"hob/platform/retry"
)

// Typer is a channel with a typing indicator. Typing shows the indicator in a chat for a few
// seconds, depending on the platform; it never sends a message. It may be called concurrently with
// Send and Run and returns soon after ctx ends. Its errors are only logged.
type Typer interface {
	Typing(ctx context.Context, chat string) error
}

// Timing of typing indicators. Fast answers show no indicator, and platforms limit how often it may
// be sent.
const (
	typingAfter   = 500 * time.Millisecond
	typingEvery   = 5 * time.Second
	typingTimeout = 4 * time.Second
)

// typingIndicators holds the chats in which a turn is running.
type typingIndicators struct {
	mu   sync.Mutex
	open map[[2]string]*typist
	shut bool
	wg   sync.WaitGroup
}

type typist struct {
	turns  int
	cancel context.CancelFunc
}

// Typing shows the typing indicator in a chat until stop is called or ctx ends. Turns in the same
// chat share one indicator. On a channel without typing indicators it does nothing.
func (m *Manager) Typing(ctx context.Context, channel, chat string) (stop func()) {
	t, ok := m.opt.Channels[channel].(Typer)
	if !ok || chat == "" {
		return func() {}
	}
	key := [2]string{channel, chat}
	m.typists.mu.Lock()
	defer m.typists.mu.Unlock()
	if m.typists.shut {
		return func() {}
	}
	one := m.typists.open[key]
	if one == nil {
		ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
		one = &typist{cancel: cancel}
		m.typists.open[key] = one
		m.typists.wg.Go(func() { m.repeatSign(ctx, t, channel, chat) })
	}
	one.turns++
	leave := sync.OnceFunc(func() { m.typists.leaveTyping(key, one) })
	forget := context.AfterFunc(ctx, leave)
	return func() {
		forget()
		leave()
	}
}

func (t *typingIndicators) leaveTyping(key [2]string, one *typist) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if one.turns--; one.turns > 0 {
		return
	}
	one.cancel()
	if t.open[key] == one {
		delete(t.open, key)
	}
}

// endAll stops all typing indicators and waits for their goroutines.
func (t *typingIndicators) endAll() {
	t.mu.Lock()
	t.shut = true
	for key, one := range t.open {
		one.cancel()
		delete(t.open, key)
	}
	t.mu.Unlock()
	t.wg.Wait()
}

// repeatSign repeatedly shows the typing indicator until ctx ends.
func (m *Manager) repeatSign(ctx context.Context, t Typer, channel, chat string) {
	for wait := typingAfter; retry.Sleep(ctx, wait) == nil; wait = typingEvery {
		err := recoverPanic(func() error {
			ctx, cancel := context.WithTimeout(ctx, typingTimeout)
			defer cancel()
			return t.Typing(ctx, chat)
		})
		if err == nil || ctx.Err() != nil {
			continue
		}
		m.opt.Log.Debug("showing the typing indicator failed", "channel", channel, "error", err)
		if c := ClassOf(err); c == Unsupported || c == Unauthorized || c == Permanent {
			return
		}
	}
}
