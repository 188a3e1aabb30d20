package channels

import (
	"context"
	"errors"
	"fmt"

	"hob/platform/retry"
)

// errWoke ends the receiver of a channel with a connection after the machine woke. The receiver
// then restarts, which does not count as a failure.
var errWoke = fmt.Errorf("machine woke from sleep: %w", retry.ErrRestart)

// receiverRun holds a channel's running receiver.
type receiverRun struct {
	cancel context.CancelCauseFunc // nil while no receiver runs
	woke   chan struct{}           // closed at the next wake-up
}

// HandleWake must be called when the machine has woken from sleep or its clock was changed. It
// immediately reconnects channels with a connection (Connected), because a dead connection reports
// no error, and retries channels that are waiting after a failure. It loses no messages and may be
// called at any time.
func (m *Manager) HandleWake() {
	m.mu.Lock()
	defer m.mu.Unlock()
	for name, h := range m.runs {
		if _, ok := m.opt.Channels[name].(Connected); ok && h.cancel != nil {
			h.cancel(errWoke)
		}
		close(h.woke)
		h.woke = make(chan struct{})
	}
}

func (m *Manager) hearingRun(name string) *receiverRun {
	h := m.runs[name]
	if h == nil {
		h = &receiverRun{woke: make(chan struct{})}
		m.runs[name] = h
	}
	return h
}

// wakeSignal returns a channel that is closed at the next wake-up.
func (m *Manager) wakeSignal(name string) <-chan struct{} {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.hearingRun(name).woke
}

// runReceiver runs the receiving half of a channel until ctx ends, it fails, or the machine wakes.
// In the last case it returns errWoke.
func (m *Manager) runReceiver(ctx context.Context, name string, ch Channel, g *inboundFilter) error {
	c, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	m.mu.Lock()
	m.hearingRun(name).cancel = cancel
	m.mu.Unlock()
	defer func() {
		m.mu.Lock()
		defer m.mu.Unlock()
		m.hearingRun(name).cancel = nil
	}()
	err := ch.Run(c, g)
	if ctx.Err() == nil && errors.Is(context.Cause(c), errWoke) {
		m.opt.Log.Info("machine woke from sleep; reconnecting the channel", "channel", name)
		return errWoke
	}
	return err
}
