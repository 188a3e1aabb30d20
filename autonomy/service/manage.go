package service

import (
	"context"
	"errors"
	"fmt"
	"os"
	"runtime"
	"runtime/metrics"
	"strings"
	"time"

	"hob/autonomy/api"
	"hob/autonomy/bus"
	"hob/autonomy/config"
	"hob/autonomy/guard"
	"hob/autonomy/usage"
	"hob/platform/host/permission"
	"hob/platform/host/system"
	"hob/platform/store"
	"hob/platform/store/snapshot"
	"hob/tools"
	"hob/watchers"
)

// Process controls the process that runs Hob.
type Process interface {
	// RotateToken replaces the token of the API.
	RotateToken(ctx context.Context) error
	// Shutdown initiates the shutdown of the process, without waiting for it.
	Shutdown()
	// CheckReady returns nil if messages are accepted, and otherwise the reason why they are not.
	CheckReady() error
}

// Examiner runs the checks of the doctor, like api.Doctor.
type Examiner interface {
	Examine(ctx context.Context, names []string, fix bool, step func(api.Finding)) error
}

// Backup implements api.Management.
func (sv *Service) Backup(ctx context.Context) (api.Backup, error) {
	if sv.o.Store.IsShared() { // the home may still contain a file from before the data moved
		return api.Backup{}, fmt.Errorf("%w: create backup: %w", api.ErrConflict, store.ErrNoFile)
	}
	var s snapshot.Snapshot
	err := sv.o.Store.HoldingBackups(func() (err error) {
		if s, err = snapshot.Create(ctx, snapshot.Options{Paths: sv.o.Paths, Version: sv.o.Version, Reason: snapshot.Manual}); err != nil {
			return err
		}
		return snapshot.Prune(sv.o.Paths.Backups(), snapshot.Keep)
	})
	return api.Backup{Path: s.Path}, Classify(err)
}

// Hold implements api.Management.
func (sv *Service) Hold(ctx context.Context) (api.RestoreHold, error) {
	s, err := sv.o.Bus.Hold.Status(ctx)
	if err != nil {
		return api.RestoreHold{}, Classify(err)
	}
	items, err := sv.o.Bus.Hold.Items(ctx)
	for i := range items {
		items[i].Text = sv.o.Redact.Text(items[i].Text)
	}
	return api.RestoreHold{
		Active: s.Active, Snapshot: s.Snapshot, RestoredAt: s.RestoredAt,
		Items: ConvertEach(items, func(x bus.HeldItem) api.HeldItem { return api.HeldItem(x) }),
	}, Classify(err)
}

// DecideHold implements api.Management.
func (sv *Service) DecideHold(ctx context.Context, id string, release bool) (d api.HoldDecision, err error) {
	err = sv.o.Store.Write(ctx, func(tx *store.Tx) error {
		if d.Decided, err = sv.o.Agents.DecideHeldTx(tx, id, release); err != nil {
			return err
		}
		return sv.o.Guard.AuditHold(tx, id, release, "api")
	})
	if errors.Is(err, bus.ErrNotFound) {
		err = fmt.Errorf("item %q on hold: %w; list the items with: hob restore --pending", id, api.ErrNotFound)
	}
	return d, Classify(err)
}

// RotateToken implements api.Management.
func (sv *Service) RotateToken(ctx context.Context) (api.RotatedToken, error) {
	return api.RotatedToken{Replaced: true}, Classify(sv.o.Process.RotateToken(ctx))
}

// Shutdown implements api.Management.
func (sv *Service) Shutdown() api.Shutdown {
	sv.o.Process.Shutdown()
	return api.Shutdown{Stopping: true}
}

// Ready implements api.Management.
func (sv *Service) Ready() error { return sv.o.Process.CheckReady() }

// Version implements api.Management.
func (sv *Service) Version() string { return sv.o.Version }

// Examine implements api.Doctor.
func (sv *Service) Examine(ctx context.Context, names []string, fix bool, step func(api.Finding)) error {
	return sv.o.Examiner.Examine(ctx, names, fix, step)
}

// Permissions implements api.Doctor. It returns the system permissions of this process. Only the
// daemon can check them, because macOS grants permissions per process.
func (*Service) Permissions(context.Context) ([]permission.Permission, error) {
	return permission.List(), nil
}

// ConfigChanged implements api.Management.
func (sv *Service) ConfigChanged(ctx context.Context, ch api.ConfigChange) error {
	if c := sv.o.Revisions; !c.Names(ch.Before) || !c.Names(ch.After) {
		return fmt.Errorf("%w: the configurations before and after the change are no longer stored", api.ErrInvalid)
	}
	if ch.Apply {
		sv.ApplyConfig()
	}
	if ch.Before == ch.After {
		return nil
	}
	u := tools.NewUndo("restore the configuration from before this change: "+ch.What, config.RevisionChange{Before: ch.Before, After: ch.After})
	return Classify(sv.o.Undo.Journal(ctx, config.ChangeTool, "Changed the configuration: "+ch.What, u))
}

// Status implements api.Management. A turn that is waiting in memory for an approval counts as
// running.
func (sv *Service) Status(ctx context.Context) (api.Status, error) {
	o := sv.o
	r := api.Status{
		Name: o.Config.Agent.Name, Version: o.Version, Level: string(o.Guard.Level()), Uptime: time.Since(o.Started),
		Daemon: o.Daemon, Running: o.Loop.Running(), Home: o.Paths.Home, Memory: heapBytes(),
		Machine: fmt.Sprintf("%s/%s, %d cores", runtime.GOOS, runtime.GOARCH, runtime.NumCPU()),
	}
	r.Ticks, r.TicksInput = o.Loop.Ticks()
	r.Model, r.ModelReason = o.Model()
	r.Problems = sv.Problems(ctx)
	head, err := o.Guard.Head(ctx)
	if err != nil {
		return r, err
	}
	r.AuditLines, r.AuditHead = head.Lines, head.Hash
	for _, add := range []func(context.Context, *api.Status) error{sv.addQueue, sv.addWatchers, sv.addGoals} {
		if err := add(ctx, &r); err != nil {
			return r, err
		}
	}
	for _, h := range o.Channels.Status() {
		r.Channels = append(r.Channels, api.ChannelState{Name: h.Name, State: h.State, Error: h.Error})
	}
	for _, end := range []string{"", "-wal"} { // "-wal" holds the data that is not checkpointed yet
		if fi, err := os.Stat(o.Store.Path() + end); err == nil {
			r.DatabaseSize += fi.Size()
		}
	}
	if r.Facts, r.Rows, r.Behind, err = o.Memory.Size(o.Store.Reader(ctx), o.Index.Name()); err != nil {
		return r, err
	}
	if free, err := system.DiskFree(o.Paths.Data); err == nil {
		r.DiskFree = free
	}
	return r, nil
}

// addQueue adds the pending events, the pause, the work on hold and the approval requests.
func (sv *Service) addQueue(ctx context.Context, r *api.Status) error {
	counts, err := sv.o.Bus.Inbox.CountByState(ctx)
	if err != nil {
		return err
	}
	r.Pending = counts[bus.Pending]
	until, paused, err := sv.o.Bus.Pause.Current(ctx)
	if err != nil {
		return err
	}
	if r.Paused = paused; paused {
		r.PausedText = sv.o.Loop.PauseText(until)
	}
	hold, err := sv.o.Bus.Hold.Status(ctx)
	if err != nil {
		return err
	}
	if r.Held = hold.Texts + hold.Events; hold.Active || r.Held > 0 {
		r.Restored = hold.Snapshot
	}
	waiting, err := sv.o.Guard.Approvals(ctx, guard.Pending, "", "", 1000)
	r.Questions = len(waiting)
	if err != nil {
		return err
	}
	parked, err := sv.o.Bus.Inbox.ParkedSessions(ctx)
	listed := map[string]bool{}
	for _, p := range parked {
		if p.Blocked > 0 {
			listed[p.Session] = true
			r.HeldSources = append(r.HeldSources, api.HeldSource{Session: p.Session, Requests: p.Parked, Waiting: p.Blocked})
		}
	}
	requests := map[string]int{}
	for _, a := range waiting {
		requests[a.Session]++
	}
	for _, a := range waiting { // above a limit, a turn of an external agent waits without being parked
		if listed[a.Session] || err != nil {
			continue
		}
		n, berr := bus.CountBehind(sv.o.Store.Reader(ctx), a.Session, a.Event)
		if err = berr; n > 0 {
			listed[a.Session] = true
			r.HeldSources = append(r.HeldSources, api.HeldSource{Session: a.Session, Requests: requests[a.Session], Waiting: n})
		}
	}
	return err
}

// addWatchers adds the numbers of active watchers, schedules and reminders.
func (sv *Service) addWatchers(ctx context.Context, r *api.Status) error {
	list, err := sv.o.Watchers.List(ctx, watchers.Filter{})
	if err != nil {
		return err
	}
	for _, s := range list {
		switch {
		case s.State != watchers.Active:
		case s.Mode == watchers.Remind:
			r.Reminders++
		case s.Timed:
			r.Schedules++
		default:
			r.Watchers++
		}
	}
	r.Next, _ = sv.o.Watchers.Next(ctx)
	return nil
}

// addGoals adds the numbers of goals that are active or waiting for the user.
func (sv *Service) addGoals(ctx context.Context, r *api.Status) error {
	g, err := sv.o.Goals.Count(ctx)
	r.Goals, r.GoalsWaiting, r.NextReview = g.Open, g.Waiting, g.NextReview
	return err
}

// heapBytes returns how many bytes the objects of the process occupy. It does not stop the process.
func heapBytes() uint64 {
	s := []metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}}
	metrics.Read(s)
	return s[0].Value.Uint64()
}

// Metrics implements api.Management. It returns text in the Prometheus exposition format 0.0.4.
func (sv *Service) Metrics() []byte {
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Second)
	defer cancel()
	var out strings.Builder
	gauge := func(name, help string, v float64) {
		fmt.Fprintf(&out, "# HELP hob_%s %s\n# TYPE hob_%s gauge\nhob_%s %g\n", name, help, name, name, v)
	}
	r, err := sv.Status(ctx)
	if err != nil {
		gauge("up", "1 if the status can be read.", 0)
		return []byte(out.String())
	}
	gauge("up", "1 if the status can be read.", 1)
	gauge("uptime_seconds", "Time since the start.", r.Uptime.Seconds())
	gauge("turns_running", "Turns in progress.", float64(r.Running))
	gauge("events_pending", "Events waiting in the inbox.", float64(r.Pending))
	gauge("questions_pending", "Pending approval requests.", float64(r.Questions))
	gauge("watchers_active", "Active watchers.", float64(r.Watchers))
	gauge("schedules_active", "Active schedules and reminders.", float64(r.Schedules+r.Reminders))
	gauge("heap_bytes", "Bytes of live heap objects.", float64(r.Memory))
	gauge("database_bytes", "Size of the database file.", float64(r.DatabaseSize))
	gauge("goroutines", "Goroutines.", float64(runtime.NumGoroutine()))
	sv.fleetGauges(ctx, gauge)
	if periods, err := sv.o.Usage.Periods(ctx); err == nil {
		for _, p := range periods {
			gauge("model_calls_"+p.Name, "Model calls of this "+p.Name+".", float64(p.Calls))
			gauge("model_cost_usd_"+p.Name, "Cost of the calls with a known price this "+p.Name+".", p.Cost.USD())
		}
	}
	fmt.Fprintf(&out, "# HELP hob_feed_dropped_total Live events dropped because a reader was too slow.\n# TYPE hob_feed_dropped_total counter\nhob_feed_dropped_total %d\n", sv.o.Bus.Feed.Dropped())
	return []byte(out.String())
}

// Fire implements api.Triggers.
func (sv *Service) Fire(ctx context.Context, trigger, key string, payload []byte) (api.Fired, error) {
	if _, err := sv.TriggerSecret(trigger); err != nil {
		return api.Fired{}, err
	}
	acc, err := sv.o.Intake.Trigger(ctx, trigger, key, payload)
	return api.Fired{Event: acc.Event, Repeated: acc.Repeated}, Classify(err)
}

// Triggers implements api.Triggers.
func (sv *Service) Triggers(context.Context) ([]api.Trigger, error) {
	out := []api.Trigger{}
	for _, t := range sv.o.Config.Triggers {
		out = append(out, api.Trigger{ID: t.Name, Action: t.Action, Session: t.Session, Signed: t.Secret != ""})
	}
	return out, nil
}

// TriggerSecret implements api.Triggers.
func (sv *Service) TriggerSecret(trigger string) ([]byte, error) {
	t, ok := sv.o.Triggers[trigger]
	if !ok {
		return nil, fmt.Errorf("trigger %q: %w; add [triggers.%s] to the configuration", trigger, api.ErrNotFound, trigger)
	}
	return t.Secret, nil
}

// Usage implements api.Usage.
func (sv *Service) Usage(ctx context.Context, q api.Query) ([]api.UsageRow, error) {
	days, err := sv.o.Usage.Days(ctx, q.Limit)
	if err != nil {
		return nil, Classify(err)
	}
	out := []api.UsageRow{}
	for _, u := range days {
		out = append(out, api.UsageRow{
			Day: u.Day, Model: u.Model, Turns: u.Turns, ModelCalls: u.Calls, Input: u.Usage.Input, Output: u.Usage.Output,
			CacheRead: u.Usage.CacheRead, CacheWrite: u.Usage.CacheWrite, CostUSD: ConvertPtr(u.Cost, usage.Micros.USD),
			Unpriced: u.Unpriced, Estimated: u.Estimated, Local: u.Local,
			Purposes: ConvertEach(u.Purposes, func(p usage.Purpose) api.PurposeUsage {
				return api.PurposeUsage{Purpose: string(p.Name), ModelCalls: p.Calls, Tokens: p.Tokens, CostUSD: ConvertPtr(p.Cost, usage.Micros.USD)}
			}),
		})
	}
	return out, nil
}

// Budget implements api.Usage.
func (sv *Service) Budget(ctx context.Context) ([]api.BudgetRow, error) {
	periods, err := sv.o.Usage.Periods(ctx)
	if err != nil {
		return nil, Classify(err)
	}
	out := []api.BudgetRow{}
	for _, p := range periods {
		r := api.BudgetRow{
			Period: p.Name, Which: p.Which, From: p.From, CostUSD: p.Cost.USD(), CountedUSD: p.Counted.USD(), Tokens: p.Tokens, Calls: p.Calls,
			Unpriced: p.Unpriced, PricesAsOf: sv.o.PricesAsOf(),
		}
		if p.Cap > 0 {
			r.CapUSD = new(p.Cap.USD())
		}
		if p.CapToken > 0 {
			r.CapTokens = &p.CapToken
		}
		out = append(out, r)
	}
	return out, nil
}
