package service

import (
	"context"
	"os"
	"strings"
	"time"

	"hob/autonomy/api"
	"hob/autonomy/bus"
)

// Instances implements api.Fleet. Commands that work without a daemon are no instances: neither this one
// nor commands that have ended.
func (sv *Service) Instances(ctx context.Context) ([]api.Instance, error) {
	if !sv.o.Bus.Lease.IsShared() {
		if !sv.o.Daemon {
			return []api.Instance{}, nil
		}
		host, err := os.Hostname()
		if err != nil {
			return nil, err
		}
		return []api.Instance{{Instance: host, Host: host, Version: sv.o.Version, State: "live", Started: sv.o.Started.UTC(), Seen: time.Now().UTC(), LeaderOf: []string{}, Self: true}}, nil
	}
	list, err := sv.o.Bus.Lease.Instances(ctx)
	if err != nil {
		return nil, Classify(err)
	}
	claimed, err := bus.ClaimedBy(ctx, sv.o.Bus.Inbox)
	if err != nil {
		return nil, Classify(err)
	}
	out := make([]api.Instance, 0, len(list))
	for _, x := range list {
		if x.Self && !sv.o.Daemon || x.Ended && strings.Contains(x.Name, "/") { // see recovery.OpenStore
			continue
		}
		state := "live"
		switch {
		case x.Ended:
			state = "ended"
		case x.Late:
			state = "late"
		}
		out = append(out, api.Instance{
			Instance: x.Name, Host: x.Host, Version: x.Version, State: state, Started: x.Started, Seen: x.Seen,
			LeaderOf: append([]string{}, x.Leases...), Claimed: claimed[x.Epoch], LagMS: x.Lag.Milliseconds(), Self: x.Self,
		})
	}
	return out, nil
}

// fleetGauges reports the metrics of a shared database.
func (sv *Service) fleetGauges(ctx context.Context, gauge func(name, help string, v float64)) {
	l := sv.o.Bus.Lease
	if !l.IsShared() {
		return
	}
	available := 1.0
	if l.Outage() != nil {
		available = 0
	}
	gauge("fleet_available", "1 if this instance can store something.", available)
	gauge("fleet_clock_offset_seconds", "Clock of the database server minus the clock of this machine.", sv.o.Store.ClockOffset().Seconds())
	list, err := l.Instances(ctx)
	if err != nil {
		return
	}
	live := 0
	for _, x := range list {
		if !x.Ended && !x.Late {
			live++
		}
		if x.Self {
			gauge("fleet_lag_seconds", "Time since the last renewal of the lease of this instance.", x.Lag.Seconds())
			gauge("fleet_leases", "Leases that this instance holds.", float64(len(x.Leases)))
		}
	}
	gauge("fleet_instances", "Instances whose lease is valid.", float64(live))
}

// FleetHealth describes the connection to a database that instances share.
type FleetHealth struct {
	Server      string // version of PostgreSQL
	Latency     time.Duration
	ClockOffset time.Duration // clock of the server minus the clock of this machine
	Lag         time.Duration // time since the last renewal of the lease
	Lease       time.Duration
	InUse       int   // connections of the read pool in use
	Waits       int64 // reads that waited for a free connection, since the start
	Instances   int   // live instances
	// Vacant lists the leases that no live instance holds. Damage is the result of store.Store.Check.
	Vacant []string
	Damage error
}

// FleetHealth measures the connection to the database. shared is false if this is the only process.
func (sv *Service) FleetHealth(ctx context.Context) (h FleetHealth, shared bool, err error) {
	l := sv.o.Bus.Lease
	if !l.IsShared() {
		return h, false, nil
	}
	if err := l.Outage(); err != nil {
		return h, true, err
	}
	began := time.Now()
	if err := sv.o.Store.Reader(ctx).QueryRow(`SELECT current_setting('server_version')`).Scan(&h.Server); err != nil {
		return h, true, err
	}
	pool := sv.o.Store.Read().Stats()
	h.Latency, h.ClockOffset, h.Lease, h.InUse, h.Waits = time.Since(began), sv.o.Store.ClockOffset(), l.Interval(), pool.InUse, pool.WaitCount
	h.Damage = sv.o.Store.Check(ctx)
	if h.Vacant, err = l.Vacant(ctx); err != nil {
		return h, true, err
	}
	list, err := l.Instances(ctx)
	for _, x := range list {
		if !x.Ended && !x.Late {
			h.Instances++
		}
		if x.Self {
			h.Lag = x.Lag
		}
	}
	return h, true, err
}
