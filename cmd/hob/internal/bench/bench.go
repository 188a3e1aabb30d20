// Package bench measures the built program as a black box: it starts the binary in a temporary
// home, calls its HTTP API and reads the system's figures for the process. A model server in this
// process answers immediately, so the figures show Hob's own time.
//
// The package only compares figures with the targets printed next to them; no test depends on them.
// `hob bench` and `make bench` call it. docs/performance.md explains the figures.
package bench

import (
	"context"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"
)

// Options holds the options of Run.
type Options struct {
	Binary   string    // the program to measure
	Quick    bool      // fewer rounds: takes some 10 s in total, and the figures are noisier
	Only     []string  // the parts to measure; empty means all of them
	Runs     int       // number of runs; the best value of each figure is reported (default 1)
	Progress io.Writer // receives progress messages

	more string // text to append to the configuration
}

// Figure is one measurement.
type Figure struct {
	Name  string  `json:"name"`
	Value float64 `json:"value"`
	Unit  string  `json:"unit"`
	// Target is the target value, or 0 for none (see docs/performance.md). AtLeast means that a
	// higher value is better.
	Target  float64 `json:"target,omitempty"`
	AtLeast bool    `json:"at_least,omitempty"`
	About   string  `json:"about"`
}

// Met reports whether the target is reached. It returns true if there is no target.
func (f Figure) Met() bool {
	switch {
	case f.Target == 0:
		return true
	case f.AtLeast:
		return f.Value >= f.Target
	}
	return f.Value <= f.Target
}

// benchRounds holds the number of repetitions of each measurement.
type benchRounds struct {
	starts, turns, steps, events, watchers int
	calm, idle, load                       time.Duration
}

type part struct {
	name, about string
	run         func(context.Context, Options, benchRounds) ([]Figure, error)
}

func benchParts() []part {
	return []part{
		{"size", "size of the program", measureSize},
		{"start", "start-up", startUp},
		{"mcp", "start-up with MCP servers", startWithServers},
		{"first", "the first request to a model", firstRequest},
		{"idle", "idle", measureIdle},
		{"builtin", "turns with the built-in brain", builtinTurns},
		{"turns", "turns with an instant model", modelTurns},
		{"load", "many turns at once", measureLoad},
		{"messages", "messages without waiting for answers", measureMessages},
		{"channel", "messages over a channel", channelMessages},
		{"files", "file events", fileEvents},
		{"schedules", "schedule events", scheduleEvents},
		{"watchers", "watched feeds", measureFeeds},
	}
}

// Parts returns the names of the available measurements.
func Parts() []string {
	var out []string
	for _, p := range benchParts() {
		out = append(out, p.name)
	}
	return out
}

// Run runs the requested measurements. It stops at the first error.
func Run(ctx context.Context, o Options) ([]Figure, error) {
	r := benchRounds{starts: 15, turns: 400, steps: 40, events: 2000, watchers: 1000, calm: 20 * time.Second, idle: 60 * time.Second, load: 5 * time.Second}
	if o.Quick {
		r = benchRounds{starts: 3, turns: 40, steps: 5, events: 200, watchers: 100, calm: time.Second, idle: 2 * time.Second, load: time.Second}
	}
	if o.Progress == nil {
		o.Progress = io.Discard
	}
	for _, name := range o.Only {
		if !slices.Contains(Parts(), name) {
			return nil, fmt.Errorf("unknown part %q; known parts are %s", name, strings.Join(Parts(), ", "))
		}
	}
	var out []Figure
	for range max(1, o.Runs) {
		for _, p := range benchParts() {
			if len(o.Only) > 0 && !slices.Contains(o.Only, p.name) {
				continue
			}
			fmt.Fprintf(o.Progress, "measuring %s ...\n", p.about)
			f, err := p.run(ctx, o, r)
			if err != nil {
				return out, fmt.Errorf("measure %s: %w", p.about, err)
			}
			out = keepBest(out, f)
		}
	}
	return out, nil
}

// keepBest merges figures with the best figures of earlier runs.
func keepBest(have, more []Figure) []Figure {
	for _, f := range more {
		i := slices.IndexFunc(have, func(h Figure) bool { return h.Name == f.Name })
		switch {
		case i < 0:
			have = append(have, f)
		case f.AtLeast == (f.Value > have[i].Value):
			have[i] = f
		}
	}
	return have
}

func measureSize(_ context.Context, o Options, _ benchRounds) ([]Figure, error) {
	fi, err := os.Stat(o.Binary)
	if err != nil {
		return nil, err
	}
	return []Figure{{Name: "binary", Value: float64(fi.Size()) / 1e6, Unit: "MB", Target: 58, About: "size of the program"}}, nil
}

// percentileAt returns the pth percentile of sorted times.
func percentileAt(sorted []time.Duration, p int) time.Duration {
	return sorted[min(len(sorted)-1, len(sorted)*p/100)]
}

func milliseconds(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }
