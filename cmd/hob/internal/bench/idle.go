package bench

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"hob/platform/retry"
)

// The configuration of the idle measurement: watchers of folders that contain files, schedules and
// reminders.
const (
	folders       = 50
	filesPerPlace = 20
	schedules     = 10
	reminders     = 10
)

// measureIdle measures the program's resource use while it is idle: after setup, and again after it
// has processed work.
func measureIdle(ctx context.Context, o Options, r benchRounds) ([]Figure, error) {
	return withHome(ctx, o, nil, func(h *home) ([]Figure, error) {
		if _, err := usageOf(h.processID()); err != nil {
			if errors.Is(err, errors.ErrUnsupported) {
				return nil, nil
			}
			return nil, err
		}
		if err := h.setUpWatchers(ctx); err != nil {
			return nil, err
		}
		fresh, spent, err := h.measureAtRest(ctx, r)
		if err != nil {
			return nil, err
		}
		if _, err := h.runTurns(ctx, r.turns, "hello"); err != nil {
			return nil, err
		}
		worked, _, err := h.measureAtRest(ctx, benchRounds{calm: r.calm})
		if err != nil {
			return nil, err
		}
		s := r.idle.Seconds()
		out := []Figure{
			{Name: "idle_memory", Value: float64(fresh.rss) / 1e6, Unit: "MB", Target: 40, About: fmt.Sprintf("resident memory with %d watched folders, %d schedules and %d reminders", folders, schedules, reminders)},
		}
		if fresh.anon > 0 {
			out = append(out, Figure{Name: "idle_memory_own", Value: float64(fresh.anon) / 1e6, Unit: "MB", About: "the part that is not mapped from the program file"})
		}
		if worked.anon > 0 {
			out = append(out, Figure{Name: "idle_memory_later_own", Value: float64(worked.anon) / 1e6, Unit: "MB", About: "the part that is not mapped from the program file"})
		}
		out = append(out,
			Figure{Name: "idle_memory_later", Value: float64(worked.rss) / 1e6, Unit: "MB", Target: 40, About: fmt.Sprintf("resident memory when idle again after %d turns", r.turns)},
			Figure{Name: "idle_cpu", Value: 100 * spent.cpu.Seconds() / s, Unit: "% of a core", Target: 0.02, About: fmt.Sprintf("over %s", r.idle)})
		if spent.switches >= 0 {
			out = append(out, Figure{Name: "idle_wakeups", Value: float64(spent.switches) / s, Unit: "/s", Target: 1, About: "voluntary context switches of all threads"})
		}
		return out, nil
	})
}

// measureAtRest waits until the program is idle. It returns the memory usage and the resources used
// during the measurement.
func (h *home) measureAtRest(ctx context.Context, r benchRounds) (now, spent usage, err error) {
	h.http.CloseIdleConnections()
	if err := retry.Sleep(ctx, r.calm); err != nil {
		return now, spent, err
	}
	before, err := usageOf(h.processID())
	if err != nil {
		return now, spent, err
	}
	if err := retry.Sleep(ctx, r.idle); err != nil {
		return now, spent, err
	}
	now, err = usageOf(h.processID())
	spent = usage{cpu: now.cpu - before.cpu, switches: now.switches - before.switches}
	if now.switches < 0 {
		spent.switches = -1
	}
	return now, spent, err
}

// setUpWatchers creates folders with watchers, schedules and reminders.
func (h *home) setUpWatchers(ctx context.Context) error {
	for i := range folders * filesPerPlace {
		dir := h.watchedFolder(i % folders)
		for _, dir := range []string{dir, filepath.Join(dir, "archive")} {
			if err := writeSmallFile(dir, fmt.Sprintf("old-%d.pdf", i)); err != nil {
				return err
			}
		}
	}
	if err := retry.Sleep(ctx, 100*time.Millisecond); err != nil { // a watcher reports a file as new even if the file is slightly older than the watcher
		return err
	}
	for i := range folders {
		config := map[string]any{"path": h.watchedFolder(i), "pattern": "*.pdf", "recursive": true}
		if err := h.callTool(ctx, "create_watcher", map[string]any{"kind": "file", "config": config}); err != nil {
			return err
		}
	}
	for i := range schedules {
		if err := h.callTool(ctx, "create_schedule", map[string]any{"every": fmt.Sprintf("%d 3 * * 1", i), "action": "brief me"}); err != nil {
			return err
		}
	}
	for i := range reminders {
		if err := h.callTool(ctx, "create_reminder", map[string]any{"at": fmt.Sprintf("in %d days", i+1), "text": "stretch"}); err != nil {
			return err
		}
	}
	return nil
}

// watchedFolder returns the path of the nth watched folder.
func (h *home) watchedFolder(n int) string {
	return filepath.Join(h.dir, "user", fmt.Sprintf("watched-%d", n))
}

// writeSmallFile writes a small file to dir, which it creates if needed.
func writeSmallFile(dir, name string) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(dir, name), []byte("%PDF-1.7\n"), 0o600)
}

// usage holds the resources used by a process.
type usage struct {
	rss      int64 // number of resident bytes now
	anon     int64 // resident bytes not mapped from a file; 0 if unknown
	cpu      time.Duration
	switches int64 // voluntary context switches of all threads; -1 if unknown
}
