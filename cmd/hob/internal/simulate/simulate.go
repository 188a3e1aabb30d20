// Package simulate runs a period of simulated time through the complete daemon on a copy of the
// user's home. A simulated clock (runVirtual) makes a week take seconds. Only the environment is
// replaced: email, calendars, the web, the user's folders and the chats come from a script
// (Script). The model is also replaced if the script has answers. A tool with outside effects only
// reports what it would have done. The Timeline is built from Hob's own records (explain.Why).
//
// `hob simulate` calls it.
package simulate

import (
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"testing"          //nolint:depguard // testing/synctest needs a *testing.T; no test runs, and no flag is defined
	"testing/synctest" //nolint:depguard // for the same reason
	"time"

	"hob/autonomy/config"
	"hob/autonomy/llm"
	"hob/autonomy/usage"
	"hob/cmd/hob/internal/app"
	"hob/platform/host/system"
)

// The models that a simulation can use.
const (
	Offline    = llm.Offline  // selects the built-in brain
	Configured = "configured" // the configured models, with real calls
)

// MaxDays is the maximum length of a simulation in days.
const MaxDays = 366

// Options holds the options of Run.
type Options struct {
	Paths  system.Paths // paths of the user's home, which is only read
	Home   string       // the owner's home folder, "~"
	Dir    string       // an empty folder, which the caller removes later
	Start  time.Time    // zero means now
	Days   int
	Zone   string // time zone; "" means the configured one
	Model  string // Offline (default) or Configured
	Script *Script
	// Replay replays the journal of the day that contains Start.
	Replay  bool
	Version string
	Helper  []string // see app.Options
	Reader  []string
	// Secret resolves the model keys for real requests.
	Secret func(ctx context.Context, ref string) (string, error)
	Log    *slog.Logger

	roots *x509.CertPool // root certificates for real model calls; nil means those of the system
}

// Run runs a simulation. While it runs, it sets HOME for code that asks the system for "~", so only
// one simulation may run at a time.
func Run(ctx context.Context, o Options) (*Result, error) {
	if o.Days < 1 || o.Days > MaxDays {
		return nil, fmt.Errorf("the number of days must be from 1 to %d, not %d", MaxDays, o.Days)
	}
	if o.Script == nil {
		o.Script = &Script{}
	}
	p := &play{o: o, users: filepath.Join(o.Dir, "home"), paths: inDir(filepath.Join(o.Dir, "hob"))}
	if err := p.copyHome(ctx); err != nil {
		return nil, fmt.Errorf("copy the home: %w", err)
	}
	if err := p.loadConfig(); err != nil {
		return nil, err
	}
	before := os.Getenv("HOME")
	defer func() { _ = os.Setenv("HOME", before) }() // restoring it cannot fail
	if err := os.Setenv("HOME", p.users); err != nil {
		return nil, err
	}
	if o.Model == Configured {
		p.outside = newOutside(stallTimeouts(p.conf.Providers), o.roots)
		defer p.outside.stopServing()
	}
	var out *Result
	err := runVirtual(p.start, func() (err error) { //nolint:contextcheck // virtual time needs a separate context
		out, err = p.runBubble()
		return err
	})
	return out, err
}

// play is the state of one run.
type play struct {
	o     Options
	paths system.Paths // paths in the copy
	users string       // the folder that replaces "~" in the copy
	conf  *config.Config
	zone  *time.Location
	start time.Time
	end   time.Time
	world *world
	// outside is set if real models are used. halt is called if a request to them fails.
	outside *outside
	halt    *stopError
	notify  []func(path string) // functions that notify watchers of a changed path
	past    *journalDay         // nil if no day is replayed
	known   map[string]bool     // ids of events that existed before the simulation
	d       *app.App
	line    timeline
	spent   usage.Total // usage before the simulation
	stop    func() error
}

func inDir(home string) system.Paths {
	return system.Paths{Home: home, Data: home, Logs: filepath.Join(home, "logs"), Runtime: filepath.Join(home, "run")}
}

// runBubble runs the part of the simulation inside the bubble.
func (p *play) runBubble() (_ *Result, err error) {
	ctx := context.Background() // use a context created in the bubble: waiting for an outer context would stop the bubble's time
	if p.world, err = newWorld(p); err != nil {
		return nil, err
	}
	defer p.world.closeLines()
	p.line.zone = p.zone
	p.end = p.start.In(p.zone).AddDate(0, 0, p.o.Days)
	p.halt = &stopError{done: make(chan struct{})}
	if p.o.Replay {
		p.past = &journalDay{}
	}
	steps := p.o.Script.sortedSteps(p.start.In(p.zone))
	for len(steps) > 0 && steps[0].early {
		p.world.applyInput(steps[0].Input)
		steps = steps[1:]
	}
	defer func() {
		if p.stop != nil {
			err = errors.Join(err, p.stop())
		}
	}()
	if err := p.openDaemon(ctx, true); err != nil {
		return nil, err
	}
	p.line.addEntry(Entry{At: p.start, Kind: Start, Text: p.openingText(ctx)})
	if p.past != nil {
		if err := p.replayDay(ctx); err != nil {
			return nil, err
		}
	}
	for _, s := range steps {
		if s.at.Before(time.Now()) { // Hob was not running at that time
			s.at = time.Now()
		}
		if !s.at.Before(p.end) {
			p.line.addEntry(Entry{At: p.end, Kind: Problem, Text: fmt.Sprintf("line %d of the script (%s) is after the end of the simulation", s.Line, s.Kind)})
			continue
		}
		if err := p.waitUntil(s.at); err != nil {
			return nil, err
		}
		p.runStep(ctx, s.Input)
		waitIdle()
	}
	if err := p.waitUntil(p.end); err != nil {
		return nil, err
	}
	return p.collectResult(ctx)
}

// loadDaemon opens Hob without running it. p.stop closes it.
func (p *play) loadDaemon(ctx context.Context) (*app.App, error) {
	d, err := app.Open(ctx, app.Options{
		Paths: p.paths, Config: p.conf, Log: p.o.Log, Version: p.o.Version, InProcess: true, Helper: p.o.Helper, Reader: p.o.Reader,
		HTTP: p.world.modelClient(), Network: p.world.playedNetwork(), UserHome: p.users,
		Play: &app.Simulation{
			Channels: p.world.roomDrivers(), Watchers: p.watcherDrivers(), Account: p.world.reachAccount, Secret: p.world.fakeSecret, Tool: p.wrapTool,
		},
	})
	if err != nil {
		return nil, err
	}
	p.d = d
	p.stop = func() error { //nolint:contextcheck // closing must not be canceled
		p.stop = nil
		return d.Close()
	}
	return d, nil
}

// openDaemon opens Hob and runs it; p.stop stops it.
func (p *play) openDaemon(ctx context.Context, first bool) error {
	d, err := p.loadDaemon(ctx)
	if err != nil {
		return err
	}
	if first {
		if err := p.resetCopy(ctx, d); err != nil {
			return err
		}
	}
	life, cancel := context.WithCancel(ctx)
	ran := make(chan error, 1)
	go func() { ran <- d.Run(life) }()
	p.stop = func() error { //nolint:contextcheck // closing must not be canceled
		p.stop = nil
		p.line.ticks += countTicks(d.Parts())
		cancel()
		return errors.Join(<-ran, d.Close())
	}
	<-d.Ready()
	waitIdle()
	return nil
}

// resetCopy resets the state in the copy for the start.
func (p *play) resetCopy(ctx context.Context, d *app.App) (err error) {
	if err := d.Parts().Watchers.ResetEvents(ctx); err != nil {
		return err
	}
	if p.known, err = knownEvents(ctx, d.Parts(), p.start, p.past != nil); err != nil {
		return err
	}
	if p.past != nil {
		list, err := readJournals(ctx, d.Parts(), p.start, p.start.In(p.zone).AddDate(0, 0, p.o.Days))
		if err != nil {
			return err
		}
		p.past.loadJournals(list)
		p.world.script.past = recordedAnswers(list)
	}
	p.spent, err = d.Parts().Usage.Total(ctx, llm.Offline)
	return err
}

// runVirtual calls f in simulated time that begins at start. It returns when f and all goroutines
// started by it have ended. Simulated time is a bubble (testing/synctest): its clock advances as
// soon as all its goroutines are blocked, so that a week takes only as long as its work. Goroutines
// in the bubble must end before f returns. They must not wait for anything outside (a channel
// created there, a connection, a system notification), because the clock would stop. A deadlocked
// bubble is an error.
func runVirtual(start time.Time, f func() error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("cannot advance simulated time: %v", p)
		}
	}()
	synctest.Test(new(testing.T), func(*testing.T) {
		time.Sleep(time.Until(start)) // the clock of a bubble starts in the year 2000
		err = f()
	})
	return err
}

// waitIdle returns when all other goroutines in the bubble are waiting. Only code in a bubble may
// call it.
func waitIdle() { synctest.Wait() }
