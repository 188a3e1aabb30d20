package lease

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"hob/platform/store"
)

// Instance describes one member of the fleet.
type Instance struct {
	Name, Host, Version string
	Epoch               int64
	Started, Seen       time.Time // by the clock of the server
	Lag                 time.Duration
	Late                bool // the lease has ended, but no other member has taken over yet
	Ended               bool
	Self                bool
	Leases              []string
}

// keepEnded is how long an instance that has ended stays in the list.
const keepEnded = 7 * 24 * time.Hour

// Instances lists the members, and those that ended during the last 7 days, by name. It returns
// nothing if the database is not shared.
func (m *Member) Instances(ctx context.Context) (out []Instance, err error) {
	if !m.IsShared() {
		return nil, nil
	}
	rows, err := m.o.Store.Reader(ctx).Query(`SELECT i.name, i.host, i.version, i.epoch, i.started_at, i.seen_at, i.until, i.ended, ` + m.o.Clock + `, coalesce(l.name, '')
		FROM instances i LEFT JOIN leases l ON l.epoch = i.epoch AND i.ended = 0 ORDER BY i.name, l.name`)
	if err != nil {
		return nil, fmt.Errorf("lease: read the instances: %w", err)
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	for rows.Next() {
		var x Instance
		var started, seen, until, now int64
		var held string
		if err := rows.Scan(&x.Name, &x.Host, &x.Version, &x.Epoch, &started, &seen, &until, &x.Ended, &now, &held); err != nil {
			return nil, fmt.Errorf("lease: read the instances: %w", err)
		}
		x.Started, x.Seen, x.Lag = store.Time(started), store.Time(seen), time.Duration(now-seen)*time.Millisecond
		x.Late, x.Self = !x.Ended && until <= now, !x.Ended && x.Epoch == m.Epoch()
		if n := len(out); n > 0 && out[n-1].Name == x.Name {
			out[n-1].Leases = append(out[n-1].Leases, held)
			continue
		}
		if held != "" {
			x.Leases = []string{held}
		}
		out = append(out, x)
	}
	return out, rows.Err()
}

// Vacant lists the leases that this process wants and no live process holds. A lease is vacant for at most
// a third of the lease time, unless the instances that could take it cannot.
func (m *Member) Vacant(ctx context.Context) (names []string, err error) {
	list, err := m.Instances(ctx)
	if err != nil || !m.IsShared() {
		return nil, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	for name := range m.wanted {
		if !slices.ContainsFunc(list, func(x Instance) bool { return !x.Ended && !x.Late && slices.Contains(x.Leases, name) }) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names, nil
}

// Name returns the name of this process in the fleet.
func (m *Member) Name() string {
	if !m.IsShared() {
		return ""
	}
	return m.o.Instance
}

// Interval returns the lease.
func (m *Member) Interval() time.Duration {
	if !m.IsShared() {
		return 0
	}
	return m.o.Lease
}
