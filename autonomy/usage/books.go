package usage

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"sync"
	"time"

	"hob/knowledge/store"
)

// Caps bound what model calls may take; 0 is no cap.
type Caps struct {
	Daily, Monthly Micros
	DailyTokens    int
	// WarnAt is the part of a cap at which the owner is warned, 0 = never.
	WarnAt float64
}

func (c Caps) none() bool { return c.Daily <= 0 && c.Monthly <= 0 && c.DailyTokens <= 0 }

// Options of New. Prices and Zone are required.
type Options struct {
	Prices func() *Prices
	// Caps are those in force now: of everything (agent ""), or of one agent
	// beside them. nil means none.
	Caps func(agent string) Caps
	// Zone is the owner's: days and months are those of the owner's calendar.
	Zone func() *time.Location
	// CallsPerMinute bounds calls for which nobody waits; 0 = 10, negative = none
	// may be made at all.
	CallsPerMinute int
	// Tell puts a sentence before the owner, once for each key.
	Tell func(ctx context.Context, key, text string) error
	Log  *slog.Logger
}

// Books count what models are used for. Their methods may be called
// concurrently; Run once.
type Books struct {
	db   *store.Store
	o    Options
	rate limiter
	kick chan struct{} // something is to be stored or told
	now  chan struct{} // and not to wait for

	mu      sync.Mutex
	pending []*Call
	notices []notice
	said    map[string]bool
	scopes  map[string]*scope // what was taken, by agent; "" is all
	freed   chan struct{}     // closed when a call ends, and replaced
	sizes   map[string]float64
}

type notice struct{ key, text string }

// New makes the books over a store opened with Migrations. It reads nothing.
func New(db *store.Store, o Options) (*Books, error) {
	if db == nil || o.Prices == nil || o.Zone == nil {
		return nil, errors.New("usage: an option is missing")
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
	return &Books{
		db: db, o: o, rate: limiter{max: o.CallsPerMinute}, kick: make(chan struct{}, 1), now: make(chan struct{}, 1),
		said: map[string]bool{}, scopes: map[string]*scope{}, freed: make(chan struct{}), sizes: map[string]float64{},
	}, nil
}

// Room reports whether a call for which nobody waits could be made now, and
// else when to come back.
func (b *Books) Room(now time.Time) (ok bool, at time.Time) { return b.rate.room(now) }

// FlushTx stores the calls that wait, along with whatever the transaction is
// for. They stop waiting when it is durable.
func (b *Books) FlushTx(tx *store.Tx) error {
	b.mu.Lock()
	rows := slices.Clone(b.pending)
	b.mu.Unlock()
	if len(rows) == 0 {
		return nil
	}
	for _, c := range rows {
		if err := c.insert(tx); err != nil {
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

// gather is how long rows wait for a transaction that takes them along.
const gather = time.Second

// Run stores what no transaction took along, and tells the owner what there is
// to tell. It returns when ctx has ended and everything is stored.
func (b *Books) Run(ctx context.Context) error {
	for {
		select {
		case <-ctx.Done():
			if err := b.Flush(context.WithoutCancel(ctx)); err != nil {
				b.o.Log.Error("model calls cannot be booked", "err", err)
			}
			return nil
		case <-b.now:
		case <-b.kick:
			b.linger(ctx)
		}
		if err := b.Flush(ctx); err != nil && ctx.Err() == nil {
			b.o.Log.Error("model calls cannot be booked; trying again with the next", "err", err)
		}
	}
}

func (b *Books) linger(ctx context.Context) {
	t := time.NewTimer(gather)
	defer t.Stop()
	select {
	case <-t.C:
	case <-b.now:
	case <-ctx.Done():
	}
}

// Flush stores and tells what waits. Run does it by itself; the daemon once more
// when the last turn has ended.
func (b *Books) Flush(ctx context.Context) error {
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

// say queues a sentence for the owner. b.mu is held.
func (b *Books) say(key, text string) {
	if b.said[key] {
		return
	}
	b.said[key] = true
	b.notices = append(b.notices, notice{key, text})
	wake(b.now)
}

func wake(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}
