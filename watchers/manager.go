package watchers

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"hob/platform/net/safehttp"
	"hob/platform/pim"
	"hob/platform/store"
	"hob/platform/store/lease"
)

// Defaults of Options.
const (
	defaultMax      = 1000
	defaultWorkers  = 4
	defaultPerDay   = 200
	defaultMinEvery = time.Minute
)

// ErrInvalid is wrapped by errors about a watcher request that the user must correct.
var ErrInvalid = errors.New("invalid watcher")

// Options holds the dependencies and limits of a Manager.
type Options struct {
	Store   *store.Store
	Drivers []Driver
	// Sink receives the signals. Only Run requires it.
	Sink Sink
	Log  *slog.Logger // default: discard all records
	// Zone returns the user's zone (default UTC). The manager calls it repeatedly.
	Zone func() *time.Location
	// AllowedRead returns an error if Hob may not read a folder. If it is nil, Hob may read no
	// folder.
	AllowedRead func(path string) error
	// Account finds one of the user's accounts. If it is nil, there are no accounts.
	Account func(name, server string) (pim.Account, error)
	// Feeds returns the calendar subscriptions. It may be nil.
	Feeds func() []pim.EventReader
	// DayOff reports whether the user has a day off. It is nil if the days off are unknown.
	DayOff func(day time.Time) bool
	// Called returns the other names, addresses and numbers of a person. If it is nil, there are no
	// other names.
	Called func(q store.Querier, name string) []string
	// Messages calls each for the messages since a time, oldest first, except for messages that Hob
	// did not answer. If it is nil, there are no messages.
	Messages func(ctx context.Context, since time.Time, each func(Message) error) error
	// Max is the maximum number of active watchers (default 1000).
	Max int
	// Network and Secret are passed to the drivers.
	Network *safehttp.Client
	Secret  func(ref string) (string, error)
	// Resources returns the resources of MCP servers. If it is nil, there are none.
	Resources func() Resources
	// Search searches the web. If it is nil, no search service is configured.
	Search SearchFunc
	// Workers is the number of concurrent polls (default 4). MinEvery is the shortest poll interval
	// (default 1m). PerDay limits the firings per day of an untimed watcher (default 200); the
	// watcher's own limit takes precedence.
	Workers  int
	MinEvery time.Duration
	PerDay   int
	// Lease is the membership of this process in a fleet. One process at a time runs the watchers; it
	// also notices the changes that the others make. Nil means that this is the only process.
	Lease *lease.Member
}

// Manager stores the watchers, and runs them while Run is running. Its other methods also work
// without Run; a watcher created then starts with the next Run. Methods may be called concurrently.
type Manager struct {
	opt     Options
	drivers map[string]Driver
	timed   map[string]bool // kinds of timed watchers
	wake    chan struct{}
	silent  *silences

	mu      sync.Mutex
	running bool
	poller  *poller         // poller of the current Run
	dirty   map[string]bool // ids of rows that changed since the loop last checked; true means that the watcher restarts
	healthy map[string]bool // ids of watchers whose last error no longer applies
	holding map[string]bool // ids of watchers with signals that were deferred since the loop last checked
	foreign bool            // whether another process wrote something since the loop last checked
}

// New checks the options. It does no I/O.
func New(opt Options) (*Manager, error) {
	if opt.Store == nil {
		return nil, errors.New("watchers: store is missing")
	}
	if opt.Log == nil {
		opt.Log = slog.New(slog.DiscardHandler)
	}
	if opt.Zone == nil {
		opt.Zone = func() *time.Location { return time.UTC }
	}
	if opt.AllowedRead == nil {
		opt.AllowedRead = func(path string) error {
			return fmt.Errorf("read %s: no folder may be read", path)
		}
	}
	if opt.Secret == nil {
		opt.Secret = func(ref string) (string, error) {
			return "", fmt.Errorf("read secret %s: secrets are not configured", ref)
		}
	}
	if opt.Account == nil {
		opt.Account = func(string, string) (pim.Account, error) {
			return pim.Account{}, errors.New("no account is configured; add one with: hob account add")
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
		opt: opt, drivers: map[string]Driver{}, timed: map[string]bool{}, wake: make(chan struct{}, 1),
		dirty: map[string]bool{}, healthy: map[string]bool{}, holding: map[string]bool{}, silent: newSilences(),
	}
	for _, d := range opt.Drivers {
		kind := d.Describe().Kind
		if kind == "" || m.drivers[kind] != nil {
			return nil, fmt.Errorf("watchers: kind %q is empty or registered twice", kind)
		}
		m.drivers[kind], m.timed[kind] = d, d.Describe().Timed
	}
	opt.Lease.Follow(func() {
		m.mu.Lock()
		m.foreign = m.running
		m.mu.Unlock()
		m.wakeLoop()
	}, "watchers", "watcher_held")
	return m, nil
}

// Migrations returns the manager's own tables.
func Migrations() []store.MigrationSet {
	return []store.MigrationSet{{Owner: "watchers", Steps: []string{tables, makers, polls, sources, listeners, zones, heldTables, silenceTables, intents, priorities}}}
}

// AllMigrations returns the tables of the manager and the drivers.
func AllMigrations(drivers []Driver) []store.MigrationSet {
	sets := Migrations()
	for _, d := range drivers {
		sets = append(sets, d.Migrations()...)
	}
	return sets
}

// justPassed limits how far in the past a requested single time may be, because the request may
// have waited in a queue or for a restart. The watcher then fires immediately.
const justPassed = 2 * time.Minute

// buildWatcher creates the driver's part of a watcher. The driver checks the configuration.
func (m *Manager) buildWatcher(s Spec) (any, error) {
	return m.buildWith(s, func(ctx context.Context, id string, err error) {
		m.opt.Log.WarnContext(ctx, "watcher failed", "watcher", id, "err", err)
	})
}

func (m *Manager) buildWith(s Spec, trouble func(context.Context, string, error)) (any, error) {
	d, ok := m.drivers[s.Kind]
	if !ok {
		return nil, fmt.Errorf("%w: unknown watcher kind %q; use one of %s", ErrPermanent, s.Kind, m.kindList())
	}
	deps := Deps{
		Store: m.opt.Store, Log: m.opt.Log.With("watcher", s.ID, "kind", s.Kind), Zone: m.opt.Zone,
		AllowedRead: m.opt.AllowedRead, Account: m.opt.Account, Feeds: m.opt.Feeds, Trouble: trouble, Network: m.opt.Network, Secret: m.opt.Secret,
		Messages: m.opt.Messages, Called: m.opt.Called, DayOff: m.opt.DayOff,
		Search: m.opt.Search,
		passed: func(p SuppressedSignal) { p.Watcher = s.ID; m.silent.addPassed(p) },
	}
	if m.opt.Resources != nil {
		deps.Resources = m.opt.Resources()
	}
	made, err := d.New(s, deps)
	if err != nil {
		return nil, err
	}
	switch made.(type) {
	case Timed, Watcher, Polled, MessageWatcher:
		return made, nil
	}
	return nil, fmt.Errorf("%w: the kind %q returned a %T, which is not a Timed, Watcher, Polled or MessageWatcher", ErrPermanent, s.Kind, made)
}

func (m *Manager) kindList() string {
	return strings.Join(slices.Sorted(maps.Keys(m.drivers)), ", ")
}

// Kinds describes the kinds of watchers, in the order of the drivers.
func (m *Manager) Kinds() (out []Description) {
	for _, d := range m.opt.Drivers {
		out = append(out, d.Describe())
	}
	return out
}

// reloadAfterCommit makes the loop read the row again once tx is committed. If again is set, a
// running watcher restarts. A new watcher may also restart if the loop has already started it.
func (m *Manager) reloadAfterCommit(tx *store.Tx, id string, again bool) {
	tx.AfterCommit(func() { m.markDirty(id, again) })
}

func (m *Manager) markDirty(id string, again bool) {
	m.mu.Lock()
	if m.running {
		m.dirty[id] = m.dirty[id] || again
	}
	m.mu.Unlock()
	m.wakeLoop()
}

// HandleWake makes the loop check the clock immediately, for example after a suspend. Calling it is
// optional because the loop's sleeps are short.
func (m *Manager) HandleWake() { m.wakeLoop() }

func (m *Manager) wakeLoop() {
	select {
	case m.wake <- struct{}{}:
	default:
	}
}
