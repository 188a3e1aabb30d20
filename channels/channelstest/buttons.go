package channelstest

import (
	"context"
	"sync"
	"time"

	"hob/channels"
)

// Buttons is what presses do in tests: Owner alone may answer, and Question is what
// is asked, until somebody has answered.
type Buttons struct {
	Owner    string // the sender who is the owner
	Question string

	mu      sync.Mutex
	pressed []channels.Press
	ended   chan struct{}
}

// Pressed lists the presses that counted.
func (b *Buttons) Pressed() []channels.Press {
	b.mu.Lock()
	defer b.mu.Unlock()
	return append([]channels.Press(nil), b.pressed...)
}

// Asked implements channels.Buttons.
func (b *Buttons) Asked(ctx context.Context, d channels.Delivery) (string, error) {
	return b.Open(ctx, d)
}

// Open implements channels.Buttons.
func (b *Buttons) Open(_ context.Context, d channels.Delivery) (string, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if d.Kind != channels.Question || len(b.pressed) > 0 {
		return "", nil
	}
	return b.Question, nil
}

// Spoken implements channels.Buttons.
func (b *Buttons) Spoken(ctx context.Context, _ string, d channels.Delivery) (string, error) {
	return b.Open(ctx, d)
}

// Answer implements channels.Buttons.
func (b *Buttons) Answer(ctx context.Context, channel, question string, shown time.Time, yes bool) (string, error) {
	return b.Press(ctx, channels.Press{Channel: channel, Sender: b.Owner, Question: question, Shown: shown, Yes: yes})
}

// Press implements channels.Buttons.
func (b *Buttons) Press(_ context.Context, p channels.Press) (string, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if p.Sender != b.Owner || p.Question != b.Question {
		return "", channels.ErrNotOwner
	}
	if len(b.pressed) == 0 {
		close(b.end())
	}
	b.pressed = append(b.pressed, p)
	if p.Yes {
		return "Thank you. Going on.", nil
	}
	return "All right, I will not do that.", nil
}

// end is closed once the question was answered; b.mu is held.
func (b *Buttons) end() chan struct{} {
	if b.ended == nil {
		b.ended = make(chan struct{})
	}
	return b.ended
}

// Ended implements channels.Buttons.
func (b *Buttons) Ended(ctx context.Context, _ string) error {
	b.mu.Lock()
	end := b.end()
	b.mu.Unlock()
	select {
	case <-end:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Later implements channels.Buttons.
func (*Buttons) Later(context.Context, string) (string, error) {
	return "I will tell you again in an hour.", nil
}

// Trusted implements channels.Buttons.
func (*Buttons) Trusted(int) error { return nil }

// Page implements channels.Buttons.
func (*Buttons) Page(string) string { return "" }

// Keeper is a channels.Keeper in memory, which outlives channels.
type Keeper struct {
	mu   sync.Mutex
	kept map[string][]byte
}

// Get implements channels.Keeper.
func (k *Keeper) Get(_ context.Context, key string) ([]byte, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.kept[key], nil
}

// Set implements channels.Keeper.
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
