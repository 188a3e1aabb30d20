package bus

import (
	"context"
	"sync"
	"time"

	"hob/platform/store"
)

// DueSource remembers when the next work of a table is due. The zero value is useful; its methods
// may be called concurrently.
type DueSource struct {
	mu      sync.Mutex
	next    time.Time // zero: none
	current bool      // next is current
}

// InvalidateTx makes the next call of Due read the table again, and wakes the loop.
func (d *DueSource) InvalidateTx(tx *store.Tx, in *Inbox) {
	tx.AfterCommit(func() {
		d.mu.Lock()
		d.current = false
		d.mu.Unlock()
		in.SignalWork()
	})
}

// MarkCurrent cancels InvalidateTx for changes that the work itself has already read.
func (d *DueSource) MarkCurrent() {
	d.mu.Lock()
	d.current = true
	d.mu.Unlock()
}

// Due returns when the next work is due (zero: none). It calls work only after a change, if force
// is set, or when work is due. work does what is due and returns the time of the next one. After
// an error, Due calls it again in 1 s.
func (d *DueSource) Due(ctx context.Context, now time.Time, force bool, work func(context.Context, time.Time) (time.Time, error)) (time.Time, error) {
	d.mu.Lock()
	next, known := d.next, d.current
	d.current = true // a later change is read by the next call
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
