package app

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
	"hob/autonomy/explain"
	"hob/autonomy/guard"
	"hob/autonomy/service"
	"hob/autonomy/undo"
	"hob/knowledge/index"
	"hob/platform/host/system"
	"hob/tools"
	toolsystem "hob/tools/system"
	"hob/watchers"
)

// Status implements the status tool's Engine.
func (d *App) Status(ctx context.Context) (toolsystem.Report, error) {
	r := toolsystem.Report{
		Name: d.opt.Config.Agent.Name, Version: d.opt.Version, Level: string(d.guard.Level()), Uptime: time.Since(d.started),
		Daemon: !d.opt.InProcess, Running: d.loop.Running(), Home: d.opt.Paths.Home, Memory: heapBytes(),
		Machine: fmt.Sprintf("%s/%s, %d cores", runtime.GOOS, runtime.GOARCH, runtime.NumCPU()),
	}
	r.Ticks, r.TicksInput = d.loop.Ticks()
	r.Model, r.ModelReason = d.models.Describe()
	head, err := d.guard.Head(ctx)
	if err != nil {
		return r, err
	}
	r.AuditLines, r.AuditHead = head.Lines, head.Hash
	counts, err := d.bus.CountByState(ctx)
	if err != nil {
		return r, err
	}
	r.Pending = counts[bus.Pending]
	until, paused, err := d.bus.Paused(ctx)
	if err != nil {
		return r, err
	}
	if r.Paused = paused; paused {
		r.PausedText = d.loop.PauseText(until)
	}
	waiting, err := d.guard.Approvals(ctx, guard.Pending, "", "", 1000)
	if err != nil {
		return r, err
	}
	r.Questions = len(waiting)
	list, err := d.watchers.List(ctx, watchers.Filter{})
	if err != nil {
		return r, err
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
	r.Next, _ = d.watchers.Next(ctx)
	g, err := d.goals.Count(ctx)
	if err != nil {
		return r, err
	}
	r.Goals, r.GoalsWaiting, r.NextReview = g.Open, g.Waiting, g.NextReview
	for _, h := range d.channels.Status() {
		c := toolsystem.Channel{Name: h.Name, State: h.State, Error: h.Error}
		r.Channels = append(r.Channels, c)
	}
	for _, end := range []string{"", "-wal"} { // data that is not checkpointed yet
		if fi, err := os.Stat(d.store.Path() + end); err == nil {
			r.DatabaseSize += fi.Size()
		}
	}
	if r.Facts, r.Rows, r.Behind, err = d.base.Size(d.store.Reader(ctx), index.Name); err != nil {
		return r, err
	}
	if free, err := system.DiskFree(d.opt.Paths.Data); err == nil {
		r.DiskFree = free
	}
	return r, nil
}

// Undo implements the undo tool's Engine.
func (d *App) Undo(ctx context.Context, r toolsystem.UndoRequest) (tools.Result, error) {
	return d.undo.Undo(ctx, undo.Request(r))
}

// Undoable implements the undo tool's Engine.
func (d *App) Undoable(ctx context.Context, r toolsystem.UndoRequest) (int, error) {
	list, err := d.undo.Undoable(ctx, undo.Request(r))
	return len(list), err
}

// Explain implements the explain tool's Engine.
func (d *App) Explain(ctx context.Context, r toolsystem.ExplainRequest) (tools.Result, error) {
	x, err := d.explainer.Explain(ctx, explain.Question(r))
	switch {
	case errors.Is(err, explain.ErrUnclear):
		return tools.Result{}, tools.Errorf(tools.InvalidArguments, "%w", tools.CleanErr(err))
	case errors.Is(err, bus.ErrNotFound):
		return tools.Result{}, tools.Errorf(tools.NotFound, "%w", tools.CleanErr(err))
	case err != nil:
		return tools.Result{}, err
	}
	return tools.Result{Text: x.Text(d.zone()), Source: x.Source()}, nil
}

// commandTools returns the tools behind the owner's commands.
func (d *App) commandTools() []tools.Tool {
	return []tools.Tool{toolsystem.ChangeConfig(d.configCopies())}
}

func (d *App) configCopies() config.Revisions {
	return config.Revisions{Path: d.opt.Paths.ConfigFile(), Dir: d.opt.Paths.ConfigUndoDir()}
}

// ConfigChanged implements api.Management.
func (b *backend) ConfigChanged(ctx context.Context, ch api.ConfigChange) error {
	if c := b.d.configCopies(); !c.Names(ch.Before) || !c.Names(ch.After) {
		return fmt.Errorf("%w: the texts before and after the change are no longer stored", api.ErrInvalid)
	}
	u := tools.NewUndo("restore the configuration before: "+ch.What, toolsystem.ConfigChange{Before: ch.Before, After: ch.After})
	return service.Classify(b.d.undo.Journal(ctx, toolsystem.ConfigAct, "Changed the configuration: "+ch.What, u))
}

func (d *App) statusText(ctx context.Context) (string, error) {
	r, err := d.Status(ctx)
	r.Running = max(0, r.Running-1) // who asks is not meant
	return r.Text(time.Now().In(d.zone())), err
}

// heapBytes reads how many bytes the process's objects occupy, without stopping it.
func heapBytes() uint64 {
	s := []metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}}
	metrics.Read(s)
	return s[0].Value.Uint64()
}

// Metrics implements api.Management: Prometheus text, exposition format 0.0.4.
func (b *backend) Metrics() []byte {
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Second)
	defer cancel()
	var out strings.Builder
	gauge := func(name, help string, v float64) {
		fmt.Fprintf(&out, "# HELP hob_%s %s\n# TYPE hob_%s gauge\nhob_%s %g\n", name, help, name, name, v)
	}
	r, err := b.d.Status(ctx)
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
	if periods, err := b.d.usage.Periods(ctx); err == nil {
		for _, p := range periods {
			gauge("model_calls_"+p.Name, "Model calls of this "+p.Name+".", float64(p.Calls))
			gauge("model_cost_usd_"+p.Name, "Cost of the calls with a known price this "+p.Name+".", p.Cost.USD())
		}
	}
	fmt.Fprintf(&out, "# HELP hob_feed_dropped_total Live events that slow readers lost.\n# TYPE hob_feed_dropped_total counter\nhob_feed_dropped_total %d\n", b.d.bus.Feed.Dropped())
	return []byte(out.String())
}
