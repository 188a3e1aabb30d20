// Package bench measures the built program from outside: it starts the binary
// in a throw-away home, talks its HTTP API and reads what the system says of
// the process. A model server in this process answers at once, so that what is
// measured is Hob's own time.
//
// It judges nothing but the targets it prints beside each figure; no test
// depends on them. The command `hob bench` and `make bench` call it.
package bench

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"time"
)

// Options of Run.
type Options struct {
	Binary   string    // the program to measure
	Quick    bool      // fewer rounds: a minute less, and more noise
	Progress io.Writer // told what is being measured
}

// Figure is one measurement.
type Figure struct {
	Name  string  `json:"name"`
	Value float64 `json:"value"`
	Unit  string  `json:"unit"`
	// Target is what ARCHITECTURE asks for; AtLeast says that more is better.
	Target  float64 `json:"target,omitempty"`
	AtLeast bool    `json:"at_least,omitempty"`
	About   string  `json:"about"`
}

// Met reports whether the target is reached; true when there is none.
func (f Figure) Met() bool {
	switch {
	case f.Target == 0:
		return true
	case f.AtLeast:
		return f.Value >= f.Target
	}
	return f.Value <= f.Target
}

// rounds says how often each thing is done.
type rounds struct {
	starts, turns, events int
	idle, load            time.Duration
}

// Run measures everything. It stops at the first thing that does not work.
func Run(ctx context.Context, o Options) ([]Figure, error) {
	r := rounds{starts: 9, turns: 400, events: 2000, idle: 60 * time.Second, load: 5 * time.Second}
	if o.Quick {
		r = rounds{starts: 3, turns: 60, events: 300, idle: 2 * time.Second, load: time.Second}
	}
	if o.Progress == nil {
		o.Progress = io.Discard
	}
	var out []Figure
	for _, part := range []struct {
		name string
		run  func(context.Context, Options, rounds) ([]Figure, error)
	}{
		{"size", size},
		{"start-up", startUp},
		{"idle", idle},
		{"turns with the built-in brain", offlineTurns},
		{"turns with an instant model", modelTurns},
		{"events", events},
	} {
		fmt.Fprintf(o.Progress, "measuring %s ...\n", part.name)
		f, err := part.run(ctx, o, r)
		if err != nil {
			return out, fmt.Errorf("measure %s: %w", part.name, err)
		}
		out = append(out, f...)
	}
	return out, nil
}

func size(_ context.Context, o Options, _ rounds) ([]Figure, error) {
	fi, err := os.Stat(o.Binary)
	if err != nil {
		return nil, err
	}
	return []Figure{{Name: "binary", Value: float64(fi.Size()) / 1e6, Unit: "MB", Target: 50, About: "size of the program"}}, nil
}

func startUp(ctx context.Context, o Options, r rounds) ([]Figure, error) {
	h, err := newHome(o, nil)
	if err != nil {
		return nil, err
	}
	defer h.remove()
	var took []time.Duration
	for range r.starts + 1 {
		if err := h.start(ctx); err != nil {
			return nil, err
		}
		took = append(took, h.took)
		if err := h.stop(ctx); err != nil {
			return nil, err
		}
	}
	first, again := took[0], took[1:] // the first start makes the database
	slices.Sort(again)
	return []Figure{
		{Name: "ready", Value: ms(at(again, 50)), Unit: "ms", Target: 40, About: "from the start of the process until it takes messages, median"},
		{Name: "ready_first", Value: ms(first), Unit: "ms", About: "the same in an empty home"},
	}, nil
}

// watched is how many folders are watched while idle.
const watched = 50

func idle(ctx context.Context, o Options, r rounds) (_ []Figure, err error) {
	h, err := newHome(o, nil)
	if err != nil {
		return nil, err
	}
	defer h.remove()
	if err := h.start(ctx); err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, h.stop(ctx)) }()
	for i := range watched {
		if err := h.watch(ctx, i); err != nil {
			return nil, err
		}
	}
	if err := wait(ctx, r.idle/4); err != nil { // what start-up left behind settles
		return nil, err
	}
	before, err := usageOf(h.pid())
	if errors.Is(err, errors.ErrUnsupported) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	if err := wait(ctx, r.idle); err != nil {
		return nil, err
	}
	after, err := usageOf(h.pid())
	if err != nil {
		return nil, err
	}
	s := r.idle.Seconds()
	out := []Figure{
		{Name: "idle_memory", Value: float64(after.rss) / 1e6, Unit: "MB", Target: 40, About: fmt.Sprintf("resident, with %d watchers", watched)},
		{Name: "idle_cpu", Value: 100 * (after.cpu - before.cpu).Seconds() / s, Unit: "% of a core", Target: 0.02, About: fmt.Sprintf("over %s", r.idle)},
	}
	if after.switches >= 0 {
		out = append(out, Figure{Name: "idle_wakeups", Value: float64(after.switches-before.switches) / s, Unit: "/s", Target: 1, About: "voluntary context switches of all threads"})
	}
	return out, nil
}

// at returns the p-th percentile of sorted times.
func at(sorted []time.Duration, p int) time.Duration {
	return sorted[min(len(sorted)-1, len(sorted)*p/100)]
}

func ms(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }

func wait(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-t.C:
		return nil
	}
}
