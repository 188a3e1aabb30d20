package usage

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"sync"
	"time"

	"hob/platform/retry"
	"hob/platform/store"
)

// Caps limit model calls; 0 means no limit.
type Caps struct {
	Daily, Monthly Micros
	DailyTokens    int
	// WarnAt is the fraction of a cap at which the user is warned, 0 = never.
	WarnAt float64
}

func (c Caps) isUnlimited() bool { return c.Daily <= 0 && c.Monthly <= 0 && c.DailyTokens <= 0 }

// Options holds the settings of a Tracker. Prices and Zone are required.
type Options struct {
	Prices func() *Prices
	// Caps returns the current caps: the caps for all calls if agent is "", otherwise the
	// additional caps for one agent. nil means no caps.
	Caps func(agent string) Caps
	// Zone returns the user's time zone, in which days and months begin and end.
	Zone func() *time.Location
	// CallsPerMinute limits unattended calls. 0 means 10; a negative value means that none are
	// allowed.
	CallsPerMinute int
	// Tell sends text to the user, once per key.
	Tell func(ctx context.Context, key, text string) error
	Log  *slog.Logger
}

// Tracker tracks model usage. Its methods may be called concurrently; call Run once.
type Tracker struct {
	db   *store.Store
	o    Options
	rate limiter
	kick chan struct{} // signals that rows or messages are waiting
	now  chan struct{} // signals that waiting rows must be stored immediately

	mu      sync.Mutex
	pending []*Call
	notices []notice
	said    map[string]bool
	scopes  map[string]*scope // usage by agent; "" is the total
	freed   chan struct{}     // closed and replaced when a call ends
	sizes   map[string]float64
}

type notice struct{ key, text string }

// New creates a Tracker over a store opened with Migrations. It does no I/O.
func New(db *store.Store, o Options) (*Tracker, error) {
	if db == nil || o.Prices == nil || o.Zone == nil {
		return nil, errors.New("usage: New needs a store, and Options needs Prices and Zone")
	}
	if o.Caps == nil {
		o.Caps = func(string) Caps { return Caps{} }
	}
	if o.CallsPerMinute == 0 {
		o.CallsPerMinute = 10
	}
	if o.Tell == nil {
		o.Tell = func(context.Context, string, string) error { return nil }
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	return &Tracker{
		db: db, o: o, rate: limiter{max: o.CallsPerMinute, db: db}, kick: make(chan struct{}, 1), now: make(chan struct{}, 1),
		said: map[string]bool{}, scopes: map[string]*scope{}, freed: make(chan struct{}), sizes: map[string]float64{},
	}, nil
}

// CanSpend reports whether an unattended call is allowed now. If not, at is the time to retry.
func (b *Tracker) CanSpend(now time.Time) (ok bool, at time.Time) { return b.rate.hasRoom(now) }

// FlushTx stores the waiting rows in the caller's transaction. The rows leave the queue when the
// transaction is durable.
func (b *Tracker) FlushTx(tx *store.Tx) error {
	b.mu.Lock()
	rows := slices.Clone(b.pending)
	b.mu.Unlock()
	if len(rows) == 0 {
		return nil
	}
	for _, c := range rows {
		if err := c.insertRow(tx); err != nil {
			return err
		}
	}
	tx.AfterCommit(func() {
		b.mu.Lock()
		defer b.mu.Unlock()
		b.pending = slices.DeleteFunc(b.pending, func(c *Call) bool { return slices.Contains(rows, c) })
	})
	return nil
}

// gather is the maximum time that rows wait for another transaction to store them.
const gather = time.Second

// Run stores the remaining rows and sends queued messages. It returns when ctx has ended and
// everything is stored.
func (b *Tracker) Run(ctx context.Context) error {
	for {
		select {
		case <-ctx.Done():
			if err := b.Flush(context.WithoutCancel(ctx)); err != nil {
				b.o.Log.Error("model calls not stored", "err", err)
			}
			return nil
		case <-b.now:
		case <-b.kick:
			_ = retry.Wait(ctx, gather, b.now) // the rows are stored even if ctx ends
		}
		if err := b.Flush(ctx); err != nil && ctx.Err() == nil {
			b.o.Log.Error("model calls not stored; retrying with the next call", "err", err)
		}
	}
}

// Flush stores the waiting rows and sends the waiting messages. Run calls it; the daemon calls it
// again after the last turn has ended.
func (b *Tracker) Flush(ctx context.Context) error {
	b.mu.Lock()
	told, rows := b.notices, len(b.pending)
	b.notices = nil
	b.mu.Unlock()
	for i, n := range told {
		if err := b.o.Tell(ctx, n.key, n.text); err != nil {
			b.mu.Lock()
			b.notices = append(told[i:], b.notices...)
			b.mu.Unlock()
			return err
		}
	}
	if rows == 0 {
		return nil
	}
	return b.db.Write(ctx, b.FlushTx)
}

// queueMessage queues a sentence for the user. The caller holds b.mu.
func (b *Tracker) queueMessage(key, text string) {
	if b.said[key] {
		return
	}
	b.said[key] = true
	b.notices = append(b.notices, notice{key, text})
	signalChannel(b.now)
}

func signalChannel(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}
