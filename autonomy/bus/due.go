package bus

import (
	"context"
	"sync"
	"time"

	"hob/platform/store"
	"hob/platform/store/lease"
)

// DueSource remembers when the next work in a table is due. The zero value can be used. Its methods
// may be called concurrently.
type DueSource struct {
	mu      sync.Mutex
	next    time.Time // zero if no work is scheduled
	current bool      // whether next is up to date
}

// InvalidateTx makes the next call to Due read the table again, and wakes the loop.
func (d *DueSource) InvalidateTx(tx *store.Tx, in *Inbox) {
	tx.AfterCommit(func() {
		d.mu.Lock()
		d.current = false
		d.mu.Unlock()
		in.SignalWork()
	})
}

// FollowOthers makes the next call to Due read the tables again after another process changed them, and wakes
// the loop.
func (d *DueSource) FollowOthers(l *lease.Member, in *Inbox, tables ...string) {
	l.Follow(func() {
		d.mu.Lock()
		d.current = false
		d.mu.Unlock()
		in.SignalWork()
	}, tables...)
}

// MarkCurrent cancels the effect of InvalidateTx for changes that the work itself has already read.
func (d *DueSource) MarkCurrent() {
	d.mu.Lock()
	d.current = true
	d.mu.Unlock()
}

// Due returns the time at which the next work is due, or the zero time if there is none. It calls
// work only after a change, if force is set, or when work is due. work does the due work and
// returns the time of the next work. After an error, Due calls work again in 1 s.
func (d *DueSource) Due(ctx context.Context, now time.Time, force bool, work func(context.Context, time.Time) (time.Time, error)) (time.Time, error) {
	d.mu.Lock()
	next, known := d.next, d.current
	d.current = true // a later change makes the next call read the table
	d.mu.Unlock()
	if known && !force && (next.IsZero() || next.After(now)) {
		return next, nil
	}
	next, err := work(ctx, now)
	d.mu.Lock()
	defer d.mu.Unlock()
	if err != nil {
		d.current = false
		return now.Add(time.Second), err
	}
	d.next = next
	return next, nil
}
