package channels

import (
	"context"
	"errors"
	"time"
)

// errWoke ends what hears on a channel that holds a connection, after the machine
// has slept: it begins anew, and that is no failure.
var errWoke = errors.New("machine woke from sleep")

// hearing is what hears on a channel at the moment.
type hearing struct {
	cancel context.CancelCauseFunc // nil while nothing hears
	woke   chan struct{}           // closed when the machine wakes
}

// Woke is called when the machine has slept, or its clock was moved. Channels that
// hold a connection (Connected) hear anew at once, since nobody tells a connection
// that it is dead, and channels that wait after a failure are tried at once. Nothing
// is lost by it, and it may be called at any time.
func (m *Manager) Woke() {
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

func (m *Manager) run(name string) *hearing {
	h := m.runs[name]
	if h == nil {
		h = &hearing{woke: make(chan struct{})}
		m.runs[name] = h
	}
	return h
}

// woke is closed when the machine wakes the next time.
func (m *Manager) woke(name string) <-chan struct{} {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.run(name).woke
}

// hear runs the hearing half of a channel until ctx ends, it fails, or the machine
// wakes: then its error is errWoke.
func (m *Manager) hear(ctx context.Context, name string, ch Channel, g *gate) error {
	c, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	m.mu.Lock()
	m.run(name).cancel = cancel
	m.mu.Unlock()
	defer func() {
		m.mu.Lock()
		defer m.mu.Unlock()
		m.run(name).cancel = nil
	}()
	err := ch.Run(c, g)
	if ctx.Err() == nil && errors.Is(context.Cause(c), errWoke) {
		m.opt.Log.Info("machine woke from sleep; reconnecting the channel", "channel", name)
		return errWoke
	}
	return err
}

// sleepOr is sleep that ends early when early is closed.
func sleepOr(ctx context.Context, d time.Duration, early <-chan struct{}) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
	case <-early:
	case <-ctx.Done():
		return false
	}
	return true
}
