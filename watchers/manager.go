package watchers

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"time"

	"hob/knowledge/store"
	"hob/platform/pim"
	"hob/platform/safehttp"
)

// The defaults of Options.
const (
	defaultMax      = 1000
	defaultWorkers  = 4
	defaultPerDay   = 200
	defaultMinEvery = time.Minute
)

// ErrInvalid is wrapped by errors about a watcher that cannot be made as asked.
var ErrInvalid = errors.New("this watcher cannot be made")

// Options of New.
type Options struct {
	Store   *store.Store
	Drivers []Driver
	// Sink takes what fires; only Run needs it.
	Sink Sink
	Log  *slog.Logger // default: discards
	// Zone returns the owner's zone (default UTC); it is asked again and again.
	Zone func() *time.Location
	// AllowedRead says whether a folder may be looked at; without it none may.
	AllowedRead func(path string) error
	// Account finds one of the owner's accounts; without it there is none.
	Account func(name, server string) (pim.Account, error)
	// DayOff reports whether the owner has a day off; nil when that is not known.
	DayOff func(day time.Time) bool
	// Called gives the other names, addresses and numbers of whoever is named;
	// without it nobody has any.
	Called func(q store.Querier, name string) []string
	// Messages calls each with the messages since then, oldest first, those that
	// Hob did not answer left out; without it there are none.
	Messages func(ctx context.Context, since time.Time, each func(Message) error) error
	// Max is how many active watchers there may be (default 1000).
	Max int
	// Network and Secret are handed to the drivers.
	Network *safehttp.Client
	Secret  func(ref string) (string, error)
	// Workers is how many sources are asked at a time (default 4), MinEvery the
	// shortest interval at which one is asked (default 1m), PerDay how often a
	// watcher that fires at no set time may fire on a day unless the owner says else (default 200).
	Workers  int
	MinEvery time.Duration
	PerDay   int
}

// Manager keeps the watchers and, while Run runs, makes them work. Its other
// methods work without Run too: what is created then starts with the next Run.
// All may be called concurrently.
type Manager struct {
	opt     Options
	drivers map[string]Driver
	wake    chan struct{}
	silent  *silences

	mu      sync.Mutex
	running bool
	dirty   map[string]bool // ids whose rows changed since the loop last looked; true: start again
	healthy map[string]bool // ids whose last error is over
	holding map[string]bool // ids of which something was held since the loop last looked
}

// New checks the options. It does no I/O.
func New(opt Options) (*Manager, error) {
	if opt.Store == nil {
		return nil, errors.New("watchers: no store")
	}
	if opt.Log == nil {
		opt.Log = slog.New(slog.DiscardHandler)
	}
	if opt.Zone == nil {
		opt.Zone = func() *time.Location { return time.UTC }
	}
	if opt.AllowedRead == nil {
		opt.AllowedRead = func(path string) error {
			return fmt.Errorf("no folder may be looked at, so neither may %s", path)
		}
	}
	if opt.Secret == nil {
		opt.Secret = func(ref string) (string, error) {
			return "", fmt.Errorf("no secret can be read, so neither can %s", ref)
		}
	}
	if opt.Account == nil {
		opt.Account = func(string, string) (pim.Account, error) {
			return pim.Account{}, errors.New("no account is configured (docs/accounts.md)")
		}
	}
	if opt.Called == nil {
		opt.Called = func(store.Querier, string) []string { return nil }
	}
	for _, d := range []struct {
		to    *int
		usual int
	}{{&opt.Max, defaultMax}, {&opt.Workers, defaultWorkers}, {&opt.PerDay, defaultPerDay}} {
		if *d.to <= 0 {
			*d.to = d.usual
		}
	}
	if opt.MinEvery <= 0 {
		opt.MinEvery = defaultMinEvery
	}
	m := &Manager{
		opt: opt, drivers: map[string]Driver{}, wake: make(chan struct{}, 1),
		dirty: map[string]bool{}, healthy: map[string]bool{}, holding: map[string]bool{}, silent: newSilences(),
	}
	for _, d := range opt.Drivers {
		if d.Kind() == "" || m.drivers[d.Kind()] != nil {
			return nil, fmt.Errorf("watchers: the kind %q is empty or given twice", d.Kind())
		}
		m.drivers[d.Kind()] = d
	}
	return m, nil
}

// Migrations are the manager's own tables.
func Migrations() []store.Set {
	return []store.Set{{Owner: "watchers", Steps: []string{tables, makers, polls, sources, listeners, zones, heldTables, silenceTables}}}
}

// AllMigrations are the manager's tables and those of the drivers.
func AllMigrations(drivers []Driver) []store.Set {
	sets := Migrations()
	for _, d := range drivers {
		sets = append(sets, d.Migrations()...)
	}
	return sets
}

// justPassed is how far in the past a single time may lie when it is asked for:
// the request may have waited in a queue or for a restart. It fires at once.
const justPassed = 2 * time.Minute

// build makes the driver's side of a watcher, which checks its configuration.
func (m *Manager) build(s Spec) (any, error) {
	return m.buildWith(s, func(ctx context.Context, id string, err error) {
		m.opt.Log.WarnContext(ctx, "watcher in trouble", "watcher", id, "err", err)
	})
}

func (m *Manager) buildWith(s Spec, trouble func(context.Context, string, error)) (any, error) {
	d, ok := m.drivers[s.Kind]
	if !ok {
		return nil, fmt.Errorf("%w: there is no kind of watcher %q; there are %s", ErrPermanent, s.Kind, m.kinds())
	}
	made, err := d.New(s, Deps{
		Store: m.opt.Store, Log: m.opt.Log.With("watcher", s.ID, "kind", s.Kind), Zone: m.opt.Zone,
		AllowedRead: m.opt.AllowedRead, Account: m.opt.Account, Trouble: trouble, Network: m.opt.Network, Secret: m.opt.Secret,
		Messages: m.opt.Messages, Called: m.opt.Called, DayOff: m.opt.DayOff,
		passed: func(p Passed) { p.Watcher = s.ID; m.silent.note(p) },
	})
	if err != nil {
		return nil, err
	}
	switch made.(type) {
	case Timed, Watcher, Polled, Hearer:
		return made, nil
	}
	return nil, fmt.Errorf("%w: the kind %q made a %T, which is no Timed, Watcher, Polled or Hearer", ErrPermanent, s.Kind, made)
}

func (m *Manager) kinds() string {
	var names []string
	for _, d := range m.opt.Drivers {
		names = append(names, d.Kind())
	}
	return strings.Join(names, ", ")
}

// changed makes the loop look at the row again once tx is committed. With again
// the watcher starts anew when it runs already; a new one may, when the loop
// began in between.
func (m *Manager) changed(tx *store.Tx, id string, again bool) {
	tx.AfterCommit(func() { m.mark(id, again) })
}

func (m *Manager) mark(id string, again bool) {
	m.mu.Lock()
	if m.running {
		m.dirty[id] = m.dirty[id] || again
	}
	m.mu.Unlock()
	m.nudge()
}

// Woke makes everything look at the clock at once, as after the machine slept: its
// timers stood still meanwhile. Nobody need call it, as they are short.
func (m *Manager) Woke() { m.nudge() }

func (m *Manager) nudge() {
	select {
	case m.wake <- struct{}{}:
	default:
	}
}
