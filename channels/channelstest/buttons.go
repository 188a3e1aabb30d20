package channelstest

import (
	"context"
	"errors"
	"sync"
	"time"

	"hob/channels"
)

// Buttons simulates button presses in tests. Only Owner may answer, and Question is the open
// question until it is answered.
type Buttons struct {
	Owner    string // the paired sender id of the owner
	Question string

	mu      sync.Mutex
	pressed []channels.ButtonPress
	ended   chan struct{}
}

// Pressed lists the presses that were accepted.
func (b *Buttons) Pressed() []channels.ButtonPress {
	b.mu.Lock()
	defer b.mu.Unlock()
	return append([]channels.ButtonPress(nil), b.pressed...)
}

// Asked implements channels.ButtonHandler.
func (b *Buttons) Asked(ctx context.Context, d channels.Delivery) (string, error) {
	return b.Open(ctx, d)
}

// Open implements channels.ButtonHandler.
func (b *Buttons) Open(_ context.Context, d channels.Delivery) (string, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if d.Kind != channels.Question || len(b.pressed) > 0 {
		return "", nil
	}
	return b.Question, nil
}

// Spoken implements channels.ButtonHandler.
func (b *Buttons) Spoken(ctx context.Context, _ string, d channels.Delivery) (string, error) {
	return b.Open(ctx, d)
}

// Answer implements channels.ButtonHandler.
func (b *Buttons) Answer(ctx context.Context, channel, question string, shown time.Time, yes bool) (string, error) {
	return b.Press(ctx, channels.ButtonPress{Channel: channel, Sender: b.Owner, Question: question, Shown: shown, Yes: yes})
}

// Press implements channels.ButtonHandler.
func (b *Buttons) Press(_ context.Context, p channels.ButtonPress) (string, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if p.Sender != b.Owner || p.Question != b.Question {
		return "", channels.ErrNotOwner
	}
	if len(b.pressed) == 0 {
		close(b.endSignal())
	}
	b.pressed = append(b.pressed, p)
	if p.Yes {
		return "Thank you. Going on.", nil
	}
	return "All right, I will not do that.", nil
}

// endSignal returns a channel that is closed when the question is answered. The caller holds b.mu.
func (b *Buttons) endSignal() chan struct{} {
	if b.ended == nil {
		b.ended = make(chan struct{})
	}
	return b.ended
}

// Ended implements channels.ButtonHandler.
func (b *Buttons) Ended(ctx context.Context, _ string) error {
	b.mu.Lock()
	end := b.endSignal()
	b.mu.Unlock()
	select {
	case <-end:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Later implements channels.ButtonHandler.
func (*Buttons) Later(context.Context, string) (string, error) {
	return "I will tell you again in an hour.", nil
}

// CanCancel implements channels.ButtonHandler.
func (*Buttons) CanCancel(context.Context, channels.Delivery) (bool, error) { return false, nil }

// Cancel implements channels.ButtonHandler.
func (*Buttons) Cancel(context.Context, string, string) (string, error) {
	return "", errors.New("nothing waits")
}

// Trusted implements channels.ButtonHandler.
func (*Buttons) Trusted(int) error { return nil }

// Page implements channels.ButtonHandler.
func (*Buttons) Page(string) string { return "" }

// Keeper is an in-memory channels.StateStore that outlives channels.
type Keeper struct {
	mu   sync.Mutex
	kept map[string][]byte
}

// Get implements channels.StateStore.
func (k *Keeper) Get(_ context.Context, key string) ([]byte, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.kept[key], nil
}

// Set implements channels.StateStore.
func (k *Keeper) Set(_ context.Context, key string, value []byte) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.kept == nil {
		k.kept = map[string][]byte{}
	}
	if value == nil {
		delete(k.kept, key)
		return nil
	}
	k.kept[key] = append([]byte(nil), value...)
	return nil
}
