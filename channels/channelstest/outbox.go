// Package channelstest provides test helpers for channels: the conformance suite that every channel
// runs (Conform), an in-memory Outbox, and a fake channel whose platform can simulate every
// failure. Only tests use it.
package channelstest

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"hob/channels"
	"hob/platform/text/sorting"
)

// Row is a delivery and its state.
type Row struct {
	channels.Delivery
	State   channels.State
	Due     time.Time
	Why     string
	Receipt channels.Receipt
}

// Outbox is an in-memory channels.Outbox. It outlives managers, as the database outlives a process.
// All methods may be called concurrently.
type Outbox struct {
	mu   sync.Mutex
	rows []*Row
	wake map[string]chan struct{}
	next int
}

// NewOutbox creates an empty Outbox.
func NewOutbox() *Outbox { return &Outbox{wake: map[string]chan struct{}{}} }

// Put queues a delivery, sets its ID and CreatedAt if they are missing, and returns the ID.
func (o *Outbox) Put(d channels.Delivery) string { return o.putRow(d, channels.Queued) }

// PutCutOff adds a row that was being sent when the process died.
func (o *Outbox) PutCutOff(d channels.Delivery) string { return o.putRow(d, channels.Sending) }

func (o *Outbox) putRow(d channels.Delivery, s channels.State) string {
	o.mu.Lock()
	o.next++
	if d.ID == "" {
		d.ID = fmt.Sprintf("d%04d", o.next)
	}
	if d.CreatedAt.IsZero() {
		d.CreatedAt = time.Now()
	}
	o.rows = append(o.rows, &Row{Delivery: d, State: s, Due: d.CreatedAt})
	o.mu.Unlock()
	o.signalChannel(d.Channel)
	return d.ID
}

// Row returns a copy of a row, or the zero Row if there is none.
func (o *Outbox) Row(id string) Row {
	o.mu.Lock()
	defer o.mu.Unlock()
	if r := o.findRow(id); r != nil {
		return *r
	}
	return Row{}
}

// Rows returns copies of all rows, oldest first.
func (o *Outbox) Rows() []Row {
	o.mu.Lock()
	defer o.mu.Unlock()
	out := make([]Row, 0, len(o.rows))
	for _, r := range o.rows {
		out = append(out, *r)
	}
	return out
}

func (o *Outbox) findRow(id string) *Row {
	i := slices.IndexFunc(o.rows, func(r *Row) bool { return r.ID == id })
	if i < 0 {
		return nil
	}
	return o.rows[i]
}

// ClaimDeliveries implements channels.Outbox.
func (o *Outbox) ClaimDeliveries(_ context.Context, channel string, n int) ([]channels.Delivery, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	var out []channels.Delivery
	busy := map[string]bool{}
	var due []*Row
	for _, r := range o.rows {
		if r.Channel != channel || r.State == channels.Sent || r.State == channels.Dead || busy[r.Chat] {
			continue
		}
		busy[r.Chat] = true
		if r.State != channels.Sending && !r.Due.After(time.Now()) {
			due = append(due, r)
		}
	}
	sorting.StableByFunc(due, func(a, b *Row) int { return deliveryRank(a) - deliveryRank(b) })
	for _, r := range due[:min(n, len(due))] {
		r.State = channels.Sending
		r.Attempts++
		out = append(out, r.Delivery)
	}
	return out, nil
}

// deliveryRank returns a sort rank that puts guests last.
func deliveryRank(r *Row) int {
	if r.Guest {
		return 1
	}
	return 0
}

// InFlight implements channels.Outbox.
func (o *Outbox) InFlight(_ context.Context, channel string) ([]channels.Delivery, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	var out []channels.Delivery
	for _, r := range o.rows {
		if r.Channel == channel && r.State == channels.Sending {
			out = append(out, r.Delivery)
		}
	}
	return out, nil
}

// Delivered implements channels.Outbox.
func (o *Outbox) Delivered(_ context.Context, id string, rc channels.Receipt) error {
	return o.updateRow(id, func(r *Row) { r.State, r.Receipt = channels.Sent, rc })
}

// Retry implements channels.Outbox.
func (o *Outbox) Retry(_ context.Context, id string, at time.Time, why string, maybeRepeated bool) error {
	return o.updateRow(id, func(r *Row) {
		r.State, r.Due, r.Why, r.MaybeRepeated = channels.Failed, at, why, maybeRepeated
	})
}

// DeadLetter implements channels.Outbox.
func (o *Outbox) DeadLetter(_ context.Context, id, why string) error {
	return o.updateRow(id, func(r *Row) { r.State, r.Why = channels.Dead, why })
}

func (o *Outbox) updateRow(id string, f func(*Row)) error {
	o.mu.Lock()
	r := o.findRow(id)
	if r == nil {
		o.mu.Unlock()
		return fmt.Errorf("channelstest: no delivery %q", id)
	}
	f(r)
	channel := r.Channel
	o.mu.Unlock()
	o.signalChannel(channel)
	return nil
}

// Wake implements channels.Outbox.
func (o *Outbox) Wake(channel string) <-chan struct{} { return o.wakeSignal(channel) }

func (o *Outbox) wakeSignal(channel string) chan struct{} {
	o.mu.Lock()
	defer o.mu.Unlock()
	c, ok := o.wake[channel]
	if !ok {
		c = make(chan struct{}, 1)
		o.wake[channel] = c
	}
	return c
}

func (o *Outbox) signalChannel(channel string) {
	select {
	case o.wakeSignal(channel) <- struct{}{}:
	default:
	}
}

// NextDelivery implements channels.Outbox.
func (o *Outbox) NextDelivery(_ context.Context, channel string) (time.Time, bool, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	var at time.Time
	for _, r := range o.rows {
		waiting := r.State == channels.Queued || r.State == channels.Failed
		if r.Channel == channel && waiting && (at.IsZero() || r.Due.Before(at)) {
			at = r.Due
		}
	}
	return at, !at.IsZero(), nil
}
