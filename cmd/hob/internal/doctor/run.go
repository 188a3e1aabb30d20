package doctor

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"hob/autonomy/api"
)

// deadline is the time limit for one check, grace the additional time to react to it, and fixTimeout
// the time limit for the fixes of one probe.
const (
	deadline   = 15 * time.Second
	grace      = 2 * time.Second
	fixTimeout = 5 * time.Minute
)

// ErrUnknown means that there is no check with this name.
var ErrUnknown = errors.New("unknown check")

// Options holds the options of Run. The zero value runs all checks and changes nothing.
type Options struct {
	// Names lists the probes to run. If it is empty, all probes run.
	Names []string
	// Only selects some of the probes. Nil selects all.
	Only func(Probe) bool
	// Fix applies the available fixes, then runs the checks again.
	Fix bool
	// Alone locks out other commands while fixes run, and returns the function that unlocks. It is
	// nil in the daemon, which already holds the lock.
	Alone func(context.Context) (release func() error, err error)
	// In is the process that runs the checks; see Check.In.
	In string
	// Each, if set, is called with every finding as it arrives. Calls are serialized.
	Each func(Check)
	// Wait is the time limit of one probe; 0 means 15 s.
	Wait time.Duration

	probes []Probe // replaces the list of probes in tests
}

// Run runs the checks and returns the findings in the order of the list. A probe that exceeds its
// deadline is "skipped". The only error is ErrUnknown.
func Run(ctx context.Context, e Env, o Options) ([]Check, error) {
	if o.probes == nil {
		o.probes = Probes()
	}
	if o.Wait <= 0 {
		o.Wait = deadline
	}
	probes, err := selectProbes(o)
	if err != nil {
		return nil, err
	}
	e.dates = &dateRecorder{}
	own := e.HTTP == nil
	e.HTTP = e.dates.wrapClient(e.HTTP)
	if own {
		defer e.HTTP.CloseIdleConnections()
	}
	r := &probeRun{Env: e, o: o, done: map[string]chan struct{}{}}
	for _, p := range probes {
		r.done[p.Name] = make(chan struct{})
	}
	found := make([][]Check, len(probes))
	var wg sync.WaitGroup
	for i, p := range probes {
		wg.Go(func() {
			defer close(r.done[p.Name])
			found[i] = r.runProbe(ctx, p)
			if !o.Fix || allOK(found[i]) { // a problem is reported after the fix, when its final state is known
				r.reportChecks(found[i])
			}
		})
	}
	wg.Wait()
	if o.Fix {
		if err := r.fixAll(ctx, probes, found); err != nil {
			return slices.Concat(found...), err
		}
	}
	return slices.Concat(found...), nil
}

// fixAll applies fixes in the order of the list, because later checks depend on earlier ones.
func (r *probeRun) fixAll(ctx context.Context, probes []Probe, found [][]Check) (err error) {
	well := make([]bool, len(probes))
	for i, list := range found {
		well[i] = allOK(list)
	}
	if slices.ContainsFunc(found, isFixable) {
		if r.o.Alone != nil {
			release, aerr := r.o.Alone(ctx)
			if aerr != nil {
				return fmt.Errorf("no fixes were applied: %w", aerr)
			}
			defer func() { err = errors.Join(err, release()) }()
		}
		r.fixEach(ctx, probes, found, well)
	}
	for i, list := range found {
		if !well[i] {
			r.reportChecks(list)
		}
	}
	return nil
}

// fixEach applies fixes, and then repeats every check that found a problem, because one problem
// may have caused another.
func (r *probeRun) fixEach(ctx context.Context, probes []Probe, found [][]Check, well []bool) {
	did := make([]fixResult, len(probes))
	for i := range probes {
		if isFixable(found[i]) {
			did[i] = applyFixes(ctx, found[i])
		}
	}
	if r.ConfigErr != nil && r.Load != nil {
		if c, err := r.Load(); err == nil {
			r.Config, r.ConfigErr = c, nil
		}
	}
	var wg sync.WaitGroup
	for i, p := range probes {
		if !well[i] {
			wg.Go(func() { found[i] = did[i].addFixResult(p, r.runProbe(ctx, p), r.o.In) })
		}
	}
	wg.Wait()
}

func allOK(list []Check) bool {
	return !slices.ContainsFunc(list, func(c Check) bool { return c.State != OK })
}

// selectProbes returns the requested probes.
func selectProbes(o Options) ([]Probe, error) {
	out := slices.Clone(o.probes)
	if len(o.Names) > 0 {
		out = nil
		for _, n := range o.Names {
			if !slices.ContainsFunc(o.probes, func(p Probe) bool { return p.hasName(n) }) {
				return nil, fmt.Errorf("%w: %q; known checks: %s", ErrUnknown, n, strings.Join(namesOf(o.probes), ", "))
			}
		}
		for _, p := range o.probes {
			if slices.ContainsFunc(o.Names, p.hasName) {
				out = append(out, p)
			}
		}
	}
	if o.Only != nil {
		out = slices.DeleteFunc(out, func(p Probe) bool { return !o.Only(p) })
	}
	return out, nil
}

func namesOf(probes []Probe) []string {
	var out []string
	for _, p := range probes {
		out = append(out, p.Name)
	}
	return out
}

// probeRun is the state of one run of the probes.
type probeRun struct {
	Env
	o    Options
	done map[string]chan struct{} // probe -> channel that is closed when the probe has ended

	mu sync.Mutex // serializes calls of Each
}

func (r *probeRun) reportChecks(list []Check) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.o.Each == nil {
		return
	}
	for _, c := range list {
		r.o.Each(c)
	}
}

// runProbe runs one probe. If the probe ignores its deadline, runProbe returns without it; the
// probe's goroutine ends later.
func (r *probeRun) runProbe(ctx context.Context, p Probe) []Check {
	for _, name := range p.After {
		if other := r.done[name]; other != nil {
			<-other // the other probe has its own deadline
		}
	}
	ctx, cancel := context.WithTimeout(ctx, r.o.Wait)
	defer cancel()
	came := make(chan []Check, 1)
	go func() {
		defer func() {
			if x := recover(); x != nil {
				came <- failCheck(p.Name, fmt.Sprintf("the check crashed: %v", x), "report this bug in Hob")
			}
		}()
		came <- p.Run(ctx, r.Env)
	}()
	var out []Check
	select {
	case out = <-came:
	case <-ctx.Done():
		last := time.NewTimer(min(grace, r.o.Wait))
		defer last.Stop()
		select {
		case out = <-came:
		case <-last.C:
			out = skipCheck(p.Name, fmt.Sprintf("did not complete within %s", r.o.Wait), "run only this check: hob doctor "+quoteSpaced(p.Name))
		}
	}
	for i := range out {
		out[i].In = r.o.In
	}
	return out
}

func quoteSpaced(name string) string {
	if strings.Contains(name, " ") {
		return `"` + name + `"`
	}
	return name
}

func isFixable(list []Check) bool {
	return slices.ContainsFunc(list, func(c Check) bool { return c.fix != nil })
}

// fixResult is the result of one probe's fixes.
type fixResult struct{ did, failed []string }

// applyFixes applies the fixes in findings.
func applyFixes(ctx context.Context, list []Check) (m fixResult) {
	for _, c := range list {
		if c.fix == nil {
			continue
		}
		ctx, cancel := context.WithTimeout(ctx, fixTimeout)
		said, err := c.fix(ctx)
		cancel()
		if err != nil {
			m.failed = append(m.failed, err.Error())
			continue
		}
		m.did = append(m.did, said)
	}
	return m
}

// addFixResult adds the result of the fixes to the findings from the second run.
func (m fixResult) addFixResult(p Probe, again []Check, in string) []Check {
	if len(m.did)+len(m.failed) == 0 {
		return again
	}
	if len(again) == 0 { // the second run found no problem
		again = []Check{{Name: p.Name, State: OK, Cause: "is OK", In: in}}
	}
	again[0].Fixed = strings.Join(m.did, "; ")
	if i := slices.IndexFunc(again, func(c Check) bool { return c.State != OK }); i >= 0 && len(m.failed) > 0 {
		again[i].Cause += "; the fix failed: " + strings.Join(m.failed, "; ")
	}
	return again
}

// Order returns the position of a finding's probe in the list of probes.
func Order(c Check) int {
	return slices.IndexFunc(Probes(), func(p Probe) bool { return p.hasName(c.Name) })
}

// Examiner runs the checks in the daemon. It implements service.Examiner.
type Examiner struct {
	env    func() (Env, error)
	redact func(string) string
	busy   chan struct{} // has capacity 1 and holds a value while the checks run
}

// NewExaminer returns an Examiner. env returns the environment for one run. redact removes secrets.
func NewExaminer(env func() (Env, error), redact func(string) string) *Examiner {
	return &Examiner{env: env, redact: redact, busy: make(chan struct{}, 1)}
}

// Examine implements api.Doctor. Runs are serialized, because checks start programs and call
// servers.
func (x *Examiner) Examine(ctx context.Context, names []string, fix bool, step func(api.Finding)) error {
	select {
	case x.busy <- struct{}{}:
		defer func() { <-x.busy }()
	case <-ctx.Done():
		return ctx.Err()
	}
	e, err := x.env()
	if err != nil {
		return err
	}
	_, err = Run(ctx, e, Options{Names: names, Fix: fix, In: "daemon", Each: func(c Check) {
		c.Cause, c.Remedy = x.redact(c.Cause), x.redact(c.Remedy)
		step(apiFinding(c))
	}})
	if errors.Is(err, ErrUnknown) {
		return fmt.Errorf("%w: %w", api.ErrInvalid, err)
	}
	return err
}

func apiFinding(x Check) api.Finding {
	return api.Finding{
		Name: x.Name, State: string(x.State), Cause: x.Cause, Remedy: x.Remedy, Link: x.Link, Fixable: x.Fixable, Fixed: x.Fixed, In: x.In,
	}
}
