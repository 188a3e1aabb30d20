package soak

import (
	"context"
	"fmt"
	"os"
	"runtime"
	"runtime/debug"
	"strconv"
	"strings"
	"time"
)

// heldResources counts the resources that the process retains, and the turns it has run.
type heldResources struct {
	turns      int64
	heap       uint64 // live bytes after a garbage collection
	objects    uint64
	resident   int // resident set in bytes; -1 if the system does not report it
	goroutines int
	files      int // number of open files; -1 if the system does not report it
	database   int64
}

// measureIdle waits until the daemon is idle, and then counts its resources. It closes idle
// connections, because their number is random.
func (w *soakRun) measureIdle(ctx context.Context) heldResources {
	for last, calm := -1, 0; calm < 20 && ctx.Err() == nil; {
		w.client.CloseIdleConnections()
		w.model.CloseIdleConnections()
		time.Sleep(50 * time.Millisecond)
		n := runtime.NumGoroutine()
		if n == last {
			calm++
			continue
		}
		last, calm = n, 0
	}
	debug.FreeOSMemory() // run a second collection, so that sync.Pools are empty
	debug.FreeOSMemory()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	h := heldResources{heap: m.HeapAlloc, objects: m.HeapObjects, goroutines: runtime.NumGoroutine(), resident: -1, files: -1}
	for i := range w.counts {
		h.turns += w.counts[i].Load()
	}
	if b, err := os.ReadFile("/proc/self/statm"); err == nil {
		if f := strings.Fields(string(b)); len(f) > 1 {
			pages, _ := strconv.Atoi(f[1])
			h.resident = pages * os.Getpagesize()
		}
	}
	if list, err := os.ReadDir("/proc/self/fd"); err == nil {
		h.files = len(list)
	}
	for _, suffix := range []string{"", "-wal"} {
		if fi, err := os.Stat(w.paths.Database() + suffix); err == nil {
			h.database += fi.Size()
		}
	}
	return h
}

// Allowed growth of the resources, for caches that were not full at the first measurement.
const (
	moreHeap       = 3 << 20
	moreGoroutines = 4
	moreFiles      = 6
)

// compareHeld compares the two measurements. The heap must not grow with the number of turns.
func (w *soakRun) compareHeld(first, last heldResources) {
	if w.summaries.Load() == 0 {
		w.t.Error("no conversation was summarized")
	}
	if last.heap > first.heap+moreHeap {
		w.t.Errorf("the heap has grown from %d to %d bytes in %d turns", first.heap, last.heap, last.turns-first.turns)
	}
	if last.goroutines > first.goroutines+moreGoroutines {
		w.t.Errorf("%d goroutines before, %d after", first.goroutines, last.goroutines)
	}
	if last.files > first.files+moreFiles {
		w.t.Errorf("%d open files before, %d after", first.files, last.files)
	}
}

// formatReport returns the work and the measurements as a table for docs/performance.md.
func (w *soakRun) formatReport(first, last heldResources, took time.Duration) {
	var b strings.Builder
	fmt.Fprintf(&b, "%d turns in %s, %d requests to the model (%d of them for summaries):", last.turns, took.Round(time.Second), w.calls.Load(), w.summaries.Load())
	for i, k := range kinds {
		fmt.Fprintf(&b, " %s %d", k.name, w.counts[i].Load())
	}
	fmt.Fprintf(&b, "\n\n| held | after %d turns | after %d turns |\n|---|---:|---:|\n", first.turns, last.turns)
	row := func(name string, f func(heldResources) string) {
		fmt.Fprintf(&b, "| %s | %s | %s |\n", name, f(first), f(last))
	}
	mb := func(n float64) string { return fmt.Sprintf("%.2f MB", n/1e6) }
	row("heap", func(h heldResources) string { return mb(float64(h.heap)) })
	row("objects on it", func(h heldResources) string { return fmt.Sprint(h.objects) })
	row("resident", func(h heldResources) string { return mb(float64(h.resident)) })
	row("goroutines", func(h heldResources) string { return fmt.Sprint(h.goroutines) })
	row("open files", func(h heldResources) string { return fmt.Sprint(h.files) })
	row("database", func(h heldResources) string { return mb(float64(h.database)) })
	fmt.Fprintf(&b, "\nThe database grows by %.1f kB a turn.\n", float64(last.database-first.database)/1e3/float64(max(1, last.turns-first.turns)))
	w.t.Log(b.String())
	if file := os.Getenv("HOB_SOAK_REPORT"); file != "" {
		failOnError(w.t, os.WriteFile(file, []byte(b.String()), 0o600))
	}
}
