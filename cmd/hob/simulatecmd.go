package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"hob/autonomy/config"
	"hob/cmd/hob/internal/simulate"
	"hob/platform/host/command"
	"hob/platform/host/system"
	"hob/platform/host/vault"
	"hob/platform/text/document"
)

// simulateFlags holds the flags of `hob simulate`.
type simulateFlags struct {
	days               int
	from, start, model string
	zone, replay       string
}

func (a *cli) simulateCmd() *cobra.Command {
	var f simulateFlags
	c := a.addJSONFlag(&cobra.Command{
		Use: "simulate", Short: "Simulate the coming days and show what Hob would do", Args: cobra.NoArgs, SuggestFor: []string{"simulation", "dry-run"},
		RunE: a.runCommand(func(c *cobra.Command, _ []string) error { return a.runSimulation(c.Context(), f) }),
	})
	c.Flags().IntVar(&f.days, "days", 7, "number of days to simulate")
	c.Flags().StringVar(&f.from, "from", "", "script with the events (docs/simulation.md); - is standard input")
	c.Flags().StringVar(&f.start, "start", "", `start time, "2026-11-23" or "2026-11-23 09:00" (default: now)`)
	c.Flags().StringVar(&f.zone, "zone", "", "time zone of the simulation (default: yours)")
	c.Flags().StringVar(&f.model, "model", simulate.Offline, `"offline", or "configured" to call your models at their usual cost`)
	c.Flags().StringVar(&f.replay, "replay", "", `replay the events of a day: "2026-11-21", "yesterday", "today"`)
	return c
}

func (a *cli) runSimulation(ctx context.Context, f simulateFlags) (err error) {
	o, err := a.simulationOptions(f)
	if err != nil {
		return err
	}
	if o.Dir, err = os.MkdirTemp("", "hob-simulate-"); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, system.RemoveAll(o.Dir)) }()
	out, err := simulateUntilInterrupt(ctx, o)
	if err != nil {
		return err
	}
	if a.asJSON {
		return a.printJSON(out)
	}
	a.printTimeline(out)
	return nil
}

// simulateUntilInterrupt waits until the simulation ends or the user presses Ctrl-C. It waits
// outside the simulation, because code in simulated time cannot receive signals.
func simulateUntilInterrupt(ctx context.Context, o simulate.Options) (*simulate.Result, error) {
	type end struct {
		out *simulate.Result
		err error
	}
	done := make(chan end, 1)
	go func() {
		out, err := simulate.Run(context.WithoutCancel(ctx), o)
		done <- end{out, err}
	}()
	select {
	case e := <-done:
		return e.out, e.err
	case <-ctx.Done(): // the process is ending
		return nil, ctx.Err()
	}
}

// simulationOptions converts the flags to options.
func (a *cli) simulationOptions(f simulateFlags) (o simulate.Options, err error) {
	p, err := system.DefaultPaths()
	if err != nil {
		return o, err
	}
	cfg, err := config.Load(p.ConfigFile())
	if err != nil {
		return o, err
	}
	kept := vault.SecretsFor(p)
	o = simulate.Options{
		Paths: p, Days: f.days, Zone: f.zone, Model: f.model, Version: a.version, Log: slog.New(slog.DiscardHandler),
		Secret: kept.Reveal,
	}
	if o.Home, err = os.UserHomeDir(); err != nil {
		o.Home = "" // without a home folder there are no files to copy
	}
	if exe, err := os.Executable(); err == nil {
		o.Helper = []string{exe, command.Helper}
		o.Reader = []string{exe, document.Helper}
	}
	if f.days < 1 || f.days > simulate.MaxDays {
		return o, usageErrorf("--days must be from 1 to %d", simulate.MaxDays)
	}
	if f.model != simulate.Offline && f.model != simulate.Configured {
		return o, usageErrorf(`--model must be "offline" or "configured", not %q`, f.model)
	}
	zone := cfg.Agent.Timezone
	if f.zone != "" {
		zone = f.zone
	}
	loc, err := system.Zone(zone)
	if err != nil {
		return o, usageErrorf("--zone: %v", err)
	}
	if o.Start, err = startOf(f.start, loc); err != nil {
		return o, err
	}
	if f.replay != "" {
		if f.start != "" || f.from != "" {
			return o, usageErrorf("--replay uses the events and times in the journal; remove --from and --start")
		}
		o.Replay, o.Days = true, 1
		if o.Start, err = dayOf(f.replay, loc); err != nil {
			return o, err
		}
	}
	o.Script, err = a.loadScript(f.from)
	return o, err
}

// dayOf returns the start of the day to replay.
func dayOf(s string, zone *time.Location) (time.Time, error) {
	now := time.Now().In(zone)
	back, known := map[string]int{"today": 0, "yesterday": 1}[s]
	if known {
		return time.Date(now.Year(), now.Month(), now.Day()-back, 0, 0, 0, 0, zone), nil
	}
	t, err := time.ParseInLocation(time.DateOnly, s, zone)
	if err != nil || t.After(now) {
		return t, usageErrorf(`--replay must be a past day, such as "2026-11-21" or "yesterday", not %q`, s)
	}
	return t, nil
}

func startOf(s string, zone *time.Location) (time.Time, error) {
	if s == "" { // "" means now
		return time.Time{}, nil
	}
	for _, form := range []string{time.RFC3339, "2006-01-02 15:04", "2006-01-02T15:04", time.DateOnly} {
		if t, err := time.ParseInLocation(form, s, zone); err == nil {
			if t.Year() < 2001 || t.Year() > 2100 {
				return t, usageErrorf("--start must be between 2001 and 2100, not in %d", t.Year())
			}
			return t, nil
		}
	}
	return time.Time{}, usageErrorf(`--start must look like "2026-11-23" or "2026-11-23 09:00", not %q`, s)
}

func (a *cli) loadScript(path string) (*simulate.Script, error) {
	switch path {
	case "":
		return &simulate.Script{}, nil
	case "-":
		return simulate.Parse("standard input", a.in)
	}
	file, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("read the script: %w", err)
	}
	defer file.Close()
	s, err := simulate.Parse(filepath.Base(path), io.Reader(file))
	if err != nil {
		return nil, &failure{code: exitUsage, cause: err.Error(), remedy: "see docs/simulation.md for the format of scripts"}
	}
	return s, nil
}

// printTimeline prints the timeline as text: a heading for each day and one line per entry.
func (a *cli) printTimeline(r *simulate.Result) {
	day := ""
	for _, e := range r.Timeline {
		if d := e.At.Format("Monday, 2 January 2006"); d != day {
			day = d
			fmt.Fprintln(a.out, a.colorize(a.out, bold, d))
		}
		what := e.Text
		if e.Tool != "" && e.Kind == simulate.Would {
			what = e.Tool + ": " + what
		}
		if e.Rule != "" && (e.Kind == simulate.Ask || e.Kind == simulate.Denied || e.Kind == simulate.Hold || e.Kind == simulate.Decide) {
			what += " (" + e.Rule + ")"
		}
		fmt.Fprintf(a.out, "  %s  %s  %s\n", e.At.Format("15:04"), a.colorize(a.out, kindColor(e.Kind), fmt.Sprintf("%-7s", e.Kind)), clipTo(oneLine(what), 400))
	}
	if r.Replayed > 0 {
		fmt.Fprintf(a.out, "\nReplayed %d events from the day; %d had a different result\n", r.Replayed, r.Differences)
	}
	fmt.Fprintf(a.out, "\n%s to %s (%s): %d inputs, %d events, %d ticks, %s\n", r.Start.Format("2006-01-02 15:04"), r.End.Format("2006-01-02 15:04"), r.Zone,
		r.Inputs, r.Events, r.Ticks, costOf(r))
}

func costOf(r *simulate.Result) string {
	s := fmt.Sprintf("%d model calls", r.ModelCalls)
	if r.ModelCalls == 0 {
		return s
	}
	s += fmt.Sprintf(", $%.4f", r.CostUSD)
	if r.Unpriced > 0 {
		s += fmt.Sprintf(" (%d of them without a known price)", r.Unpriced)
	}
	return s
}

func kindColor(k simulate.Kind) string {
	switch k {
	case simulate.Ask, simulate.Hold, simulate.Would, simulate.Differs:
		return amber
	case simulate.Denied, simulate.Failed, simulate.Problem:
		return red
	case simulate.Do, simulate.Say:
		return green
	}
	return dim
}
